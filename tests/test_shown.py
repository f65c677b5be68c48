"""Foreign strings are shown visibly, on one line where necessary, and never as a link; JSON stays exact."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sidecar.shown import LONGEST_QUOTE, as_json, line, numbered, path, quoted, sentence, visible

ANY = st.text(st.characters(exclude_categories=()), max_size=80)
AWKWARD = st.lists(
    st.sampled_from(
        '[a](b:c) ]( ![x](y) <img <https://e.example> https://e.example ` `` " \\ _'.split()
        + "[a]: [a][b] &lt; &#27; <!-- </p> # www.e.example **".split()
        + list(" \n\r\t\x1b\x9b\u202e\u200b\ud800\U000e0041\ufe0f❤a>\u200d\u200c👩👨یخक्")
    ),
    max_size=20,
).map("".join)


def is_hidden(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def test_every_character_that_cannot_be_seen_becomes_a_number() -> None:
    """Uses Unicode's own table, not ours."""
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        if is_hidden(character):
            assert line(character) == f"\\u{{{number:x}}}", hex(number)
            assert (visible(character) == character) is (character in "\n\t"), hex(number)


@pytest.mark.parametrize(
    "text", ["Grüße", "日本語", "עברית", "हिन्दी", "a\u00a0b", "❤\ufe0f", "1\ufe0f", "🦀", "C:\\new", "—"]
)
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    assert (line(text), visible(text)) == (text, text)


def test_a_row_of_variation_selectors_carries_no_text() -> None:
    assert line("❤\ufe0f\ufe0f\ufe0e") == "❤\ufe0f\\u{fe0f}\\u{fe0e}"
    assert line("a\ufe0f\U000e0100") == "a\\u{fe0f}\\u{e0100}"


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f469\u200d\U0001f4bb.py",
        "\U0001f469\U0001f3fd\u200d\u2764\ufe0f\u200d\U0001f468",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "\u09b0\u200d\u09cd\u09af",
    ],
    ids=["a picture of two", "a picture of three", "Persian", "Hindi", "Bengali"],
)
def test_a_joiner_that_shapes_what_is_seen_stays(text: str) -> None:
    assert (line(text), visible(text), quoted(text)) == (text, text, f'"{text}"')


@pytest.mark.parametrize(
    "text",
    [
        *("a\u200db", "a\u200cb", "1\u200d2", "\u3042\u200d\u3044", "\u05d0\u200c\u05d1", "\U0001f469\u200c\U0001f4bb"),
        *("\U0001f469\u200d", "\u200d\U0001f4bb", "\U0001f469\u200da", "\u06cc\u200c"),
        *("\u0627\u200c\u0645", "\u0915\u200c\u0916"),
    ],
)
def test_a_joiner_that_cannot_be_seen_becomes_a_number(text: str) -> None:
    shown = text.replace("\u200c", "\\u{200c}").replace("\u200d", "\\u{200d}")
    assert (line(text), visible(text)) == (shown, shown)


def test_a_row_of_joiners_carries_no_text() -> None:
    assert line("\U0001f469\u200d\u200d\U0001f4bb") == "\U0001f469\\u{200d}\\u{200d}\U0001f4bb"
    assert line("\u06cc\u200c\u200d\u062e") == "\u06cc\\u{200c}\\u{200d}\u062e"


@given(ANY | AWKWARD)
def test_a_line_is_one_line_and_escaping_it_again_changes_nothing(text: str) -> None:
    assert line(text).splitlines() in ([], [line(text)])
    assert line(line(text)) == line(text)
    assert sentence(sentence(text)) == sentence(text)


@given(ANY | AWKWARD)
def test_a_content_keeps_its_lines_but_the_blank_ones_and_each_has_its_number(text: str) -> None:
    shown = list(numbered(text, 9))
    filled = [n for n, one in enumerate(visible(text).split("\n"), 9) if one.strip(" \t")]
    assert [one.split(" ")[0] for one in shown] == [str(n) for n in filled]
    assert "\n".join(shown).splitlines() == shown


@given(ANY | AWKWARD)
def test_a_quoted_string_is_short_ends_where_it_ends_and_holds_no_link(text: str) -> None:
    shown = quoted(text)
    assert shown[0] == shown[-1] == '"'
    assert shown.count('"') == 2
    assert len(shown) <= LONGEST_QUOTE + 2
    sentence = f"An agent {shown} wants it."
    kinds = {token.type for token in MarkdownIt("gfm-like", {"linkify": False}).parseInline(sentence)[0].children or ()}
    assert kinds & {"link_open", "image", "html_inline", "code_inline"} == set()
    assert "://" not in shown


@given(ANY | AWKWARD)
def test_a_path_at_the_beginning_of_a_line_is_bare_or_quoted_and_never_a_numbered_line(text: str) -> None:
    shown = path(text)
    assert shown == text or (shown[0] == shown[-1] == '"' and shown.count('"') == 2)
    assert not any(c in shown.strip('"') for c in "\n\t\r")
    assert shown[:1] == '"' or not any(c in shown for c in " |:")


values = st.recursive(ANY | AWKWARD | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(ANY, inner))


@given(values)
def test_json_reads_back_as_it_was_and_hides_nothing(value: Any) -> None:
    for indent in (None, 2):
        text = as_json(value, indent=indent)
        assert json.loads(text) == value
        assert not any(is_hidden(c) for c in text if c != "\n")


def test_a_long_path_is_quoted_with_its_beginning_and_its_end() -> None:
    shown = quoted("/home/somebody/" + "folder/" * 20 + "project")
    assert shown.startswith('"/home/somebody/folder')
    assert shown.endswith('folder/project"')
    assert len(shown) == LONGEST_QUOTE + 2


def test_text_of_ascii_is_shown_as_any_other_text() -> None:
    for number in range(128):
        character = chr(number)
        assert visible(character) == visible(character + "é").removesuffix("é"), number
        assert as_json(character)[:-1] == as_json(character + "é").removesuffix('é"'), number
