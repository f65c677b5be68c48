"""Documents by heading, notebooks by cell, components by their script."""

from __future__ import annotations

import json

import pytest

from sidecar.model.files import ParsedFile
from sidecar.parts.chunk import parse_file
from sidecar.parts.chunk.lines import MAX_CHUNKS

LONG = "A sentence that fills the section with words.\n" * 20


def sections(parsed: ParsedFile) -> list[tuple[str, int, int, str]]:
    return [(item.name, item.start_line, item.depth, item.container) for item in parsed.definitions]


def test_markdown_sections_nest_and_chunks_know_their_heading_path() -> None:
    text = f"# Guide\n\n{LONG}\n## Install\n\n{LONG}\n### Linux\n\n{LONG}\n## Use\n\n{LONG}"
    parsed = parse_file("a.md", text, "markdown")
    assert parsed.parser == "markdown"
    assert sections(parsed) == [
        ("Guide", 1, 0, ""),
        ("Install", 24, 1, "Guide"),
        ("Linux", 47, 2, "Guide.Install"),
        ("Use", 70, 1, "Guide"),
    ]
    assert [(c.start_line, c.names, c.enclosing) for c in parsed.chunks] == [
        (1, ("Guide",), ()),
        (24, ("Install",), ("Guide",)),
        (47, ("Linux",), ("Guide", "Install")),
        (70, ("Use",), ("Guide",)),
    ]
    assert {chunk.kind for chunk in parsed.chunks} == {"section"}


def test_fences_comments_in_code_and_front_matter_are_no_headings() -> None:
    front = "---\ntitle: a\n# no\n---\n"
    text = front + "# One\n```sh\n# no\n```\n~~~~\n```\n# no\n~~~~\n    # no\nRule\n\n---\n\n#no\n## Two ##\n"
    assert [name for name, *_ in sections(parse_file("a.md", text, "markdown"))] == ["One", "Two"]


def test_setext_headings_and_markup_in_titles() -> None:
    text = "The `run` [tool](http://a) {#id}\n====\n\ntext\n\n**Sub**\n---\n\n- item\n---\n"
    assert sections(parse_file("a.md", text, "markdown")) == [("The run tool", 1, 0, ""), ("Sub", 6, 1, "The run tool")]


def test_a_long_section_is_cut_at_paragraphs_and_keeps_its_path() -> None:
    paragraphs = "\n".join("word " * 60 + "\n" for _ in range(20))
    parsed = parse_file("a.md", f"# Top\n\n{paragraphs}", "markdown")
    assert len(parsed.chunks) > 3
    assert all(chunk.enclosing == ("Top",) and chunk.kind == "section" for chunk in parsed.chunks[1:])
    assert all(chunk.text.startswith("word") for chunk in parsed.chunks[1:])


def test_many_small_sections_are_joined() -> None:
    text = "".join(f"## 1.{number}\n\n- fixed {number}\n\n" for number in range(60))
    parsed = parse_file("a.md", text, "markdown")
    assert len(parsed.definitions) == 60
    assert len(parsed.chunks) < 20


def test_restructured_text_levels_follow_the_order_of_their_styles() -> None:
    text = "=====\nTitle\n=====\n\nOne\n===\n\ntext\n\nSub\n---\n\nTwo\n===\n\n::\n\n    code\n    ----\n"
    assert sections(parse_file("a.rst", text, "rst")) == [
        ("Title", 1, 0, ""),
        ("One", 5, 1, "Title"),
        ("Sub", 10, 2, "Title.One"),
        ("Two", 13, 1, "Title"),
    ]


def test_asciidoc_blocks_are_no_headings() -> None:
    text = "= Title\n\n== One\n\n----\n== no\n----\n\n=== Sub\n"
    assert [name for name, *_ in sections(parse_file("a.adoc", text, "asciidoc"))] == ["Title", "One", "Sub"]


def test_plain_text_is_cut_at_paragraphs() -> None:
    text = "\n\n".join("line of text\n" * 30 for _ in range(10))
    parsed = parse_file("a.txt", text, "text")
    assert len(parsed.chunks) > 2 and parsed.definitions == ()
    assert {chunk.kind for chunk in parsed.chunks} == {"text"}


NOTEBOOK: dict[str, object] = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Load the table\n", "text"]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {"source": "not this"},
            "outputs": [{"data": {"text/plain": ["SECRET OUTPUT"], "source": ["nor this"]}}],
            "source": ["def load(path):\n", '    return "}]," + path\n', "\n", "table = load(1)"],
        },
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": []},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": "first = 1\nsecond = 2"},
    ],
    "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
    "nbformat": 4,
}


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if part in line)


def test_notebook_chunks_are_cells_and_their_lines_are_those_of_the_file() -> None:
    text = json.dumps(NOTEBOOK, indent=1)
    parsed = parse_file("a.ipynb", text, "notebook")
    assert parsed.parser == "notebook"
    assert [(chunk.start_line, chunk.end_line, chunk.kind) for chunk in parsed.chunks] == [
        (line_of(text, "# Load"), line_of(text, '"text"'), "cell"),
        (line_of(text, "def load"), line_of(text, "table = load"), "cell"),
        (line_of(text, "first = 1"), line_of(text, "first = 1"), "cell"),
    ]
    assert parsed.chunks[1].text == 'def load(path):\n    return "}]," + path\n\ntable = load(1)'
    assert not any(word in chunk.text for chunk in parsed.chunks for word in ("SECRET", "not this", "nor this"))
    load = next(item for item in parsed.definitions if item.name == "load")
    assert (load.kind, load.start_line) == ("function", line_of(text, "def load"))
    assert load.end_line == line_of(text, "return")


def test_a_notebook_on_one_line_is_all_on_line_one() -> None:
    parsed = parse_file("a.ipynb", json.dumps(NOTEBOOK), "notebook")
    assert [(chunk.start_line, chunk.end_line) for chunk in parsed.chunks] == [(1, 1)] * 3


def test_code_cells_are_read_in_the_language_of_the_kernel() -> None:
    cell = {"cell_type": "code", "source": ["f(x) = x + 1"]}
    text = json.dumps({"cells": [cell], "metadata": {"language_info": {"name": "Julia"}}, "nbformat": 4}, indent=1)
    assert [item.name for item in parse_file("a.ipynb", text, "notebook").definitions] == ["f"]


@pytest.mark.parametrize(
    "text",
    ['{"cells": [{"source": ["a"', "not json", "[]", "{}", '{"cells": 3}]]]', '{"cells": [{"source": ["\\x"]}]}'],
)
def test_a_broken_notebook_becomes_line_chunks(text: str) -> None:
    parsed = parse_file("a.ipynb", text, "notebook")
    assert parsed.parser == "lines"
    assert parsed.chunks[0].text == text


def test_a_notebook_of_thousands_of_cells_keeps_to_the_limit() -> None:
    cells = [{"cell_type": "code", "source": [f"value_{number} = {number}"]} for number in range(2_500)]
    parsed = parse_file("a.ipynb", json.dumps({"cells": cells, "metadata": {}}, indent=1), "notebook")
    assert len(parsed.chunks) <= MAX_CHUNKS
    assert "value_2499" in parsed.chunks[-1].names


def test_the_script_of_a_component_is_parsed_and_its_lines_are_those_of_the_file() -> None:
    markup = "<template>\n  <a/>\n</template>\n"
    text = markup + '<script setup lang="ts">\nexport const useX = (): number => 1\n</script>\n<style>\n</style>\n'
    parsed = parse_file("a.vue", text, "vue")
    assert [(item.name, item.start_line) for item in parsed.definitions] == [("useX", 5)]
    assert [(chunk.start_line, chunk.end_line) for chunk in parsed.chunks] == [(1, 4), (5, 5), (6, 8)]
