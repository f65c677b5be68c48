"""Reads the source code: every text written for a person is made visible in the same expression."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from sidecar import errors, shown
from sidecar.errors import FileNotFound, SidecarError
from tests.sources import PACKAGE, modules, nodes_of, text_of

DOORS = sorted(path for project in ("surfaces", "daemon", "tools") for path in (PACKAGE / project).rglob("*.py"))
STREAM = re.compile(r"(std)?(out|err)|_?stream")
VISIBLE = re.compile(r"(shown|style)\.\w+\(")
BYTES = {"surfaces/lsp/channel.py"}
"""Modules whose stream carries frames of a protocol."""
EXACT = {"daemon/shell_server.py", "daemon/replay.py", "surfaces/mcp/messages.py", "tools/documents.py"}
"""Modules that write JSON which is shown to nobody: between two of our processes, in a protocol, or as a trial."""


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
        for node in nodes_of(path)
        if isinstance(node, ast.keyword) and node.arg == "ensure_ascii"
    ]
    assert set(wrong) == EXACT


def test_every_log_handler_of_ours_has_the_formatter_that_shows() -> None:
    handlers = re.compile(r"logging\.(Formatter|StreamHandler|FileHandler|basicConfig)\(")
    assert [p.name for p in modules() if handlers.search(text_of(p))] == []


def test_the_rule_sees_what_it_is_for() -> None:
    assert unseen('sys.stderr.write(f"{error}")')
    assert unseen("print(path, file=sys.stderr)")
    assert unseen('session.stdout.write(shown.line("a") + path)')
    assert unseen('stream.write("" if quiet else text)')
    assert not unseen('err.write(shown.line(f"{error}") + "\\n")')
    assert not unseen("file.write(text)")


ERRORS = {name for name, made in vars(errors).items() if isinstance(made, type) and issubclass(made, SidecarError)}
FOREIGN = frozenset(
    "path _path root _root folder file_path user_path pattern manifest downloads staged filename label url source "
    "error fault problem said complaint detail".split()
)
"""Names of variables that contain a file name, an address, or a message of a library or the system."""


def is_harmless(node: ast.expr) -> bool:
    """Expressions that need no `shown`: the system's text for an error number, an error's class, or a length."""
    return bool(re.fullmatch(r"\w+\.strerror( or \w+)?|type\(\w+\)\.__name__|len\(.*\)", ast.unparse(node)))


def bare(source: str) -> list[str]:
    """Returns the foreign strings that error messages contain without `shown`."""
    found = []
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call) or ast.unparse(call.func).rpartition(".")[2] not in ERRORS:
            continue
        pieces = [v.value for a in call.args for v in ast.walk(a) if isinstance(v, ast.FormattedValue)]
        for piece in pieces:
            text = ast.unparse(piece)
            words = set(re.findall(r"\w+", re.sub(r"'[^']*'", "", text)))
            if words & FOREIGN and not text.startswith("shown.") and not is_harmless(piece):
                found.append(text)
    return found


def test_a_path_or_the_words_of_a_library_stand_in_an_error_only_as_shown() -> None:
    wrong = {
        path.relative_to(PACKAGE).as_posix(): found
        for path in PACKAGE.rglob("*.py")
        if (found := bare(path.read_text(encoding="utf-8")))
    }
    assert wrong == {}


def test_the_rule_for_errors_sees_what_it_is_for() -> None:
    assert bare('raise FileNotFound(f"{path} does not exist.")') == ["path"]
    assert bare('raise errors.StoreFailed(f"It says: {self._path.parent}, {error!r}.")') == [
        "self._path.parent",
        "error",
    ]
    assert bare('raise FileNotFound(f"{shown.place(path)}: {error.strerror}, {len(path)}, {line}.")') == []


def test_a_path_in_an_error_is_quoted_and_whole_and_a_very_long_one_is_cut() -> None:
    usual = "/home/somebody/.local/share/sidecar/indexes/0123456789abcdef/generation-00012/manifest.sqlite"
    assert FileNotFound(f"{shown.place(usual)} does not exist.").detail == f'"{usual}" does not exist.'
    assert len(shown.place("x/" * 2000)) < 300
    assert shown.place("a\nb](c)\u202e.py") == '"a\\u{a}b] (c)\\u{202e}.py"'
    assert len(shown.reason("why\n" * 1000)) <= shown.LONGEST_REASON
