"""The pieces of the REST door that need no process: query strings, answers, tokens, addresses, the document."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import InvalidParams, SidecarError
from sidecar.surfaces.cli.main import Doors, main
from sidecar.surfaces.http.answers import Answers
from sidecar.surfaces.http.faults import RequestFault
from sidecar.surfaces.http.openapi import document
from sidecar.surfaces.http.query import arguments_of
from sidecar.surfaces.http.routes import get_paths
from sidecar.surfaces.http.run import hosts_of, url_of
from sidecar.surfaces.loopback import token
from sidecar.surfaces.loopback.listening import listening
from sidecar.tools.registry import ALL_TOOLS, DEFAULT_TOOLS, tools_of
from sidecar.tools.service import Service
from sidecar.tools.spec import Question
from tests.fakes import FakeWorkspaces

TOOLS = {tool.name: tool for tool in ALL_TOOLS}
QUESTION = Question("delete_index-1", "delete_index", "Delete?", "All of it.", "Delete", "Keep", destructive=True)


@pytest.mark.parametrize(
    ("tool", "pairs", "arguments"),
    [
        ("search_code", [("q", "7")], {"query": "7"}),
        ("search_code", [("q", ""), ("top_k", "007")], {"query": "", "top_k": 7}),
        ("search_code", [("top_k", "-1"), ("alpha", "1")], {"top_k": -1, "alpha": 1}),
        ("search_code", [("alpha", "0.5"), ("compact", "FALSE")], {"alpha": 0.5, "compact": False}),
        ("search_code", [("alpha", "nan"), ("top_k", "1e1"), ("compact", "yes")],
         {"alpha": "nan", "top_k": "1e1", "compact": "yes"}),
        ("search_code", [("top_k", "9" * 5000)], {"top_k": "9" * 5000}),
        ("search_code", [("paths", "a,b")], {"paths": ["a,b"]}),
        ("search_code", [("paths", "a"), ("paths", "b")], {"paths": ["a", "b"]}),
        ("memory_fulltext_search", [("keywords", "a,b")], {"keywords": "a,b"}),
        ("memory_fulltext_search", [("keywords", "a"), ("keywords", "b")], {"keywords": ["a", "b"]}),
        ("get_config", [("q", "x")], {"q": "x"}),
    ],
)  # fmt: skip
def test_a_query_string_becomes_parameters_by_the_tools_schema(
    tool: str, pairs: list[tuple[str, str]], arguments: dict[str, Any]
) -> None:
    assert arguments_of(TOOLS[tool], pairs) == arguments


def test_a_parameter_under_both_of_its_names_is_refused() -> None:
    with pytest.raises(InvalidParams, match="send only one"):
        arguments_of(TOOLS["search_code"], [("q", "x"), ("query", "x")])


def test_a_path_of_two_tools_is_the_later_ones_and_the_earlier_keeps_its_own() -> None:
    assert get_paths(DEFAULT_TOOLS)["/search"].name == "search_code"
    both = get_paths(tools_of("memory,code"))
    assert both["/search"].name == "memory_search"
    assert both["/code/search"].name == "search_code"
    assert get_paths(tools_of("memory"))["/search"].name == "memory_search"


def test_a_tool_that_changes_something_is_not_called_by_get() -> None:
    with pytest.raises(ValueError, match="changes something"):
        get_paths([replace(TOOLS["delete_index"], rest=("/delete",))])


def test_an_answer_counts_once_for_its_shown_question_and_this_process_only() -> None:
    ours, another = Answers(), Answers()
    shown = ours.shown_id(QUESTION)
    assert ours.brought(QUESTION, ours.given(f"{shown}=accept")) is None
    for header, said in ((f"{shown}=accept", "accept"), (f" x=decline , {shown}=decline ", "decline")):
        with pytest.raises(RequestFault):
            ours.answer(QUESTION, {})
        assert ours.brought(QUESTION, ours.given(header)) == said
        assert ours.brought(QUESTION, ours.given(header)) is None
    assert ours.answer(QUESTION, ours.given("nobody")) == "nobody"
    for header in ("", f"{another.shown_id(QUESTION)}=accept", f"{QUESTION.id}=accept"):
        with pytest.raises(RequestFault) as refused:
            ours.answer(QUESTION, ours.given(header))
        assert refused.value.status == 409


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        ("secret-that-is-long-enough", 0o644, "chmod 600"),
        ("secret-that-is-long-enough", 0o604, "chmod 600"),
        ("short", 0o600, "at least 16"),
        ("", 0o600, "at least 16"),
        ("two words that are long enough", 0o600, "visible ASCII"),
        ("\u00fcber-secret-that-is-long", 0o600, "visible ASCII"),
        ("x" * 5000, 0o600, "at least 16"),
    ],
)
def test_a_token_file_that_protects_nothing_is_refused(tmp_path: Path, content: str, mode: int, said: str) -> None:
    held = tmp_path / "token"
    held.write_text(content, encoding="utf-8")
    held.chmod(mode)
    with pytest.raises(SidecarError, match=said):
        token.named(held)


def test_a_token_file_that_is_a_folder_or_has_none_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "token"):
        with pytest.raises(SidecarError, match=r"cannot be used|chmod"):
            token.named(path)


def test_a_fresh_token_replaces_what_a_killed_process_left(tmp_path: Path) -> None:
    first = token.fresh(tmp_path / "serve", 7777)
    second = token.fresh(tmp_path / "serve", 7777)
    assert first.token != second.token
    assert second.path.read_text().strip() == second.token
    second.close()
    assert list((tmp_path / "serve").iterdir()) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "no such host", ""])
def test_an_address_that_is_not_this_machines_own_is_refused(host: str) -> None:
    with pytest.raises(InvalidParams, match=r"loopback|Cannot listen") as refused:
        listening("--host", host, 0).close()
    assert refused.value.exit_status == 2


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_every_loopback_address_is_taken_and_is_a_host(host: str) -> None:
    with listening("--host", host, 0) as listener:
        address, port = listener.getsockname()[:2]
        assert url_of(listener).removeprefix("http://") in hosts_of(listener)
        assert {f"{address}:{port}" if ":" not in address else f"[{address}]:{port}", f"localhost:{port}"} <= hosts_of(
            listener
        )


@pytest.mark.parametrize("port", ["-1", "65536", "many", "1.5"])
def test_a_wrong_port_is_refused_and_the_range_named(port: str, tmp_path: Path) -> None:
    err = io.StringIO()
    doors = Doors(lambda s: 0, lambda s, h, p, f: 0, lambda s, w: 0, lambda s, serving: 0)
    words = ["serve", f"--port={port}", "-w", str(tmp_path)]
    assert main(words, service=Service(FakeWorkspaces()), doors=doors, stderr=err) == 2
    assert "65535" in err.getvalue()


def test_every_reference_of_the_document_leads_somewhere_and_every_tool_is_in_it() -> None:
    whole = document(ALL_TOOLS)
    for reference in references(whole):
        node = whole
        for step in reference.removeprefix("#/").split("/"):
            node = node[step]
    assert {f"/tools/{tool.name}" for tool in ALL_TOOLS} <= set(whole["paths"])
    assert set(get_paths(ALL_TOOLS)) <= set(whole["paths"])
    names = [operation["operationId"] for path in whole["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))


def references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in references(value)]
    return [found for item in node for found in references(item)] if isinstance(node, list) else []
