"""Properties of the chunks of any text: they cover it, do not overlap, are small, and are the same on every run."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import hypothesis
import pygls
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.model.files import ParsedFile
from sidecar.parts.chunk import parse_file
from sidecar.parts.chunk.lines import MAX_CHUNKS, TARGET
from sidecar.parts.chunk.prose import PROSE
from sidecar.parts.chunk.tables import TABLES
from tests.examples import examples

LANGUAGES = sorted({*TABLES, *PROSE, "vue", "svelte"})
REAL = sorted([*Path(pygls.__file__).parent.rglob("*.py"), *Path(hypothesis.__file__).parent.glob("*.py")])


def assert_holds(parsed: ParsedFile, text: str) -> None:
    lines = text.split("\n")
    covered: dict[int, str] = {}
    previous = 0
    for chunk in parsed.chunks:
        assert 1 <= chunk.start_line <= chunk.end_line <= len(lines)
        whole = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        if chunk.text == whole:
            assert chunk.start_line > previous
        else:
            assert chunk.start_line == chunk.end_line and chunk.text in whole
            assert chunk.start_line >= previous
        for line in range(chunk.start_line, chunk.end_line + 1):
            covered[line] = covered.get(line, "") + (chunk.text if chunk.text != whole else lines[line - 1])
        assert lines[chunk.start_line - 1].strip() and lines[chunk.end_line - 1].strip()
        previous = chunk.end_line
    for number, whole in enumerate(lines, 1):
        assert "".join(covered.get(number, "").split()) == "".join(whole.split())
    assert len(parsed.chunks) <= MAX_CHUNKS
    for item in parsed.definitions:
        assert item.name and 1 <= item.start_line <= item.end_line <= len(lines) and len(item.signature) <= 300


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_chunks_of_real_source_cover_it_without_overlap(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    parsed = parse_file(path.name, text, "python")
    assert_holds(parsed, text)
    assert all(len(chunk.text) <= TARGET or chunk.start_line == chunk.end_line for chunk in parsed.chunks)


FRAGMENTS = st.sampled_from(
    [
        "def f(x):",
        "    return 1",
        "class A {",
        "}",
        "# Title",
        "===",
        "```",
        "",
        "  ",
        "/* c",
        "*/",
        '"""',
        "fn a() -> b {",
        "x = [",
        "),",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(st.one_of(FRAGMENTS, st.text(max_size=60)), max_size=80).map("\n".join),
    st.lists(FRAGMENTS, min_size=40, max_size=60).map(lambda lines: "\n".join(lines * 6)),
)


@settings(max_examples=examples(150), deadline=None)
@given(TEXTS, st.sampled_from([*LANGUAGES, "unknown"]))
def test_chunks_of_any_text_cover_it_without_overlap(text: str, language: str) -> None:
    assert_holds(parse_file("a", text, language), text)


@settings(max_examples=examples(40), deadline=None)
@given(st.text(max_size=300))
def test_any_text_called_a_notebook_yields_chunks_inside_it(text: str) -> None:
    parsed = parse_file("a.ipynb", text, "notebook")
    assert all(1 <= chunk.start_line <= chunk.end_line <= text.count("\n") + 1 for chunk in parsed.chunks)


@pytest.mark.parametrize("language", [*LANGUAGES, "notebook", "unknown"])
@pytest.mark.parametrize("text", ["", "\n", "   \n\t\n"])
def test_a_blank_file_has_no_chunks(text: str, language: str) -> None:
    assert parse_file("a", text, language).chunks == ()


def test_the_last_line_counts_with_and_without_its_newline() -> None:
    with_newline, without = (parse_file("a.py", text, "python") for text in ("x = 1\ny = 2\n", "x = 1\ny = 2"))
    assert with_newline.chunks == without.chunks
    assert with_newline.chunks[0].end_line == 2


def test_one_line_of_a_megabyte_is_cut_into_pieces_and_overflows_nothing() -> None:
    text = "x = " + "(" * 200_000 + "1" + " + 1" * 100_000 + ")" * 200_000
    parsed = parse_file("a.py", text, "python")
    assert_holds(parsed, text)
    assert len(parsed.chunks) > 100
    assert {(chunk.start_line, chunk.end_line) for chunk in parsed.chunks} == {(1, 1)}


@pytest.mark.parametrize(
    ("language", "opening", "closing"), [("python", "(\n", ")\n"), ("javascript", "{\n", "}\n"), ("json", "[\n", "]\n")]
)
def test_deep_nesting_overflows_nothing(language: str, opening: str, closing: str) -> None:
    text = opening * 20_000 + closing * 20_000
    assert_holds(parse_file("a", text, language), text)


def test_deeply_nested_functions_overflow_nothing() -> None:
    text = "function a() {\n" * 5_000 + "}\n" * 5_000
    parsed = parse_file("a.js", text, "javascript")
    assert_holds(parsed, text)
    assert max(item.depth for item in parsed.definitions) == 4_999
    assert max(len(item.container) for item in parsed.definitions) <= 300


def test_bytes_read_as_latin_1_become_line_chunks() -> None:
    noise = b"".join(hashlib.sha256(bytes([number % 256, number // 256])).digest() for number in range(2_000))
    text = noise.decode("latin-1")
    for language in ("python", "cpp", "markdown", "unknown"):
        assert_holds(parse_file("a", text, language), text)
    assert parse_file("a", text, "python").parser == "lines"


def test_a_lone_surrogate_is_no_obstacle() -> None:
    assert_holds(parse_file("a.py", "x = '\ud800'\n", "python"), "x = '\ud800'\n")


def test_a_text_over_a_megabyte_is_cut_into_lines_of_at_most_a_thousand_chunks() -> None:
    text = "value = compute(1, 2, 3)\n" * 100_000
    parsed = parse_file("a.py", text, "python")
    assert parsed.parser == "lines: it is longer than 1,000,000 bytes, which no setting raises"
    assert_holds(parsed, text)


def test_an_unknown_language_is_cut_at_blank_lines_and_low_indentation() -> None:
    block = "begin\n" + "   inner line of text\n" * 30 + "end\n\n"
    parsed = parse_file("a.xyz", block * 6, "no-such-language")
    assert parsed.parser == "lines"
    assert all(chunk.text.startswith("begin") and chunk.text.endswith("end") for chunk in parsed.chunks)


def test_text_that_a_grammar_does_not_understand_becomes_line_chunks() -> None:
    text = "}}} ((( ]]] %% @@ ?? ;; ,, ::\n" * 100
    assert parse_file("a.go", text, "go").parser == "lines"


PROGRAM = """
import hashlib, sys
from pathlib import Path
from sidecar.parts.chunk import parse_file
for name in sys.argv[1:]:
    print(hashlib.sha256(repr(parse_file(name, Path(name).read_text(encoding="utf-8"), "python")).encode()).hexdigest())
"""


@pytest.mark.process
def test_fresh_interpreters_make_the_same_chunks() -> None:
    command = [sys.executable, "-c", PROGRAM, *map(str, REAL[:20])]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first == second and first.count("\n") == len(REAL[:20])


def test_threads_make_the_same_chunks() -> None:
    texts = [path.read_text(encoding="utf-8") for path in REAL[:30]]
    expected = [parse_file("a.py", text, "python") for text in texts]
    found: list[list[ParsedFile]] = []
    threads = [
        threading.Thread(target=lambda: found.append([parse_file("a.py", text, "python") for text in texts]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


@pytest.mark.process
def test_importing_the_chunker_does_not_load_tree_sitter() -> None:
    code = "import sys, sidecar.parts.chunk; print('tree_sitter' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("gap", ["", "\n"])
def test_a_comment_and_a_decorator_stay_with_their_definition(gap: str) -> None:
    filler = "".join(f"    value_{number} = compute({number}, {number})\n" for number in range(40))
    parts = [f"# About f{number}.\n{gap}@decorate\n@again(1)\ndef f{number}():\n{filler}\n\n" for number in range(5)]
    parsed = parse_file("a.py", "".join(parts), "python")
    starts = [chunk for chunk in parsed.chunks if chunk.names]
    assert [chunk.names for chunk in starts] == [(f"f{number}",) for number in range(5)]
    assert all(chunk.text.startswith(f"# About {chunk.names[0]}.\n{gap}@decorate") for chunk in starts)


def test_a_big_class_is_cut_at_its_members_and_a_big_function_at_its_statements() -> None:
    body = "".join(f"        step({number})\n        if {number}:\n            other()\n" for number in range(80))
    members = "".join(
        f"    def go{number}(self):\n        '''Does {number}.'''\n" + "        step()\n" * 60 for number in range(4)
    )
    parsed = parse_file("a.py", f"class A:\n    '''Doc.'''\n{members}    def big(self):\n{body}", "python")
    assert parsed.chunks[0].names[:2] == ("A", "go0")
    assert [c.text.split("(")[0].strip() for c in parsed.chunks[1:4]] == ["def go1", "def go2", "def go3"]
    rest = [chunk for chunk in parsed.chunks if chunk.enclosing == ("A", "big")]
    assert rest and all(chunk.kind == "method" and chunk.text.startswith("        ") for chunk in rest)
    assert not any(chunk.text.startswith("            ") for chunk in rest)


def test_what_a_chunk_holds_is_json_ready() -> None:
    chunk = parse_file("a.py", "def f(): ...\n", "python").chunks[0]
    assert json.loads(json.dumps([chunk.kind, chunk.names, chunk.enclosing])) == ["function", ["f"], []]


def test_the_comment_of_a_definition_that_is_too_big_with_it_stays_with_its_head() -> None:
    comment = "/**\n" + " * Explains what it does.\n" * 12 + " */\n"
    text = f"{comment}\napp.go = function go(a) {{\n" + "  step(a, 1);\n" * 95 + "};\n"
    first = parse_file("a.js", text, "javascript").chunks[0]
    assert "app.go = function go(a)" in first.text and first.text.startswith("/**")


def test_parsing_a_file_again_and_again_keeps_none_of_it() -> None:
    text = "def convert(value):\n    return value + 1\n\n\n" * 800
    parse_file("a.py", text, "python")
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(5):
            parse_file("a.py", text, "python")
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 3 * len(text)
