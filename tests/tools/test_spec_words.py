"""What the specifications say about single values: error codes, names of indexes, keywords, excerpts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sidecar.errors import (
    FileExcluded,
    FileNotFound,
    InvalidParams,
    InvalidPattern,
    InvalidQuery,
    SidecarError,
)
from sidecar.tools.registry import ALL_TOOLS, tools_of
from sidecar.tools.service import Done, Service
from sidecar.tools.spec import ToolSpec
from sidecar.tools.validate import validate
from tests.tools.conftest import OneWorkspace, RealTools

WITH_A_QUERY = ("search_code", "search_docs", "search_query", "memory_search")
NAMES_OF_INDEXES = ("a", "A-b_9", "0", "-", "_", "x" * 200)
NOT_NAMES = ("../x y", "a b", "a/b", "a.b", ".", "..", "ä", "a\x00b", "a\nb", "x\n", "\u202eabc", "a\u200bb", "x" * 201)


def tool(name: str) -> ToolSpec:
    return next(tool for tool in ALL_TOOLS if tool.name == name)


@pytest.mark.parametrize("name", WITH_A_QUERY)
@pytest.mark.parametrize("arguments", [{}, {"query": None}, {"query": 7}, {"query": ["x"]}])
def test_whatever_is_wrong_with_a_search_query_is_an_invalid_query(name: str, arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidQuery, match="query: ") as refused:
        validate(tool(name), arguments)
    assert [field["field"] for field in refused.value.facts["fields"]] == ["query"]
    assert refused.value.message.startswith("Search query is required. query: ")


@pytest.mark.parametrize("arguments", [{"query": "x" * 20_001}, {"query": "short", "queries": ["x" * 20_001]}])
def test_a_query_that_is_too_long_is_called_too_long_and_not_required(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidQuery) as refused:
        validate(tool("search_code"), arguments)
    assert refused.value.code == "INVALID_QUERY"
    assert refused.value.message.startswith("Search query is too long. quer")
    assert "(20001 characters)" in refused.value.message


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("search_by_path", {}, "pattern"),
        ("search_by_path", {"pattern": None}, "pattern"),
        ("search_by_path", {"pattern": "a" * 201}, "pattern"),
        ("search_by_path", {"pattern": 3}, "pattern"),
        ("search_code", {"query": "x", "paths": ["src/**", "a" * 201]}, "paths"),
        ("search_docs", {"query": "x", "paths": [7]}, "paths"),
    ],
)
def test_whatever_is_wrong_with_a_glob_is_an_invalid_pattern(
    name: str, arguments: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidPattern, match=f"{field}: "):
        validate(tool(name), arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_code", {"query": "x" * 20_001, "top_k": 0}),
        ("search_code", {"q": "x"}),
        ("search_code", {"query": "x", "paths": "src/**"}),
        ("search_code", {"query": "x", "paths": ["a"] * 21}),
    ],
)
def test_a_call_with_other_faults_too_is_one_with_invalid_parameters(name: str, arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidParams) as refused:
        validate(tool(name), arguments)
    assert refused.value.code == "INVALID_PARAMS"


@pytest.fixture
def tools(real_tools: Callable[..., RealTools]) -> RealTools:
    return real_tools("all", confirm="never")


def refusal(tools: RealTools, name: str, **arguments: object) -> SidecarError:
    with pytest.raises(SidecarError) as failed:
        tools(name, **arguments)
    return failed.value


def test_a_pattern_that_is_too_long_is_an_invalid_pattern_in_each_shape_of_search_index(
    real_tools: Callable[..., RealTools],
) -> None:
    for toolsets in ("all", "semantic"):
        assert refusal(real_tools(toolsets), "search_index", patterns=["a" * 4097]).code == "INVALID_PATTERN"


@pytest.mark.parametrize("glob", ["[", "a[b", "{a,b", "a\0b", "../*.py", "/etc/*"])
@pytest.mark.parametrize("name", ["search_by_path", "search_code", "search_docs"])
def test_a_malformed_glob_is_refused_before_an_index_is_looked_for(tools: RealTools, name: str, glob: str) -> None:
    fields: dict[str, object] = {"pattern": glob} if name == "search_by_path" else {"query": "x", "paths": [glob]}
    assert refusal(tools, name, **fields).code == "INVALID_PATTERN"


@pytest.mark.parametrize("fuzzy", [False, True])
def test_a_pattern_without_a_character_is_an_invalid_pattern(tools: RealTools, fuzzy: bool) -> None:
    refused = refusal(tools, "search_by_path", pattern="", fuzzy=fuzzy)
    assert refused.message.startswith("Invalid glob pattern. ")


@pytest.mark.parametrize("name", NAMES_OF_INDEXES)
def test_the_name_of_an_index_has_letters_digits_hyphens_and_underscores(tools: RealTools, name: str) -> None:
    assert tools("search_create_index", index_name=name)["index_name"] == name
    assert Draft202012Validator(tool("search_create_index").input_schema()).is_valid({"index_name": name})


@pytest.mark.parametrize("name", NOT_NAMES)
@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_an_index_with_any_other_name_is_not_created(tools: RealTools, name: str, backend: str) -> None:
    refused = refusal(tools, "search_create_index", index_name=name, backend=backend)
    assert (refused.code, refused.facts["fields"][0]["field"]) == ("INVALID_PARAMS", "index_name")
    assert "letters, digits, hyphens and underscores" in refused.message
    for call in ({"query": "x"}, {"doc_id": "a", "content": "b"}):
        used = "search_index" if "query" in call else "search_add_document"
        assert refusal(tools, used, index_name=name[:200], **call).code == "DOCUMENT_INDEX_NOT_FOUND"


@pytest.mark.parametrize("query", ["", "   ", "+", "-", '""', '+""'])
def test_an_empty_query_has_all_fields_of_an_answer(tools: RealTools, query: str) -> None:
    tools("search_add_document", doc_id="a", content="some words")
    nothing: dict[str, list[str]] = {"terms": [], "must": [], "must_not": [], "phrases": []}
    assert tools("search_index", query=query) == {"results": [], "total_matches": 0, "query_parsed": nothing}


FORBIDDEN: list[Any] = [[], "", "  ", " , ", [""], ["", "  "], [5], 7, ["x" * 201], "x" * 2001, ["x"] * 51]
ALLOWED: list[Any] = ["clang", "clang, make all", ["clang"], ["clang", ""], "x" * 2000, ["x" * 200] * 50]


@pytest.mark.parametrize("keywords", FORBIDDEN)
def test_the_schema_refuses_the_keywords_that_the_tool_refuses(tools: RealTools, keywords: Any) -> None:
    tools("memory_save", key="a", text="clang")
    assert "keywords" in refusal(tools, "memory_fulltext_search", keywords=keywords).message
    assert not Draft202012Validator(tool("memory_fulltext_search").listed_schemas[0]).is_valid({"keywords": keywords})


@pytest.mark.parametrize("arguments", [{"query": ""}, {"query": "x" * 20_001}, {"query": "x", "offset": -1}], ids=str)
def test_the_schema_refuses_the_queries_that_the_tool_refuses(tools: RealTools, arguments: dict[str, Any]) -> None:
    assert refusal(tools, "memory_search", **arguments).code in ("INVALID_QUERY", "INVALID_PARAMS")
    assert not Draft202012Validator(tool("memory_search").listed_schemas[0]).is_valid(arguments)


@pytest.mark.parametrize("keywords", ALLOWED)
def test_the_schema_takes_the_keywords_that_the_tool_takes(tools: RealTools, keywords: Any) -> None:
    tools("memory_save", key="a", text="clang")
    assert tools("memory_fulltext_search", keywords=keywords)["success"] is True
    assert Draft202012Validator(tool("memory_fulltext_search").listed_schemas[0]).is_valid({"keywords": keywords})


def test_a_refusal_of_keywords_says_that_they_may_be_a_list_or_a_text(tools: RealTools) -> None:
    said = refusal(tools, "memory_fulltext_search", keywords=7).message
    assert "a list of 1 to 50 entries" in said
    assert "or text of 1 to 2000 characters" in said


@pytest.mark.process
def test_an_excerpt_marks_the_words_of_the_question_where_they_stand(tools: RealTools) -> None:
    tools.project.write("src/pause.py", 'import time\n\n\ndef pause(call):\n    """Waits before it tries again."""\n')
    tools("search_index", patterns=["src/pause.py"])
    hit = tools("search_query", query="waiting before a pause", threshold=0)["results"][0]
    assert (
        hit["excerpt"] == 'def <mark>pause</mark>(call):\n"""<mark>Waits</mark> <mark>before</mark> it tries again."""'
    )


@pytest.mark.process
def test_a_pattern_without_a_file_is_named(tools: RealTools) -> None:
    answer = tools("search_index", patterns=["**/*.zig", "src/*.py", "lib/**"])
    assert answer["indexed_files"] > 0
    assert answer["notice"] == 'No file matches "**/*.zig" or "lib/**".'
    assert "notice" not in tools("search_index", patterns=["src/*.py"])
    assert tools("search_index", patterns=["**/*.zig"])["notice"] == 'No file matches "**/*.zig".'


@pytest.mark.process
def test_many_patterns_without_a_file_are_counted(tools: RealTools) -> None:
    notice = tools("search_index", patterns=[f"*.x{number}" for number in range(9)])["notice"]
    assert notice == 'No file matches "*.x0", "*.x1", "*.x2", "*.x3", "*.x4" or 4 more.'


@pytest.mark.process
def test_reindex_file_says_that_a_path_is_a_folder_or_a_link(tools: RealTools) -> None:
    root = tools.project.root
    tools("create_index")
    (root / "src" / "other").symlink_to(root / "src" / "http")
    (root / "src" / "alias.py").symlink_to("retry.py")
    (root / "src" / "lost.py").symlink_to("nowhere.py")
    os.mkfifo(root / "src" / "pipe")
    for path, kind, said in (
        ("src", FileNotFound, '"src" is a folder. Name one file.'),
        ("src/http/", FileNotFound, '"src/http" is a folder. Name one file.'),
        (".", FileNotFound, '"." is the folder of the workspace. Name one file.'),
        ("src/alias.py", FileExcluded, '"src/alias.py" is a symbolic link; its target is handled under its own path.'),
        ("src/other", FileExcluded, '"src/other" is a symbolic link; its target is handled under its own path.'),
        (
            "src/other/x.py",
            FileExcluded,
            '"src/other/x.py" is behind "src/other": a symbolic link; its target is handled under its own path.',
        ),
        ("src/lost.py", FileExcluded, '"src/lost.py" is a symbolic link that leads nowhere.'),
        ("src/pipe", FileExcluded, '"src/pipe" is a device, socket or pipe.'),
    ):
        refused = refusal(tools, "reindex_file", file_path=path)
        assert (type(refused), refused.detail) == (kind, said)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_add_document", {"doc_id": "a", "content": "words"}),
        ("search_index", {"query": "words"}),
        ("search_create_index", {"index_name": "mine"}),
    ],
)
def test_a_process_of_one_call_pretends_to_keep_nothing_in_memory(
    tools: RealTools, name: str, arguments: dict[str, object]
) -> None:
    service = Service(OneWorkspace(tools.workspace), tools=tools_of("documents"), goes_on=False)
    with pytest.raises(InvalidParams, match="in memory, which ends with this command, so nothing in it would be kept"):
        service.call(name, arguments, workspace=tools.workspace.root)
    kept = {"index_name": "kept", "backend": "sqlite"}
    for used, given in (
        ("search_create_index", kept),
        ("search_add_document", {"doc_id": "a", "content": "words", "index_name": "kept"}),
        ("search_index", {"query": "words", "index_name": "kept"}),
    ):
        assert isinstance(service.call(used, given, workspace=tools.workspace.root), Done)
