"""Parameters: which values are accepted, and how an error names field, reason and range."""

from __future__ import annotations

import pytest

from sidecar.errors import InvalidParams
from sidecar.tools.registry import ALL_TOOLS
from sidecar.tools.spec import ToolSpec
from sidecar.tools.validate import validate


def tool(name: str) -> ToolSpec:
    return next(tool for tool in ALL_TOOLS if tool.name == name)


REFUSED = [
    ("search_code", {}, "query: is required (text of 1 to 20000 characters)."),
    ("search_code", {"query": 5}, "query: must be text of 1 to 20000 characters, not 5."),
    ("search_code", {"query": "x" * 20_001}, "(20001 characters)"),
    ("search_code", {"query": "\ud800"}, "query: must be text"),
    ("search_code", {"query": "x", "top_k": 0}, "top_k: must be a whole number from 1 to 50, not 0."),
    ("search_code", {"query": "x", "top_k": 51}, "top_k: must be a whole number from 1 to 50, not 51."),
    ("search_code", {"query": "x", "top_k": "5"}, 'top_k: must be a whole number from 1 to 50, not "5".'),
    ("search_code", {"query": "x", "top_k": True}, "top_k: must be a whole number from 1 to 50, not true."),
    ("search_code", {"query": "x", "top_k": 5.5}, "top_k: must be a whole number from 1 to 50, not 5.5."),
    ("search_code", {"query": "x", "top_k": 10**400}, "more than 20 digits"),
    ("search_code", {"query": "x", "top_k": float("inf")}, "not inf."),
    ("search_code", {"query": "x", "alpha": 2}, "alpha: must be a number from 0 to 1, not 2."),
    ("search_code", {"query": "x", "alpha": -0.1}, "alpha: must be a number from 0 to 1, not -0.1."),
    ("search_code", {"query": "x", "alpha": float("nan")}, "alpha: must be a number from 0 to 1, not nan."),
    ("search_code", {"query": "x", "alpha": False}, "alpha: must be a number from 0 to 1, not false."),
    ("search_code", {"query": "x", "mode": "fuzzy"}, 'mode: must be one of "hybrid", "vector", "fts", not "fuzzy".'),
    ("search_code", {"query": "x", "compact": 1}, "compact: must be true or false, not 1."),
    ("search_code", {"query": "x", "compact": "yes"}, 'compact: must be true or false, not "yes".'),
    ("search_code", {"query": "x", "paths": "src"}, "paths: must be a list of 0 to 20 entries"),
    ("search_code", {"query": "x", "paths": ["a"] * 21}, "paths: must be a list of 0 to 20 entries"),
    ("search_code", {"query": "x", "topk": 3}, "topk: is not a parameter; the nearest one is top_k."),
    ("search_code", {"query": "x", "zzz": 3}, "zzz: is not a parameter; known parameters: query, top_k"),
    ("search_by_path", {"pattern": "*", "limit": 0}, "limit: must be a whole number from 1 to 100, not 0."),
    ("search_by_path", {"pattern": "*", "limit": 101}, "limit: must be a whole number from 1 to 100, not 101."),
    ("search_by_path", {}, "pattern: is required"),
    ("reindex_file", {}, "file_path: is required"),
    ("reindex_file", {"path": "a", "file_path": "b"}, "path: is another name of file_path"),
    ("create_index", {"confirm": True}, "confirm: is not a parameter; this tool takes none."),
    ("delete_index", {"force": True}, "force: is not a parameter; this tool takes none."),
]


@pytest.mark.parametrize(("name", "arguments", "reason"), REFUSED)
def test_a_wrong_parameter_is_refused_with_its_name_and_the_allowed_values(
    name: str, arguments: dict[str, object], reason: str
) -> None:
    with pytest.raises(InvalidParams) as refused:
        validate(tool(name), arguments)
    assert reason in refused.value.detail
    assert refused.value.message.startswith(f"{refused.value.user_message} ")


def test_every_wrong_parameter_is_named_at_once() -> None:
    with pytest.raises(InvalidParams) as refused:
        validate(tool("search_code"), {"top_k": 99, "alpha": 7, "mod": "fts"})
    assert {field["field"] for field in refused.value.facts["fields"]} == {"query", "top_k", "alpha", "mod"}


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        ({"query": "x"}, "top_k", 10),
        ({"query": "x", "top_k": 5.0}, "top_k", 5),
        ({"query": "x", "top_k": 1}, "top_k", 1),
        ({"query": "x", "top_k": 50}, "top_k", 50),
        ({"query": "x", "top_k": None}, "top_k", 10),
        ({"query": "x", "alpha": 1}, "alpha", 1.0),
        ({"query": "x", "alpha": 0}, "alpha", 0.0),
        ({"query": "x"}, "mode", "hybrid"),
        ({"query": "x"}, "compact", False),
        ({"query": "é" * 20_000}, "query", "é" * 20_000),
    ],
)
def test_what_json_can_say_is_taken_as_meant(arguments: dict[str, object], field: str, value: object) -> None:
    assert getattr(validate(tool("search_code"), arguments), field) == value


def test_documentation_is_searched_by_meaning_unless_asked_otherwise() -> None:
    assert validate(tool("search_docs"), {"query": "x"}).model_dump()["mode"] == "vector"


def test_a_file_to_reindex_may_be_called_path_or_file_path() -> None:
    for name in ("path", "file_path"):
        assert validate(tool("reindex_file"), {name: "a.py"}).model_dump()["file_path"] == "a.py"


def test_parameters_that_are_no_object_are_refused() -> None:
    with pytest.raises(InvalidParams, match="one JSON object"):
        validate(tool("search_code"), ["query"])  # type: ignore[arg-type]  # what JSON can say and the type cannot
