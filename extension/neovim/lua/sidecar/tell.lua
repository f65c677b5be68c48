-- Tells what the person has not asked for, in one line that is cut where it would wait for a key.
return function(text)
  vim.cmd('redraw')
  vim.notify(vim.fn.printf('%.' .. vim.v.echospace .. 'S', (text:gsub('%s+', ' '))), vim.log.levels.WARN)
end
