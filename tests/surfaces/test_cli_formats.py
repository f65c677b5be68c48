"""`--format` of the shell's pattern commands, and which words are recognised as these commands."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sidecar.surfaces.cli.formats import yaml_lines
from sidecar.surfaces.cli.options import join_commands


def _objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.from_regex(r"[a-m][a-z_]{2,8}", fullmatch=True), values, max_size=4)


SCALARS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | _objects(inner), max_leaves=12)


@settings(deadline=None)
@given(_objects(VALUES))
@example({"text": "\x7f\x00\ud7ff \U0001f600 \\ud83d\\ude00 \u2028"})
def test_any_result_reads_back_from_yaml_as_it_was(value: dict[str, Any]) -> None:
    lines = list(yaml_lines(value))
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert (yaml.safe_load("\n".join(lines)) or {}) == value


@pytest.mark.parametrize(
    ("given_words", "joined"),
    [
        ("search index **/*.rs", ["search index", "**/*.rs"]),
        ("search query x --limit 5", ["search query", "x", "--limit", "5"]),
        ("-w search search query x", ["-w", "search", "search query", "x"]),
        ("--json -w docs search index", ["--json", "-w", "docs", "search index"]),
        ("search indexes of things", ["search", "indexes", "of", "things"]),
        ("search -- index x", ["search", "--", "index", "x"]),
        ("search -k 3 index x", ["search", "-k", "3", "index", "x"]),
        ("docs search index", ["docs", "search", "index"]),
        ("-w search index", ["-w", "search", "index"]),
        ("call search index", ["call", "search", "index"]),
        ("search", ["search"]),
        ("", []),
    ],
)
def test_index_and_query_are_commands_only_right_after_search(given_words: str, joined: list[str]) -> None:
    assert join_commands(given_words.split()) == joined
