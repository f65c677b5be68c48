-- :Telescope sidecar query=retry\ with\ backoff, after require('telescope').load_extension('sidecar')
local function pick(options)
  local query = options.query or vim.fn.input('sidecar: ')
  if query ~= '' then require('sidecar.pick').pick(query) end
end
return require('telescope').register_extension({ exports = { sidecar = pick } })
