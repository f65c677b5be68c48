"""Cuts program text along its syntax tree, or into windows of lines if it has no grammar or the grammar does not
understand too much of it (MAX_ERRORS)."""

from __future__ import annotations

import re
from bisect import bisect_right

from sidecar.model.files import Chunk, Definition, ParsedFile

from .definitions import Outline, outline, query_for
from .lines import MAX_CHUNKS, TARGET, Lines, Span, cut_to_fit, to_spans, windows
from .split import split_tree
from .syntax import Node, load_grammar
from .table import Table
from .tables import TABLES

MAX_BYTES = 1_000_000
"""The maximum size of a text that is parsed. A longer one is cut into windows of lines, because a grammar may need
seconds for it, and such a file is rarely written by hand. """
_TOO_LONG = f"lines: it is longer than {MAX_BYTES:,} bytes, which no setting raises"
MAX_ERRORS = 0.4
"""The maximum share (0-1) of a text that the grammar may fail to understand; with more, it is cut into windows of
lines."""

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r\v\x1b"))
_SCRIPT = re.compile(r"<script([^>]*)>((?=[ \t]*\n)[^\0]*?\n[ \t]*)</script>", re.IGNORECASE)
"""A script element whose tags are on other lines than its content."""
_TYPED = re.compile(r"lang=[\"']?tsx?\b")


def parse_code(text: str, language: str, path: str = "") -> ParsedFile:
    """Returns the chunks, definitions and comments of one file of program text.

    Without a usable tree the result has only chunks, and its `parser` begins with `lines`.
    """
    lines = Lines(text)
    table = _table_for(path, language)
    source = text.encode("utf-8", "replace")
    grammar = load_grammar(table.module, table.function, query_for(table), table.query) if table else None
    root = grammar.parse(source) if grammar and _is_parsable(source) else None
    if table is None or grammar is None or root is None or grammar.error_share(root) > MAX_ERRORS:
        too_long = table is not None and len(source) > MAX_BYTES
        return lines_only(lines, language, _TOO_LONG if too_long else "lines")
    found = outline(table, grammar.captures(root), source)
    spans = tree_spans(root, lines, table)
    return ParsedFile(language, "tree-sitter", label(spans, found), found.definitions, found.comments)


def lines_only(lines: Lines, language: str, parser: str = "lines") -> ParsedFile:
    """Returns windows of lines as chunks, without definitions and comments. For `parser` see `ParsedFile`."""
    spans = cut_to_fit(lambda target: to_spans(lines, windows(lines, 1, len(lines), target), target))
    return ParsedFile(language, parser, label(spans, Outline()))


def tree_spans(root: Node, lines: Lines, table: Table) -> list[Span]:
    """Returns the text cut along its tree into at most MAX_CHUNKS spans."""
    attached = frozenset((*table.comments, *table.attached))
    kept = frozenset(table.rules) | {"call"}
    return cut_to_fit(lambda target: to_spans(lines, split_tree(root, lines, target, attached, kept), target))


def parse_scripted(text: str, language: str) -> ParsedFile:
    """Parses a Vue or Svelte component: its first script as TypeScript or JavaScript; the rest is cut into windows of
    lines.

    The whole component is cut into windows if no script has lines of its own, if the script has no usable tree, or if
    there would be more than MAX_CHUNKS chunks.
    """
    lines = Lines(text)
    script = _SCRIPT.search(text)
    if script is None:
        return lines_only(lines, language)
    first, body = text.count("\n", 0, script.start(2)) + 1, script.group(2)
    last = first + body.count("\n")
    kind = "typescript" if _TYPED.search(script.group(1)) else "javascript"
    parsed = parse_code("\n" * (first - 1) + body, kind)
    around = windows(lines, 1, first, TARGET), windows(lines, last, len(lines), TARGET)
    outside = [span for ranges in around for span in to_spans(lines, ranges, TARGET)]
    if parsed.parser != "tree-sitter" or len(outside) + len(parsed.chunks) > MAX_CHUNKS:
        return lines_only(lines, language)
    chunks = sorted([*label(outside, Outline()), *parsed.chunks], key=lambda chunk: chunk.start_line)
    return ParsedFile(language, "tree-sitter", tuple(chunks), parsed.definitions, parsed.comments)


def _table_for(path: str, language: str) -> Table | None:
    """Returns the description of the language, or None. A `.h` file is read as C++, which includes C's declarations."""
    return TABLES.get("cpp" if language == "c" and path.endswith(".h") else language)


def _is_parsable(source: bytes) -> bool:
    """Whether the text has at most MAX_BYTES and is not noise. Parsing noise takes a hundred times as long as parsing
    code.
    """
    if len(source) > MAX_BYTES or b"\0" in source:
        return False
    controls = len(source) - len(source.translate(None, _CONTROLS))
    return controls * 100 <= len(source)


def label(spans: list[Span], found: Outline) -> tuple[Chunk, ...]:
    """Returns the spans as chunks, each with its kind, the names of the definitions that start in it, and the names
    around it.
    """
    definitions = sorted(found.definitions, key=lambda item: (item.start_line, -item.end_line))
    starts = [item.start_line for item in definitions]
    scopes = sorted(found.scopes, key=lambda scope: (scope.start, -scope.end))
    chunks = []
    open_scopes: list[tuple[int, str]] = []
    at = 0
    for span in spans:
        while at < len(scopes) and scopes[at].start < span.start:
            open_scopes.append((scopes[at].end, scopes[at].name))
            at += 1
        open_scopes = [scope for scope in open_scopes if scope[0] >= span.start]
        first, after = bisect_right(starts, span.start - 1), bisect_right(starts, span.end)
        inside = definitions[first:after]
        around = [name for end, name in open_scopes if end >= span.end]
        names = tuple(dict.fromkeys(item.name for item in inside))
        kind = _kind_of(inside) if inside else _kind_around(definitions, first, span)
        chunks.append(Chunk(span.start, span.end, span.text, kind, names, tuple(around)))
    return tuple(chunks)


def _kind_of(inside: list[Definition]) -> str:
    """Returns the kind of the outermost of these definitions; `code` if their kinds differ."""
    depth = min(item.depth for item in inside)
    kinds = {item.kind for item in inside if item.depth == depth}
    return kinds.pop() if len(kinds) == 1 else "code"


def _kind_around(definitions: list[Definition], count: int, span: Span) -> str:
    """Returns the kind of the last of the first `count` definitions that the span is a part of; `code` if there is
    none."""
    for at in range(count - 1, -1, -1):
        if definitions[at].end_line >= span.end:
            return definitions[at].kind
    return "code"
