"""The Language Server Protocol door: `run.run_stdio`, `tcp.run_tcp`, `server.make_server`. Protocol: docs/lsp.md.

The package imports nothing: pygls takes a third of a second to import, and only a process that serves editors needs it.
"""
