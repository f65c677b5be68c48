"""The memory tools: shapes, limits, the question before deleting, every wrong parameter."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sidecar.errors import InvalidParams, InvalidQuery, MemoryNotFound, SidecarError
from sidecar.tools.dialect import MEMORY
from sidecar.tools.service import Done
from sidecar.tools.spec import Question
from tests.patience import PATIENCE_S
from tests.tools.conftest import RealTools

TEXT = "Run `make all` in the root folder; it needs clang 17."


@pytest.fixture
def tools(real_tools: Callable[..., RealTools]) -> RealTools:
    tools = real_tools("memory")
    tools("memory_save", key="build/command", text=TEXT, summary="How to build", tags=["build", "build"])
    tools("memory_save", key="deploy", text="Push a tag; the pipeline ships to kubernetes.")
    return tools


def test_a_saved_memory_is_read_back_whole(tools: RealTools) -> None:
    read = tools("memory_get", key=" build/command ")
    assert read["success"] is True
    assert {"key", "summary", "text", "tags", "created_at", "updated_at"} == set(read["data"])
    assert read["data"]["text"] == TEXT
    assert read["data"]["tags"] == ["build"]
    assert read["data"]["created_at"].endswith("Z")


def test_saving_says_whether_the_key_was_new_and_makes_a_summary(tools: RealTools) -> None:
    assert tools("memory_save", key="a", text="\n  First line.\nSecond.")["status"] == "created"
    again = tools("memory_save", key="a", text="x" * 500)
    assert again["status"] == "updated"
    assert again["data"]["summary"] == "x" * 117 + "..."


def test_the_list_has_heads_and_pages(tools: RealTools) -> None:
    listed = tools("memory_list", limit=1)
    assert [memory["key"] for memory in listed["data"]["memories"]] == ["deploy"]
    assert listed["data"]["pagination"] == {"total": 2, "limit": 1, "offset": 0}
    assert "text" not in listed["data"]["memories"][0]
    assert tools("memory_list", namespace="build/", tags=["build"])["data"]["pagination"]["total"] == 1


def test_a_search_returns_key_summary_excerpt_and_relevance(tools: RealTools) -> None:
    found = tools("memory_search", query="how do I compile the project")
    assert found["success"] is True
    first = found["data"]["results"][0]
    assert {"key", "summary", "excerpt", "relevance", "score", "tags", "updated_at"} == set(first)
    assert first["key"] == "build/command"
    assert 0 < first["relevance"] <= 1
    assert first["score"] == first["relevance"]
    assert found["data"]["pagination"]["limit"] == 10


def test_a_full_text_search_takes_a_list_or_one_text_and_marks_keywords(tools: RealTools) -> None:
    listed = tools("memory_fulltext_search", keywords=["make all", "clang"], operator="AND")
    assert tools("memory_fulltext_search", keywords=" make all ,clang, ", operator="and") == listed
    (hit,) = listed["data"]["results"]
    assert hit["excerpt"] == "Run `<mark>make all</mark>` in the root folder; it needs <mark>clang</mark> 17."
    either = tools("memory_fulltext_search", keywords="clang,kubernetes", limit=1, offset=1)
    assert len(either["data"]["results"]) == 1
    assert either["data"]["pagination"] == {"total": 2, "limit": 1, "offset": 1}


def test_keywords_in_one_text_without_a_comma_are_its_words_and_quotes_keep_a_phrase(tools: RealTools) -> None:
    def found(keywords: object, operator: str = "AND") -> Any:
        return tools("memory_fulltext_search", keywords=keywords, operator=operator)["data"]["results"]

    assert found("folder  clang") == found(["folder", "clang"]) != []
    assert found('"make all" clang') == found(["make all", "clang"]) != []
    assert found("clang kubernetes", "OR") == found(["clang", "kubernetes"], "OR") != []
    assert found('"all make"') == []
    assert found('"clang') == found(["clang"]) != []


def test_a_search_of_memories_that_finds_nothing_says_why(tools: RealTools) -> None:
    def why(tool: str, **arguments: object) -> str:
        answer = tools(tool, **arguments)["data"]
        assert answer["results"] == []
        return str(answer["notice"])

    assert why("memory_fulltext_search", keywords=["clang", "zebra"], operator="AND") == (
        "No memory holds all of these keywords; with the operator OR, one that holds any of them is found."
    )
    assert why("memory_fulltext_search", keywords=["zebra"]) == "No memory holds any of these keywords."
    assert why("memory_fulltext_search", keywords=["clang"], offset=5) == "offset skips all that was found: 1."
    for tool, asked in (("memory_search", {"query": "clang"}), ("memory_fulltext_search", {"keywords": "clang"})):
        assert why(tool, **asked, namespace="nowhere/") == 'No memory has a key that begins with "nowhere/".'


def test_a_search_where_nothing_was_saved_says_so(real_tools: Callable[..., RealTools]) -> None:
    empty = real_tools("memory")
    for tool, asked in (("memory_search", {"query": "clang"}), ("memory_fulltext_search", {"keywords": "clang"})):
        assert empty(tool, **asked)["data"]["notice"] == "No memories are saved for this workspace yet."


def test_deleting_asks_first_and_a_no_keeps_the_memory(tools: RealTools) -> None:
    question = tools.answer("memory_delete", {"key": "deploy"}, {})
    assert isinstance(question, Question)
    assert question.destructive
    assert '"A test" wants to delete the memory "deploy"' in question.message
    assert tools("memory_get", key="deploy")["success"]
    for answer in ("decline", "cancel", "timeout", "nobody"):
        done = tools.answer("memory_delete", {"key": "deploy"}, {question.id: answer})
        assert isinstance(done, Done)
        assert (done.value["success"], done.value["status"]) == (True, "cancelled")
    assert tools("memory_get", key="deploy")["success"]
    done = tools.answer("memory_delete", {"key": "deploy"}, {question.id: "accept"})
    assert isinstance(done, Done)
    assert done.value == {"success": True, "status": "deleted", "data": {"key": "deploy"}}
    with pytest.raises(MemoryNotFound):
        tools("memory_get", key="deploy")


def test_a_yes_for_one_memory_is_none_for_another(tools: RealTools) -> None:
    question = tools.answer("memory_delete", {"key": "deploy"}, {})
    assert isinstance(question, Question)
    other = tools.answer("memory_delete", {"key": "build/command"}, {question.id: "accept"})
    assert isinstance(other, Question)


def test_nobody_is_asked_about_a_memory_that_is_not_there(tools: RealTools) -> None:
    with pytest.raises(MemoryNotFound):
        tools.answer("memory_delete", {"key": "nothing"}, {})


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("memory_save", {"key": "a", "text": " \n\t"}, "text: must not be blank"),
    ("memory_save", {"key": "  ", "text": "x"}, "key: must not be blank"),
    ("memory_save", {"key": "a\x00b", "text": "x"}, "control characters"),
    ("memory_save", {"text": "x"}, "key: is required"),
    ("memory_save", {"key": "a", "text": "x" * 10_000_000}, "text: must be text of 1 to 1000000 characters"),
    ("memory_save", {"key": "k" * 201, "text": "x"}, "key: must be text of 1 to 200"),
    ("memory_save", {"key": "a", "text": "x", "tags": "build"}, "tags: must be a list"),
    ("memory_save", {"key": "a", "text": "x", "tags": [1]}, "tags"),
    ("memory_save", {"key": "a", "text": "\ud800"}, "text"),
    ("memory_search", {"query": "x", "limit": 0}, "limit: must be a whole number from 1 to 100, not 0"),
    ("memory_search", {"query": "x", "limit": 101}, "limit"),
    ("memory_search", {"query": "x", "offset": -1}, "offset: must be a whole number from 0"),
    ("memory_search", {"query": "x", "offset": 10**30}, "offset"),
    ("memory_search", {}, "query: is required"),
    ("memory_fulltext_search", {"keywords": "x", "operator": "XOR"}, 'operator: must be one of "AND", "OR"'),
    ("memory_fulltext_search", {"keywords": "x", "operator": 1}, "operator"),
    ("memory_fulltext_search", {"keywords": []}, "at least one non-empty value"),
    ("memory_fulltext_search", {"keywords": " , ,"}, "at least one non-empty value"),
    ("memory_fulltext_search", {"keywords": 7}, "keywords"),
    ("memory_fulltext_search", {"keywords": "x", "limit": 0}, "limit"),
    ("memory_fulltext_search", {"keywords": "x", "offset": -5}, "offset"),
    ("memory_list", {"limit": 0}, "limit"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_parameter_is_refused_by_name(
    tools: RealTools, name: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParams, match=message):
        tools(name, **arguments)


def test_a_blank_query_is_refused(tools: RealTools) -> None:
    with pytest.raises(InvalidQuery):
        tools("memory_search", query="  ")


@pytest.mark.parametrize(("tool", "asked"), [("memory_search", "query"), ("memory_fulltext_search", "keywords")])
def test_what_clients_of_the_original_program_send_along_changes_nothing(
    tools: RealTools, tool: str, asked: str
) -> None:
    plain = tools(tool, **{asked: "clang"})
    assert tools(tool, **{asked: "clang"}, session="abc", sortLinks=True, output_format="json") == plain
    with pytest.raises(InvalidParams, match='output_format: only "json" is supported'):
        tools(tool, **{asked: "clang"}, output_format="toon")
    with pytest.raises(InvalidParams, match="links: is not a parameter"):
        tools(tool, **{asked: "clang"}, links=True)


def test_an_error_has_the_family_s_shape() -> None:
    error: SidecarError = InvalidParams("keywords must contain at least one non-empty value.")
    body = MEMORY.shape_error(error)
    assert body["success"] is False
    assert body["message"].endswith("keywords must contain at least one non-empty value.")
    assert MEMORY.error_text(error).startswith('{"success":false,"message":"')


@pytest.mark.process
async def test_saving_does_not_wait_for_a_build_that_is_running(real_tools: Callable[..., RealTools]) -> None:
    tools = real_tools("memory,code", confirm="never")
    root = tools.workspace.root
    begun, saved = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def progress(done: int, total: int, message: str) -> None:
        loop.call_soon_threadsafe(begun.set)
        assert saved.wait(PATIENCE_S)

    build = asyncio.create_task(tools.service.acall("create_index", {}, workspace=root, progress=progress))
    await begun.wait()
    await tools.service.acall("memory_save", {"key": "a", "text": "now"}, workspace=root)
    assert not build.done()
    saved.set()
    assert isinstance(await build, Done)


def test_a_text_of_a_thousand_keywords_is_searched(tools: RealTools) -> None:
    for operator in ("AND", "OR"):
        many = " ".join(["clang", *(f"x{n}" for n in range(400))])[:2000]
        found = tools("memory_fulltext_search", keywords=many, operator=operator)["data"]["results"]
        assert [hit["key"] for hit in found] == (["build/command"] if operator == "OR" else [])
