"""Cuts documents by heading (Markdown, reStructuredText, AsciiDoc) and plain text by paragraph.

Finds headings line by line and renders nothing. A section that fits is one chunk together with its subsections. A
longer section is cut into its own text, by paragraph, and its subsections.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from sidecar.model.files import Chunk, Definition, ParsedFile

from .lines import TINY, Lines, Span, cut_to_fit, to_spans, windows

MAX_TITLE = 160
_READ_OF_TITLE = 1000
"""Only so many characters of a heading are read, because markup that does not end is looked for to the end."""
_SMALL = 500
"""Adjacent sections are joined up to this many characters, because change logs and glossaries have hundreds of small
ones."""
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_SETEXT_TEXT = re.compile(r"\s*(?:[>#|]|[-*+] |\d+[.)] |$)")
_UNDERLINE = re.compile(r"([=\-`:.'\"~^_*+#<>!$%&(),/;?@\[\]{|}\\])\1{2,}\s*$")
_ADOC = re.compile(r"(={1,6}|#{1,6})[ \t]++(\S.*)$")
_ADOC_BLOCK = re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|```)\s*$")
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|<[^>]+>|[`*]|\{#[^}]*\}\s*$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. `line` is the first line of the section, which is the overline if there is one; `level` is 1 for the
    outermost sections.
    """

    line: int
    level: int
    title: str


@dataclass(slots=True)
class _Section:
    """A section: its heading, its last line, the titles from the outermost section around it to its own, and its
    subsections."""

    heading: Heading
    end: int
    path: tuple[str, ...]
    children: list[_Section]


def parse_prose(text: str, language: str) -> ParsedFile:
    """Returns the chunks of one document, with its headings as definitions. `text` and unknown languages have no
    headings and are cut by paragraph.
    """
    lines = Lines(text)
    headings = list(_HEADINGS.get(language, _no_headings)(lines))
    top = _nest(headings, len(lines))
    spans = cut_to_fit(lambda target: to_spans(lines, _ranges(top, lines, target), target))
    sections = {section.heading.line: section for section in _walk(top) if section.heading.level}
    parser = "markdown" if language == "markdown" else "prose" if headings else "lines"
    return ParsedFile(language, parser, _label(spans, sections), _definitions(sections))


def _walk(top: _Section) -> Iterator[_Section]:
    """Yields the section and all sections in it, in the order of the file."""
    stack = [top]
    while stack:
        section = stack.pop()
        yield section
        stack.extend(reversed(section.children))


def _nest(headings: list[Heading], end: int) -> _Section:
    """Returns the tree of sections, below one of level 0 that stands for the document."""
    top = _Section(Heading(1, 0, ""), end, (), [])
    stack = [top]
    for heading in headings:
        while stack[-1].heading.level >= heading.level:
            stack.pop().end = heading.line - 1
        section = _Section(heading, end, (*stack[-1].path, heading.title), [])
        stack[-1].children.append(section)
        stack.append(section)
    return top


def _ranges(top: _Section, lines: Lines, target: int) -> list[tuple[int, int]]:
    """Line ranges along the sections, each of at most `target` characters or one line."""
    ranges: list[tuple[int, int]] = []
    stack = [top]
    while stack:
        section = stack.pop()
        start, end = section.heading.line, section.end
        if end < start or lines.size(start, end) <= target:
            ranges.append((start, end))
            continue
        own_end = section.children[0].heading.line - 1 if section.children else end
        ranges.extend(windows(lines, start, own_end, target))
        stack.extend(reversed(section.children))
    return _join_small(lines, [(start, end) for start, end in ranges if start <= end], target)


def _join_small(lines: Lines, ranges: list[tuple[int, int]], target: int) -> list[tuple[int, int]]:
    """Joins neighbours that are small together, and a heading without text with what follows it."""
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        last = joined[-1] if joined else (start, start)
        limit = target if lines.size(*last) <= TINY else min(_SMALL, target)
        if joined and lines.size(last[0], end) <= limit:
            joined[-1] = (last[0], end)
        else:
            joined.append((start, end))
    return joined


def _definitions(sections: dict[int, _Section]) -> tuple[Definition, ...]:
    """Returns the sections that have a title, as definitions."""
    return tuple(
        Definition(
            section.heading.title,
            "section",
            section.heading.line,
            max(section.heading.line, section.end),
            depth=len(section.path) - 1,
            signature=section.heading.title,
            container=".".join(section.path[:-1]),
        )
        for section in sections.values()
        if section.heading.title
    )


def _label(spans: list[Span], sections: dict[int, _Section]) -> tuple[Chunk, ...]:
    """Returns the spans as chunks, each with the titles of the sections that start in it and of those around it."""
    starts = sorted(sections)
    chunks = []
    for span in spans:
        first, after = bisect_left(starts, span.start), bisect_right(starts, span.end)
        inside = [sections[line] for line in starts[first:after]]
        around = sections[starts[first - 1]].path if first else ()
        if inside and inside[0].heading.line == span.start:
            around = inside[0].path[:-1]
        names = tuple(dict.fromkeys(section.heading.title for section in inside if section.heading.title))
        kind = "section" if inside or around else "text"
        chunks.append(Chunk(span.start, span.end, span.text, kind, names, tuple(part for part in around if part)))
    return tuple(chunks)


def _no_headings(lines: Lines) -> Iterator[Heading]:
    """Finds no headings, for languages that have none."""
    return iter(())


def _title(text: str) -> str:
    """Returns the text of a heading without markup, on one line, cut to MAX_TITLE characters."""
    return " ".join(_MARKUP.sub(lambda match: match.group(1) or "", text[:_READ_OF_TITLE]).split())[:MAX_TITLE]


def _without_closing_sequence(text: str) -> str:
    """Returns the text of an ATX heading without the `#`s that may end it after a space."""
    text = text.strip(" \t")
    body = text.rstrip("#")
    return body if body.endswith((" ", "\t")) else text


def _markdown_headings(lines: Lines) -> Iterator[Heading]:
    """Yields the ATX and setext headings outside fenced code and front matter."""
    fence = ""
    for number in range(_after_front_matter(lines), len(lines) + 1):
        line = lines[number]
        mark = _FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if mark and not ("`" in mark.group(1) and "`" in line[mark.end() :]):
            fence = mark.group(1)
            continue
        heading = _ATX.match(line)
        if heading:
            yield Heading(number, len(heading.group(1)), _title(_without_closing_sequence(heading.group(2) or "")))
        elif _is_setext(lines, number):
            yield Heading(number, 1 if "=" in lines[number + 1] else 2, _title(line))


def _is_setext(lines: Lines, number: int) -> bool:
    """Whether the line is a setext heading: one line of text, after a blank line, underlined by `=` or `-`."""
    line = lines[number]
    if number >= len(lines) or not _SETEXT.match(lines[number + 1]) or _NOT_SETEXT_TEXT.match(line):
        return False
    return not line.startswith(("    ", "\t")) and (number == 1 or lines.is_blank(number - 1))


def _after_front_matter(lines: Lines) -> int:
    """Returns the first line after YAML (`---`) or TOML (`+++`) front matter; 1 without front matter."""
    mark = lines[1].rstrip() if len(lines) else ""
    if mark in ("---", "+++"):
        for number in range(2, len(lines) + 1):
            if lines[number].rstrip() in (mark, "..." if mark == "---" else mark):
                return number + 1
    return 1


def _rst_headings(lines: Lines) -> Iterator[Heading]:
    """Yields underlined titles, with or without an overline. The order in which the styles appear gives their
    levels."""
    styles: list[str] = []
    for number in range(2, len(lines) + 1):
        mark = _UNDERLINE.match(lines[number])
        title = lines[number - 1].rstrip()
        if not mark or not title.strip() or len(lines[number].rstrip()) < len(title.strip()) or _UNDERLINE.match(title):
            continue
        over = number > 2 and lines[number - 2].rstrip() == lines[number].rstrip()
        if not over and (title[0].isspace() or (number > 2 and not lines.is_blank(number - 2))):
            continue
        style = mark.group(1) * (2 if over else 1)
        if style not in styles:
            styles.append(style)
        yield Heading(number - 2 if over else number - 1, styles.index(style) + 1, _title(title))


def _asciidoc_headings(lines: Lines) -> Iterator[Heading]:
    """Yields the headings `= Title` to `====== Title`, also written with `#`, outside delimited blocks."""
    block = ""
    for number in range(1, len(lines) + 1):
        mark = _ADOC_BLOCK.match(lines[number])
        if mark and (not block or lines[number].rstrip() == block):
            block = "" if block else lines[number].rstrip()
        elif not block and (heading := _ADOC.match(lines[number])):
            yield Heading(number, len(heading.group(1)), _title(heading.group(2)))


_HEADINGS = {
    "markdown": _markdown_headings,
    "mdx": _markdown_headings,
    "rst": _rst_headings,
    "restructuredtext": _rst_headings,
    "asciidoc": _asciidoc_headings,
    "adoc": _asciidoc_headings,
}
PROSE = frozenset({*_HEADINGS, "text", "plaintext"})
