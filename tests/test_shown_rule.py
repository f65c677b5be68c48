"""Held by reading the source: nothing is written to a person that was not made visible in the same expression."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "sidecar"
DOORS = sorted(path for project in ("surfaces", "daemon", "tools") for path in (PACKAGE / project).rglob("*.py"))
STREAM = re.compile(r"(std)?(out|err)|_?stream")
VISIBLE = re.compile(r"(shown|style)\.\w+\(")
BYTES = {"surfaces/lsp/channel.py"}
"""Whose stream takes frames of a protocol."""
EXACT = {"daemon/shell_server.py", "daemon/replay.py", "surfaces/mcp/messages.py", "tools/documents.py"}
"""Who writes JSON that nobody is shown: between two of our processes, on a protocol's wire, or to try it."""


def writes(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls of `print`, and of `write` of a stream that a person may see."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        stream, _, method = called.rpartition(".")
        if called == "print" or (method in ("write", "writelines") and STREAM.fullmatch(stream.rpartition(".")[2])):
            yield node


def is_visible(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return is_visible(node.left) and is_visible(node.right)
    if isinstance(node, ast.IfExp):
        return is_visible(node.body) and is_visible(node.orelse)
    return isinstance(node, ast.Constant) or bool(VISIBLE.match(ast.unparse(node)))


def unseen(source: str) -> list[str]:
    return [ast.unparse(call) for call in writes(ast.parse(source)) if not all(map(is_visible, call.args))]


def test_everything_that_a_door_writes_to_a_person_is_made_visible() -> None:
    wrong = {
        name: found
        for path in [*DOORS, PACKAGE / "__main__.py"]
        if (name := path.relative_to(PACKAGE).as_posix()) not in BYTES
        if (found := unseen(path.read_text(encoding="utf-8")))
    }
    assert wrong == {}


def test_json_that_somebody_may_see_is_written_by_the_one_function_for_it() -> None:
    wrong = [
        path.relative_to(PACKAGE).as_posix()
        for path in DOORS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "ensure_ascii"
    ]
    assert set(wrong) == EXACT


def test_every_log_handler_of_ours_has_the_formatter_that_shows() -> None:
    handlers = re.compile(r"logging\.(Formatter|StreamHandler|FileHandler|basicConfig)\(")
    assert [p.name for p in PACKAGE.rglob("*.py") if handlers.search(p.read_text(encoding="utf-8"))] == []


def test_the_rule_sees_what_it_is_for() -> None:
    assert unseen('sys.stderr.write(f"{error}")')
    assert unseen("print(path, file=sys.stderr)")
    assert unseen('session.stdout.write(shown.line("a") + path)')
    assert unseen('stream.write("" if quiet else text)')
    assert not unseen('err.write(shown.line(f"{error}") + "\\n")')
    assert not unseen("file.write(text)")
