"""Only modules in this list open files by themselves. All others ask `small_files` or `parts.database`, which open
regular files and wait for nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "sidecar"

OPENS = {
    "small_files.py": "opens files for all others",
    "lock_file.py": "asks what is there first",
    "parts/read.py": "reads the workspace, with checks of its own",
    "parts/watch.py": "makes an empty file with a name of its own, without waiting",
    "parts/system_events.py": "folders to watch, as places only",
    "parts/child.py": "/proc",
    "engine/doctor.py": "/proc and /sys",
    "daemon/server.py": "/proc",
    "daemon/run.py": "file descriptors of its own",
    "surfaces/cli/terminal.py": "the null device",
    "stdio.py": "the null device",
    "surfaces/loopback/token.py": "makes a file that must not exist yet",
    "engine/index/layout.py": "makes a file that must not exist yet",
    "lean.py": "the files of the environment that it runs in; it imports nothing",
    "gen/__main__.py": "the sources of sidecar",
    "engine/search/rank/fingerprint.py": "shipped with sidecar",
    "engine/search/rank/confidence.py": "shipped with sidecar",
    "engine/search/rank/scorer.py": "shipped with sidecar",
    "engine/search/foreign.py": "shipped with sidecar",
    "parts/secrets/rules.py": "shipped with sidecar",
    "surfaces/cli/commands.py": "shipped with sidecar",
    "surfaces/cli/tool_options.py": "shipped with sidecar",
    "surfaces/cli/version.py": "shipped with sidecar",
    "tools/spec.py": "shipped with sidecar",
    "engine/team/blocks.py": "files that this process has just written into a new folder",
    "engine/team/rows.py": "files that this process has just written into a new folder",
    "engine/team/gather.py": "files that this process writes into a new folder",
    "parts/team/places.py": "a new file with a random name",
    "parts/team/signing.py": "the key that a person names in the settings",
}
"""Modules by the reason why they may."""
READS = {"read_bytes", "read_text", "write_bytes", "write_text"}
MODES = {"r", "rb", "w", "wb", "a", "ab", "x", "r+", "r+b", "rt", "wt"}


def opened(text: str) -> Iterator[int]:
    """Yields the lines that open a file."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        modes = {arg.value for arg in node.args if isinstance(arg, ast.Constant)} & MODES
        by_mode = name == "open" and (not owner or owner == "os" or modes)
        if name in READS or by_mode:
            yield node.lineno


def databases(text: str) -> Iterator[int]:
    """Yields the lines that open a database which has a file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "sqlite3.connect":
            first = node.args[0]
            if not (isinstance(first, ast.Constant) and first.value in {"", ":memory:"}):
                yield node.lineno


def modules() -> dict[str, str]:
    return {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def test_files_are_opened_in_one_place() -> None:
    found = {f"{name}:{line}" for name, text in modules().items() if name not in OPENS for line in opened(text)}
    assert found == set(), "open it with sidecar/small_files.py, or add the module with the reason"


def test_databases_are_opened_in_one_place() -> None:
    found = {name for name, text in modules().items() if list(databases(text))}
    assert found == {"parts/database.py"}


def test_each_module_of_the_list_opens_something() -> None:
    texts = modules()
    assert {name for name in OPENS if not list(opened(texts[name]))} == set()


def test_the_rule_sees_what_opens_a_file() -> None:
    assert list(opened("path.read_bytes()\npath.open('rb')\nopen(path)\nos.open(path, 0)")) == [1, 2, 3, 4]
    assert not list(opened("store.open(path, 3)\nself.open()\ngeneration.snapshots.open()"))
    assert list(databases("sqlite3.connect(path)\nsqlite3.connect('')")) == [1]
