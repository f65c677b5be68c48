"""The Language Server Protocol door: `run.run_stdio`, `tcp.run_tcp`, `server.make_server`. Protocol: docs/lsp.md.

Nothing is imported here: pygls costs a third of a second, and only who serves an editor pays it.
"""
