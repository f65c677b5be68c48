-- Loads the plugin from where this file lies: local sidecar = dofile('/path/to/sidecar.lua'); sidecar.start()
-- A plugin manager that knows this folder needs no such file: local sidecar = require('sidecar'); sidecar.start()
vim.opt.runtimepath:append(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h'))
return require('sidecar')
