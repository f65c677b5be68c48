"""MCP: the door for agents. `run_stdio` serves one client at stdin and stdout; `make_server` works with any transport.

Importing this package imports the MCP library (about 0.7 s), so import it inside the functions that need it.
"""

from sidecar.surfaces.mcp.server import make_server
from sidecar.surfaces.mcp.stdio import run_stdio

__all__ = ["make_server", "run_stdio"]
