"""The official MCP inspector's command line against the real `sidecar mcp`, on real pipes with the real engine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sidecar.tools.registry import DEFAULT_TOOLS
from tests.e2e.node_tools import INSPECTOR, run_node

pytestmark = pytest.mark.e2e
TOOL_FAILED = 5
CONNECT_MS = 120_000  # its own limit of 15 s is too short for a machine on which other tests run
ERAS = ("legacy", "modern")


class Inspector:
    """`mcp-inspector --cli` on `sidecar mcp` for one workspace."""

    def __init__(self, workspace: Path, home: Path) -> None:
        self._workspace = workspace
        self._home = home

    def __call__(self, method: str, *arguments: str, era: str) -> tuple[int, Any]:
        """Exit status and the result."""
        ran = run_node(
            INSPECTOR, "--cli", sys.executable, "-m", "sidecar", "mcp", "--workspace", str(self._workspace),
            "-e", "CI=1", "-e", f"SIDECAR_HOME={self._home}", "-e", f"PATH={os.environ['PATH']}",
            "--protocol-era", era, "--connect-timeout", str(CONNECT_MS), "--format", "json",
            "--method", method, *arguments,
        )  # fmt: skip
        assert ran.stdout, ran.stderr
        return ran.returncode, json.loads(ran.stdout)["result"]

    def tool(self, name: str, *arguments: str, era: str) -> tuple[int, Any]:
        given = [part for argument in arguments for part in ("--tool-arg", argument)]
        return self("tools/call", "--tool-name", name, *given, era=era)


@pytest.fixture
def inspect(tmp_path: Path) -> Inspector:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "retry.py").write_text("def retry_with_backoff(attempts):\n    return attempts\n")
    return Inspector(workspace, tmp_path / "home")


@pytest.mark.parametrize("era", ERAS)
def test_every_schema_is_portable_by_the_inspectors_strict_rules(inspect: Inspector, era: str) -> None:
    status, result = inspect("tools/list", "--strict", era=era)
    assert status == 0
    assert [tool["name"] for tool in result["tools"]] == [tool.name for tool in DEFAULT_TOOLS]


@pytest.mark.parametrize("era", ERAS)
def test_a_workspace_is_indexed_searched_and_described_from_the_inspector(inspect: Inspector, era: str) -> None:
    status, missing = inspect.tool("search_code", "query=retry", era=era)
    assert status == TOOL_FAILED
    assert missing["content"][0]["text"].startswith("INDEX_NOT_FOUND")

    status, created = inspect.tool("create_index", era=era)
    assert (status, created["structuredContent"]["status"]) == (0, "created")

    status, found = inspect.tool("search_code", "query=where are attempts repeated", "top_k=3", era=era)
    assert status == 0
    assert found["structuredContent"]["results"][0]["path"] == "retry.py"

    status, described = inspect.tool("get_index_status", era=era)
    assert (status, described["structuredContent"]["status"]) == (0, "ready")
