"""The official MCP conformance suite against the product's MCP server. `conformance-baseline.yml` lists the scenarios
that do not apply, and why. The suite fails if that file is no longer correct."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.node_tools import CONFORMANCE, HERE, REPOSITORY, run_node

pytestmark = pytest.mark.e2e
APPLY = (
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-elicitation",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.e2e.mcp_http_program"]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdin is not None
        yield f"http://127.0.0.1:{program.stdout.readline().strip()}/mcp"
        program.stdin.close()


def test_the_server_passes_every_scenario_that_applies(url: str, tmp_path: Path) -> None:
    baseline = HERE / "conformance-baseline.yml"
    ran = run_node(
        CONFORMANCE, "server", "--url", url, "--suite", "all", "--expected-failures", str(baseline), cwd=tmp_path
    )
    printed = ran.stdout + ran.stderr
    assert ran.returncode == 0, printed[-3000:]
    for scenario in APPLY:
        assert f"\u2713 {scenario}: " in printed
        assert f"\u2713 {scenario}: 0 passed" not in printed
