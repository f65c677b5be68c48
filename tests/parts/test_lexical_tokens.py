"""The terms by which words are found."""

from __future__ import annotations

from pathlib import Path

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer.english_stemmer import EnglishStemmer

from sidecar.parts.lexical.tokens import fold_name, query_terms, stem, terms_of, words


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("parse_HTTPRequests", ("parsehttprequests", "pars", "http", "request")),
        ("parseHttpRequests", ("parsehttprequests", "pars", "http", "request")),
        ("__init__", ("init",)),
        ("sha256", ("sha256", "sha", "256")),
        ("Connections", ("connect",)),
        ("_x", ("x",)),
        ("404", ("404",)),
        ("0x1f3ab4c5d6e7", ()),
        ("3F786850e387550fdab836ed7e6dc881de23001b", ("3f786850e387550fdab836ed7e6dc881de23001b",)),
        ("00a0c91e6bf6", ("00a0c91e6bf6",)),
        ("12345678", ()),
        ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", ()),
        ("___", ()),
        ("a" * 65, ()),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_stemmed_parts(word: str, terms: tuple[str, ...]) -> None:
    assert terms_of(word) == terms


def test_spellings_of_one_identifier_share_their_whole_term() -> None:
    assert {terms_of(word)[0] for word in ("read_file_lines", "readFileLines", "ReadFileLines", "READ_FILE_LINES")} == {
        "readfilelines"
    }
    assert fold_name("read_file") == fold_name("readFile") == "readfile"


def test_inflected_words_meet_in_their_stem() -> None:
    assert {stem(word) for word in ("connect", "connected", "connecting", "connections")} == {"connect"}


def test_accents_are_folded_and_case_is_ignored_in_every_script() -> None:
    assert terms_of("naïveté") == terms_of("naivete")
    assert terms_of("Größe") == terms_of("grösse") == ("gross",)
    assert terms_of("ПРИВЕТ") == terms_of("привет")


def test_chinese_and_japanese_are_found_by_pairs_of_characters() -> None:
    assert terms_of("搜索引擎") == ("搜索", "索引", "引擎")
    assert terms_of("語") == ("語",)
    assert set(terms_of("日本語")) <= {term for word in words("これは日本語の文です") for term in terms_of(word)}


def test_identifiers_inside_chinese_text_are_still_split() -> None:
    assert "pars" in {term for word in words("调用parseFile函数") for term in terms_of(word)}


def test_words_with_vowel_signs_stay_whole() -> None:
    assert words("हिन्दी में खोज") == ["हिन्दी", "में", "खोज"]


def test_stop_words_leave_a_query_unless_they_are_all_of_it() -> None:
    assert query_terms("how is the connection closed") == ("connect", "close")
    assert query_terms("what is it") == ("what", "is", "it")
    assert query_terms("?!") == ()


@given(st.text(max_size=80))
def test_any_text_gives_the_same_finite_terms_twice(text: str) -> None:
    first = [terms_of(word) for word in words(text)]
    assert first == [terms_of(word) for word in words(text)]
    assert all(term and term == term.strip() and "\0" not in term for terms in first for term in terms)


def test_numbers_in_words_are_not_given_to_the_stemmer() -> None:
    """A table or a list of 100,000 rules has that many of them, and stemming them takes longer than everything else."""
    terms_of("name7")
    stemmed = stem.cache_info().misses
    assert terms_of("name918273645") == ("name918273645", "name", "918273645")
    assert stem.cache_info().misses == stemmed


@given(st.text("0123456789", min_size=2))
def test_a_number_is_its_own_stem(number: str) -> None:
    assert stem(number) == number


def test_words_have_the_same_stems_in_c_and_in_python() -> None:
    """An index may have been written where one is installed and be asked where the other one is."""
    root = Path(__file__).parents[2]
    texts = [path.read_text("utf-8") for pattern in ("docs/**/*.md", "sidecar/**/*.py") for path in root.glob(pattern)]
    seen = {word.lower() for text in texts for word in words(text) if word.isascii() and len(word) > 2}
    in_c, in_python = Stemmer.Stemmer("english"), EnglishStemmer()
    assert len(seen) > 10_000
    assert [word for word in sorted(seen) if in_c.stemWord(word) != in_python.stemWord(word)] == []


@given(st.text("abcdefghijklmnopqrstuvwxyz'0123456789_", min_size=3, max_size=20))
def test_any_word_has_the_stem_that_python_gives_it(word: str) -> None:
    assert stem(word) == EnglishStemmer().stemWord(word)
