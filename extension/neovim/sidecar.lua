-- sidecar in Neovim (0.7 or newer): search by meaning and by word, with the server's questions as menus.
--   local sidecar = dofile('sidecar.lua')       -- or put it under lua/ and require it
--   sidecar.start()                             -- serves the current directory; options: cmd, root_dir, settings, ask
--   :SidecarSearch retry with backoff           -- results go to the quickfix list
--   :SidecarIndex  :SidecarReindex  :SidecarDelete  :SidecarStatus
local M = { progress = {} }

-- The chosen action, the server's last one (the no) listed first; vim.NIL for none: the server takes that as a no.
local function ask(params)
  local lines, actions = { params.message }, params.actions or {}
  for i = #actions, 1, -1 do lines[#lines + 1] = #actions + 1 - i .. '. ' .. actions[i].title end
  return actions[#actions + 1 - vim.fn.inputlist(lines)] or vim.NIL
end

function M.start(options)
  options = options or {}
  return (vim.lsp.start_client or vim.lsp.start)({
    name = 'sidecar',
    cmd = options.cmd or { 'sidecar', '--stdio' },
    root_dir = options.root_dir or vim.fn.getcwd(),
    init_options = options.settings or vim.empty_dict(),
    flags = { debounce_text_changes = 0 }, -- the server waits for a pause in typing itself
    handlers = {
      ['window/showMessageRequest'] = function(_, params) return (options.ask or ask)(params) end,
      ['$/progress'] = function(_, params) table.insert(M.progress, params.value) end,
      ['sidecar/status'] = function(_, params) M.status = params end,
    },
    on_init = function(client)
      M.client = client
      local function attach(event) vim.lsp.buf_attach_client(event.buf, client.id) end
      -- Unsaved text is searched too, so every file that is opened is shown to the server.
      local group = vim.api.nvim_create_augroup('sidecar', {})
      vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, { group = group, callback = attach })
      if vim.api.nvim_buf_get_name(0) ~= '' then attach({ buf = vim.api.nvim_get_current_buf() }) end
    end,
  })
end

-- Calls a tool (`search_code` is `searchCode`); `done` gets the error, if any, and the result.
function M.call(method, params, done)
  return M.client.request('sidecar/' .. method, params, function(err, result) done(err, result) end, 0)
end

function M.search(query)
  M.call('searchCode', { query = query }, function(err, result)
    if err then return vim.notify(err.message, vim.log.levels.WARN) end
    vim.fn.setqflist({}, ' ', { title = 'sidecar: ' .. query, items = vim.tbl_map(function(hit)
      local path = (hit.workspace or M.client.config.root_dir) .. '/' .. hit.path
      return { filename = path, lnum = hit.startLine, text = vim.split(hit.content, '\n')[1] }
    end, result.results) })
  end)
end

local function show(err, result) vim.notify(err and err.message or vim.inspect(result)) end
vim.api.nvim_create_user_command('SidecarSearch', function(c) M.search(c.args) end, { nargs = '+' })
local commands = { Index = 'createIndex', Reindex = 'reindexProject', Delete = 'deleteIndex', Status = 'getIndexStatus' }
for name, method in pairs(commands) do
  vim.api.nvim_create_user_command('Sidecar' .. name, function() M.call(method, vim.empty_dict(), show) end, {})
end
return M
