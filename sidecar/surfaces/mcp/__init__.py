"""MCP: the door for agents. `run_stdio` serves this process's pipes, `make_server` is the server for any transport.

Importing this package imports the MCP library (about 0.7 s): import it where it is needed, not at the top.
"""

from sidecar.surfaces.mcp.server import make_server
from sidecar.surfaces.mcp.stdio import run_stdio

__all__ = ["make_server", "run_stdio"]
