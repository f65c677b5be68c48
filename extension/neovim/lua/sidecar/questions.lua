-- The server's questions. One that somebody else causes takes neither the keyboard nor the window: it is announced, and
-- waits for :SidecarQuestions. One that waits until it is void is a no.
local M = { waiting = {} }
local NAME, HELP = 'sidecar://questions', 'Enter on a line in brackets answers; q closes the list. No answer is a no.'
local tell = require('sidecar.tell')
local buffer, rows = nil, {}

local function window() return buffer and vim.fn.win_findbuf(buffer)[1] end

-- The lines of a question; a row is one of its answers. The no comes first.
local function add(lines, question)
  for _, line in ipairs(vim.split(question.message, '\n')) do lines[#lines + 1] = line end
  for i = #question.actions, 1, -1 do
    lines[#lines + 1] = '  [' .. question.actions[i].title:gsub('%s+', ' ') .. ']'
    rows[#lines] = { question = question, action = question.actions[i] }
  end
  lines[#lines + 1] = ''
end

-- The line of the same answer as before, if it is still there: nobody answers a question that has moved under the cursor.
local function line_of(row)
  for line, new in pairs(rows) do
    if row and new.question == row.question and new.action == row.action then return line end
  end
  return 1
end

local function draw()
  if not window() then return end
  local lines, before = { HELP, '' }, rows[vim.api.nvim_win_get_cursor(window())[1]]
  rows = {}
  for _, question in ipairs(M.waiting) do add(lines, question) end
  if #M.waiting == 0 then lines = { 'No question waits.' } end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_win_set_cursor(window(), { line_of(before), 0 })
  if #M.waiting == 0 then pcall(vim.api.nvim_win_close, window(), true) end -- which fails for the only window
end

local function close(id)
  for i, question in ipairs(M.waiting) do
    if question.id == id then
      table.remove(M.waiting, i)
      draw()
      return question
    end
  end
end

function M.choose()
  local row = rows[vim.api.nvim_win_get_cursor(0)[1]]
  if row and close(row.question.id) then row.question.answer(row.action) end
end

-- Puts the cursor on the no of a question, by default of the oldest.
function M.open(question)
  question = question or M.waiting[1]
  if not question then return tell('sidecar: no question waits') end
  if not window() then
    vim.cmd('botright 12new')
    buffer, rows = vim.api.nvim_get_current_buf(), {}
    vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = 'nofile', 'wipe', false
    vim.api.nvim_buf_set_name(buffer, NAME)
    vim.api.nvim_buf_set_keymap(buffer, 'n', '<CR>', "<Cmd>lua require('sidecar.questions').choose()<CR>", {})
    vim.api.nvim_buf_set_keymap(buffer, 'n', 'q', '<Cmd>close<CR>', {})
  end
  vim.api.nvim_set_current_win(window())
  draw()
  vim.api.nvim_win_set_cursor(0, { line_of({ question = question, action = question.actions[#question.actions] }), 0 })
end

-- Takes the params of `window/showMessageRequest`; `answer` gets the action that the person chooses, if they choose one.
-- A question about a command of this Neovim is opened, unless the person has gone on typing.
function M.add(params, answer)
  local id, asked = params.question.id, params.question
  local question = { id = id, message = params.message, actions = params.actions, answer = answer }
  table.insert(M.waiting, question)
  -- The server reports a question that is void, but not if it has been killed.
  vim.defer_fn(function() M.closed({ question = id, reason = 'timeout' }) end, (asked.seconds + 1) * 1000)
  if params.own and vim.fn.mode() == 'n' then return M.open(question) end
  draw()
  tell('sidecar (:SidecarQuestions): ' .. asked.title)
end

-- Takes the params of `sidecar/questionClosed`.
function M.closed(params)
  if close(params.question) and params.reason == 'timeout' then tell('sidecar: nobody answered in time; nothing was changed') end
end

-- The server has ended, and its questions with it.
function M.clear()
  M.waiting = {}
  draw()
end

return M
