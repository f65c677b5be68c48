"""One member of a JSON text with comments is set and removed, and nothing else in it moves."""

from __future__ import annotations

import json
import re
import tracemalloc
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.agents.change import Change
from sidecar.agents.damaged import NotChanged
from sidecar.agents.jsonc import value_at, with_keys, with_value, without
from sidecar.agents.record import Written

WAY = ("mcpServers", "sidecar")
ENTRY = {"command": "sidecar", "args": ["mcp"]}
FILES = {
    "empty": "",
    "blank lines": "\n\n",
    "an empty object": "{}",
    "an empty object over two lines": "{\n}\n",
    "in one line": '{"a": 1}',
    "in one line with space": '{ "mcpServers": { "x": { "command": "y" } } }\n',
    "the list is empty": '{\n  "a": 1,\n  "mcpServers": {}\n}\n',
    "another server": '{\n    "mcpServers": {\n        "x": {\n            "c": 1\n        }\n    },\n    "b": 2\n}\n',
    "comments and commas": '// a\n{\n\t"mcpServers": { // b\n\t\t"x": 1, // c\n\t\t// "old": 2,\n\t},\n\t/* d */\n}\n',
    "a comment behind the last": '{\n  "a": 1 // one, "two": {\n}\n',
    "a comment before the brace": '{ "a": 1 /* one */ }',
    "only a comment": "{\n  // nothing yet\n}\n",
    "Windows' line ends": '{\r\n  "a": 1\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "braces and slashes in strings": '{"u": "http://x/{}", "q": "\\"}// \\\\"}',
    "no line end": '{\n  "mcpServers": {\n    "x": {}\n  }\n}',
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_an_entry_is_added_and_everything_else_stays_where_it_was(text: str) -> None:
    after = with_value(text, WAY, ENTRY)
    assert value_at(after, WAY) == ENTRY
    kept = iter(after)
    assert all(character in kept for character in text.strip()), "each character is there in the same order"


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_what_was_added_can_be_taken_back_to_the_byte(text: str) -> None:
    after = with_value(text, WAY, ENTRY)
    written = Written.of(text, after, "")
    assert written is not None
    assert written.taken_back(after) == text
    assert written.taken_back(after + " ") is None


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_an_entry_is_removed_from_a_file_that_has_changed_since(text: str) -> None:
    after = with_value(with_value(text, WAY, ENTRY), ("later",), True)
    left = without(after, WAY)
    assert value_at(left, WAY) is None
    assert value_at(left, ("later",)) is True
    assert value_at(left, ("a",)) == (1 if '"a"' in text else None)


def test_the_new_entry_looks_like_its_neighbours() -> None:
    text = '{\n    "mcpServers": {\n        "x": {\n            "command": "y"\n        }\n    }\n}\n'
    wanted = (
        '{\n    "mcpServers": {\n        "x": {\n            "command": "y"\n        },\n        "sidecar": {\n'
        '            "command": "sidecar",\n            "args": ["mcp"]\n        }\n    }\n}\n'
    )
    assert with_value(text, WAY, ENTRY) == wanted


def test_in_a_text_of_one_line_it_stays_one_line() -> None:
    assert with_value('{ "a": 1 }', ("b",), {"c": ["d"]}) == '{ "a": 1, "b": { "c": ["d"] } }'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{ "x": 1, "s": 2 }', '{ "x": 1 }'),
        ('{ "s": 2, "x": 1 }', '{ "x": 1 }'),
        ('{ "s": 2 }', "{ }"),
        ('{\n  "x": 1, // one\n  "s": 2\n}', '{\n  "x": 1 // one\n}'),
        ('{\n  "x": 1,\n  // ours\n  "s": 2,\n}', '{\n  "x": 1,\n  // ours\n}'),
    ],
)
def test_the_comma_goes_with_the_entry_and_comments_beside_it_stay(text: str, left: str) -> None:
    assert without(text, ("s",)) == left


def test_keys_are_set_one_by_one_and_what_a_person_added_stays() -> None:
    text = '{"s": {\n  "command": "/old/sidecar", // mine\n  "env": {"A": "b"},\n}}'
    assert with_keys(text, ("s",), ENTRY) == (
        '{"s": {\n  "command": "sidecar", // mine\n  "env": {"A": "b"},\n  "args": ["mcp"]\n}}'
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{ not json", "not valid JSON in line 1"),
        ('{\n  "a": 1\n  "b": 2\n}', "not valid JSON in line 3"),
        ('{"a": 1', "not valid JSON in line 1"),
        ('{"a": tru}', "not valid JSON in line 1"),
        ("{} {}", "not valid JSON in line 1"),
        ('{"a": 1,, "b": 2}', "not valid JSON in line 1"),
        ('{"a": /* open', "not valid JSON in line 1"),
        ("[]", "does not hold a JSON object"),
        ('{"mcpServers": []}', 'something else than an object as "mcpServers"'),
        ('{"mcpServers": {}, "mcpServers": {}}', '"mcpServers" twice'),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_damaged_text_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(NotChanged, match=re.escape(why)):
        with_value(text, WAY, ENTRY)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


GAPS = st.sampled_from(["", " ", "\n", "\n  ", " // c\n", " /* c */ ", "\r\n\t"])


def as_text(value: Any, data: st.DataObject) -> str:
    """Draws a text of the value as somebody may have written it: with spaces, comments and trailing commas."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=data.draw(st.sampled_from([True, False])))
    members = [f"{gap(data)}{json.dumps(key)}{gap(data)}:{as_text(one, data)}{gap(data)}" for key, one in value.items()]
    end = data.draw(st.sampled_from(["", ","])) if members else ""
    return "{" + ",".join(members) + end + gap(data) + "}"


def gap(data: st.DataObject) -> str:
    return data.draw(GAPS)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.data())
def test_any_object_gets_the_entry_keeps_the_rest_and_gives_it_back(value: dict[str, Any], data: st.DataObject) -> None:
    value.pop("mcpServers", None)
    text = as_text(value, data)
    after = with_value(text, WAY, ENTRY)
    assert value_at(after, ()) == {**value, "mcpServers": {"sidecar": ENTRY}}
    written = Written.of(text, after, "")
    assert written is not None
    assert written.taken_back(after) == text
    assert value_at(without(after, ("mcpServers",)), ()) == value


SERVERS = {"x": {"command": "y"}}
BESIDE = [{"display": "a // b", "number": number, "list": [{}, None]} for number in range(20_000)]


@pytest.mark.parametrize("first", [{"history": BESIDE}, {}], ids=["before the list", "behind the list"])
def test_what_a_large_file_has_beside_the_list_is_not_taken_apart(first: dict[str, Any]) -> None:
    text = json.dumps({**first, "mcpServers": SERVERS, "later": BESIDE}, indent=2)
    tracemalloc.start()
    after = with_value(text, WAY, ENTRY)
    shown = list(Change(Path("settings.json"), text, after).diff())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20 * len(text), "a list of all tokens has 60 times the size"
    assert json.loads(after)["mcpServers"] == {**SERVERS, "sidecar": ENTRY}
    assert without(after, WAY) == text
    assert len(shown) < 15


def test_a_diff_of_a_long_file_is_that_of_the_whole_texts() -> None:
    before = json.dumps({"list": list(range(500)), "mcpServers": SERVERS, "later": list(range(500))}, indent=1)
    after = with_value(before, WAY, ENTRY)
    for old, new in ((before, after), (after, before), (before, before), ("", after), (before, "")):
        wanted = unified_diff(old.splitlines(), new.splitlines(), "a.json", "a.json", n=1, lineterm="")
        assert list(Change(Path("a.json"), old, new).diff()) == list(wanted)
