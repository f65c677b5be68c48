"""Errors and notices name the command that the caller of each door has."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from sidecar.errors import IndexNotFound, SidecarError
from sidecar.tools.confirm import call_with_questions_sync
from sidecar.tools.index_results import ReindexFileResult
from sidecar.tools.registry import ALL_TOOLS, tools_of
from sidecar.tools.search_results import SearchResult
from sidecar.tools.semantic import NOTHING_INDEXED
from sidecar.tools.service import Done, Service
from sidecar.tools.wording import PALETTE, SHELL, Door, Wording
from tests.sources import nodes_of
from tests.tools.conftest import OneWorkspace, RealTools

ROOT = Path(__file__).parents[2]
NAMES = {tool.name for tool in ALL_TOOLS}
FIRST = "Run `create_index` first."
EXPECTED = {
    "mcp": "Run create_index first.",
    "rest": "Run POST /tools/create_index first.",
    "lsp": 'Run "Sidecar: Create Index" (create_index) first.',
    "shell": "Run `sidecar index` first.",
}


@pytest.mark.parametrize("door", get_args(Door))
def test_a_command_is_named_as_callers_of_the_door_have_it(door: Door) -> None:
    assert Wording(door, NAMES)(FIRST) == EXPECTED[door]


@pytest.mark.parametrize("door", ["mcp", "rest", "lsp"])
def test_a_tool_that_the_caller_does_not_have_is_a_command_in_a_terminal(door: Door) -> None:
    assert Wording(door, {"search_query"})(FIRST) == "Run `sidecar index` in a terminal first."


def test_a_shell_calls_by_name_what_has_no_command() -> None:
    assert Wording("shell", NAMES)("`search_fuzzy` finds them.") == "`sidecar call search_fuzzy` finds them."


@pytest.mark.parametrize("door", get_args(Door))
@pytest.mark.parametrize(
    "sentence",
    [
        "Did you mean create_index?",
        "`no_such_tool` is left.",
        "`sidecar index`",
        "a `b` `create_index",
        'No definition is called "`create_index`".',
        'None of "run `create_index`", "x" is a path.',
    ],
)
def test_what_is_no_advice_to_run_a_tool_stays_as_it_is(door: Door, sentence: str) -> None:
    assert Wording(door, NAMES)(sentence) == sentence


def test_a_quotation_ends_where_it_ends() -> None:
    assert Wording("mcp", NAMES)('"`a_b`" is unknown. Run `create_index`, not "x".') == (
        '"`a_b`" is unknown. Run create_index, not "x".'
    )


def test_the_palette_has_the_commands_by_their_titles() -> None:
    package = json.loads((ROOT / "extension" / "package.json").read_text(encoding="utf-8"))
    titles = {
        one["title"].removeprefix("Sidecar: ")
        for one in package["contributes"]["commands"]
        if one.get("category") == "Sidecar" or one["title"].startswith("Sidecar: ")
    }
    assert set(PALETTE.values()) <= titles
    assert set(PALETTE) <= NAMES


def test_the_commands_are_those_of_tools() -> None:
    assert set(SHELL) <= NAMES


def texts(path: Path) -> Iterator[str]:
    """Yields the texts of a module without its docstrings, with the parts of an f-string one by one. A name that is
    put into a sentence elsewhere is a text too."""
    bare = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value


def test_no_text_of_the_engine_names_a_tool_that_only_some_callers_have() -> None:
    bare = re.compile(rf"(?<!`)\b({'|'.join(sorted(NAMES))})\b(?!`)")
    layers = [ROOT / "sidecar" / layer for layer in ("engine", "parts")]
    modules = [ROOT / "sidecar" / "errors.py", *(path for layer in layers for path in layer.rglob("*.py"))]
    found = [(path.name, text) for path in modules for text in texts(path) if bare.search(text)]
    assert found == []
    assert any("`" in text and "`create_index`" in text for path in modules for text in texts(path))


def test_the_sentences_of_a_result_are_worded_and_its_contents_are_not() -> None:
    result = SearchResult.model_validate(
        {
            "results": [
                {
                    "path": FIRST,
                    "content": FIRST,
                    "score": 0.5,
                    "startLine": 1,
                    "endLine": 2,
                    "language": "text",
                    "kind": "text",
                    "names": [FIRST],
                }
            ],
            "query": FIRST,
            "totalResults": 1,
            "searchTimeMs": 1.0,
            "searchMode": "fts",
            "notice": FIRST,
            "reason": FIRST,
        }
    )
    worded = result.worded(Wording("shell", NAMES))
    assert (worded.notice, worded.reason) == (EXPECTED["shell"], EXPECTED["shell"])
    assert worded.model_copy(update={"notice": FIRST, "reason": FIRST}) == result
    plain = ReindexFileResult(status="removed", file_path=FIRST, chunks_created=0)
    assert plain.worded(Wording("shell", NAMES)) == plain


def test_an_error_that_is_raised_twice_is_worded_for_each_caller() -> None:
    error = IndexNotFound(FIRST, place="here")
    assert error.worded(Wording("shell", NAMES)).detail == EXPECTED["shell"]
    worded = error.worded(Wording("mcp", NAMES))
    assert (type(worded), worded.detail, worded.facts) == (IndexNotFound, EXPECTED["mcp"], {"place": "here"})
    assert error.detail == FIRST


@pytest.fixture
def tools(real_tools: Callable[..., RealTools]) -> RealTools:
    return real_tools("all", confirm="never")


@pytest.mark.parametrize("door", get_args(Door))
def test_each_door_s_caller_reads_of_its_own_command(tools: RealTools, door: Door) -> None:
    root = tools.workspace.root
    with pytest.raises(IndexNotFound) as failed:
        tools.service.call("search_code", {"query": "x"}, workspace=root, door=door)
    assert failed.value.detail == EXPECTED[door]
    answer = tools.service.call("search_query", {"query": "x"}, workspace=root, door=door)
    assert isinstance(answer, Done)
    assert answer.value["notice"] == Wording(door, NAMES)(NOTHING_INDEXED)


def test_an_agent_is_told_only_of_tools_in_its_profile(tools: RealTools) -> None:
    root = tools.workspace.root
    service = Service(OneWorkspace(tools.workspace), tools=tools_of("semantic,memory"))
    with pytest.raises(SidecarError) as failed:
        service.call("search_index", {"patterns": ["**/*.zig"], "force": 1}, workspace=root, door="mcp")
    assert failed.value.code == "INVALID_PARAMS"
    answer = service.call("search_query", {"query": "x"}, workspace=root, door="mcp")
    assert isinstance(answer, Done)
    assert answer.value["notice"] == "Nothing is indexed yet. Run search_index with patterns first."


def test_a_shell_s_call_is_worded_for_a_shell(tools: RealTools) -> None:
    with pytest.raises(IndexNotFound, match=re.escape(EXPECTED["shell"])):
        call_with_questions_sync(
            tools.service, "search_code", {"query": "x"}, workspace=tools.workspace.root, ask=lambda _: "nobody"
        )
