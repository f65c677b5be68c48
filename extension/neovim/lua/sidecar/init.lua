-- sidecar in Neovim (0.7 or newer): search by meaning and by word, and a list of the server's questions.
--   require('sidecar').start()                  -- serves the current directory; options: cmd, root_dir, settings
--   :SidecarSearch retry with backoff           -- fills the quickfix list and opens it
--   :SidecarPick retry with backoff             -- in Telescope if it is there, else in vim.ui.select
--   :SidecarQuestions                           -- what agents ask you; a question is announced and takes no key
--   :SidecarIndex  :SidecarReindex  :SidecarDelete  :SidecarStatus  :SidecarStop  :checkhealth sidecar
local M = { progress = {}, cmd = { 'sidecar', '--stdio' } }
local questions = require('sidecar.questions')

local function tell(text) vim.notify('sidecar: ' .. text, vim.log.levels.WARN) end

-- Neovim sends what a handler returns at once, and waiting in it would take the keyboard. So the answer comes later.
local function put_off(_, params)
  local asked = params.question
  if not (asked and asked.id) then return tell('update sidecar: it is older than this plugin') or vim.NIL end
  questions.add(params, function(action)
    M.call('answer', { question = asked.id, chosen = action }, function(err, result)
      if err then tell(err.message) elseif not result.taken then tell('this question was void already') end
    end)
  end)
  return { later = true }
end

function M.start(options)
  options = options or {}
  M.cmd = options.cmd or M.cmd
  local group = vim.api.nvim_create_augroup('sidecar', {})
  return (vim.lsp.start_client or vim.lsp.start)({
    name = 'sidecar',
    cmd = M.cmd,
    root_dir = options.root_dir or vim.fn.getcwd(),
    init_options = options.settings or vim.empty_dict(),
    flags = { debounce_text_changes = 0 }, -- the server waits for a pause in typing itself
    handlers = {
      ['window/showMessageRequest'] = put_off,
      ['window/showMessage'] = function(_, params) require('sidecar.tell')(params.message) end,
      ['sidecar/questionClosed'] = function(_, params) questions.closed(params) end,
      ['$/progress'] = function(_, params) table.insert(M.progress, params.value) end,
      ['sidecar/status'] = function(_, params) M.status = params end,
    },
    on_init = function(client)
      M.client = client
      local function attach(event) vim.lsp.buf_attach_client(event.buf, client.id) end
      -- Unsaved text is searched too, so every file that is opened is shown to the server.
      vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, { group = group, callback = attach })
      if vim.api.nvim_buf_get_name(0) ~= '' then attach({ buf = vim.api.nvim_get_current_buf() }) end
    end,
    on_exit = function()
      M.client, M.status = nil, nil
      vim.schedule(function()
        questions.clear()
        vim.api.nvim_create_augroup('sidecar', {}) -- which clears it
      end)
    end,
  })
end

function M.stop()
  if not M.client then return tell('it is not running') end
  M.client.stop()
end

-- Calls a tool (`search_code` is `searchCode`); `done` gets the error, if any, and the result.
function M.call(method, params, done)
  if not M.client then return tell("it is not running; start it with :lua require('sidecar').start()") end
  return M.client.request('sidecar/' .. method, params, function(err, result) done(err, result) end, 0)
end

-- `done` gets the hits as items of the quickfix list; not called where there are none, which is told.
function M.find(query, done)
  M.call('searchCode', { query = query }, function(err, result)
    if err then return tell(err.message) end
    if result.notice then tell(result.notice) end
    if #result.results == 0 then return tell(result.reason or 'nothing found') end
    done(vim.tbl_map(function(hit)
      local path = (hit.workspace or M.client.config.root_dir) .. '/' .. hit.path
      return { filename = path, lnum = hit.startLine, text = vim.split(hit.content, '\n')[1] }
    end, result.results))
  end)
end

function M.search(query)
  M.find(query, function(items)
    vim.fn.setqflist({}, ' ', { title = 'sidecar: ' .. query, items = items })
    vim.cmd('botright copen')
  end)
end

local function show(err, result) vim.notify(err and err.message or vim.inspect(result)) end
local function command(name, run, nargs) vim.api.nvim_create_user_command('Sidecar' .. name, run, { nargs = nargs }) end
command('Search', function(c) M.search(c.args) end, '+')
command('Pick', function(c) require('sidecar.pick').pick(c.args) end, '+')
command('Questions', function() questions.open() end, 0)
command('Stop', function() M.stop() end, 0)
for name, method in pairs({ Index = 'createIndex', Reindex = 'reindexProject', Delete = 'deleteIndex' }) do
  command(name, function() M.call(method, vim.empty_dict(), show) end, 0)
end
command('Status', function() M.call('getIndexStatus', vim.empty_dict(), show) end, 0)
return M
