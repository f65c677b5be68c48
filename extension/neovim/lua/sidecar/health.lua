-- :checkhealth sidecar
local M = {}

-- Named otherwise before Neovim 0.8.
local report = vim.health or require('health')
local start, ok = report.start or report.report_start, report.ok or report.report_ok
local warn, bad, info = report.warn or report.report_warn, report.error or report.report_error, report.info or report.report_info

local function check_program(program)
  if vim.fn.executable(program) ~= 1 then
    return bad(program .. ' cannot be run', { "Install it, or name it: require('sidecar').start({ cmd = { '/path/to/sidecar', '--stdio' } })" })
  end
  ok(program .. ' can be run')
end

local function check_server(sidecar)
  if not sidecar.client then return warn('It is not running', { "Start it: :lua require('sidecar').start()" }) end
  ok('It runs and serves ' .. sidecar.client.config.root_dir)
  local answer = sidecar.client.request_sync('sidecar/getIndexStatus', vim.empty_dict(), 5000, 0)
  local status = answer and answer.result
  if not status then return bad('It does not answer', { 'Look at ' .. vim.lsp.get_log_path() }) end
  if status.status == 'not_found' then return warn('The folder is not indexed', { ':SidecarIndex' }) end
  if status.wordsOnly then return warn('Searches find words only, not meaning. ' .. (status.warning or ''), { 'sidecar doctor' }) end
  if status.status == 'failed' then return bad('The index has failed. ' .. (status.warning or ''), { ':SidecarReindex' }) end
  ok(('The index is %s: %d files'):format(status.status, status.totalFiles or 0))
end

function M.check()
  local sidecar = require('sidecar')
  start('sidecar')
  check_program(sidecar.cmd[1])
  check_server(sidecar)
  local there = pcall(require, 'telescope')
  info(there and ':SidecarPick uses Telescope' or ':SidecarPick uses vim.ui.select (Telescope is not installed)')
end

return M
