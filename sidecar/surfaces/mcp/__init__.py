"""MCP: the door for agents. `run_stdio` serves one client at stdin and stdout; `make_server` works with any transport.

Importing this package imports the MCP library (about 0.7 s), so import it where it is needed and not at a module's top.
"""

from sidecar.surfaces.mcp.server import make_server
from sidecar.surfaces.mcp.stdio import run_stdio

__all__ = ["make_server", "run_stdio"]
