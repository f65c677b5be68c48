-- The hits of a search as a list to pick from: in Telescope if it is installed, else in what `vim.ui.select` shows.
local M = {}

local function open(item)
  vim.cmd('edit ' .. vim.fn.fnameescape(item.filename))
  vim.api.nvim_win_set_cursor(0, { item.lnum, 0 })
end

local function line(item) return vim.fn.fnamemodify(item.filename, ':.') .. ':' .. item.lnum .. '  ' .. item.text end

local function in_telescope(query, items)
  local conf = require('telescope.config').values
  local function entry(item)
    local place = { filename = item.filename, lnum = item.lnum }
    return vim.tbl_extend('error', place, { value = item, display = line(item), ordinal = line(item) })
  end
  local finder = require('telescope.finders').new_table({ results = items, entry_maker = entry })
  local shown = { finder = finder, previewer = conf.grep_previewer({}), sorter = conf.generic_sorter({}) }
  require('telescope.pickers').new({ prompt_title = 'sidecar: ' .. query }, shown):find()
end

function M.pick(query)
  require('sidecar').find(query, function(items)
    if pcall(require, 'telescope') then return in_telescope(query, items) end
    vim.ui.select(items, { prompt = 'sidecar: ' .. query, format_item = line }, function(item)
      if item then open(item) end
    end)
  end)
end

return M
