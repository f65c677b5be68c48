"""Files that are made to harm their parser: every pattern in every language, with the same bytes on every run.

Lines are short unless their length is the harm, because files with very long lines count as minified and are not parsed
at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sidecar.parts.classify import MAX_ATTRIBUTE_LINES
from sidecar.parts.pattern_index import MAX_PATTERNS

SIZE = 99_000
"""Bytes of a file: just below the size that was once considered harmless enough for the shared process."""
_WIDTH = 80
"""The approximate number of characters in a line."""

Pattern: TypeAlias = Callable[[int], bytes]

LANGUAGES: dict[str, str] = {
    name: extension
    for name, extension in (
        pair.split(":")
        for pair in (
            "asciidoc:adoc bash:sh c:c header:h cpp:cpp csharp:cs css:css dart:dart dockerfile:dockerfile elixir:ex"
            " go:go groovy:groovy haskell:hs hcl:tf html:html java:java javascript:js jsx:jsx json:json julia:jl"
            " kotlin:kt lua:lua make:mk markdown:md mdx:mdx nix:nix notebook:ipynb objectivec:m ocaml:ml"
            " interface:mli perl:pl php:php powershell:ps1 python:py stub:pyi rst:rst ruby:rb rust:rs scala:scala"
            " scss:scss solidity:sol svelte:svelte swift:swift text:txt toml:toml tsx:tsx"
            " typescript:ts vue:vue yaml:yaml zig:zig xml:xml sql:sql ini:ini clojure:clj latex:tex"
        ).split()
    )
}
"""File extensions by name: every language that has a grammar, documents, and some languages without a grammar."""


@dataclass(frozen=True)
class HostileFile:
    language: str
    pattern: str
    name: str
    content: bytes


def hostile_files(
    size: int = SIZE, languages: tuple[str, ...] = (), patterns: tuple[str, ...] = ()
) -> Iterator[HostileFile]:
    """Yields every pattern in every language, or in the given ones. Raises KeyError for an unknown name."""
    for language in languages or LANGUAGES:
        for pattern in patterns or PATTERNS:
            name = f"{pattern}.{LANGUAGES[language]}"
            yield HostileFile(language, pattern, name, PATTERNS[pattern](size))


RULES_FILES = (".gitignore", ".sidecarignore", ".gitattributes")
RULES = (
    *("secret-{}.txt", "/dir{}/x", "*.x{}", "pre{}*", "d/*.x{}", "**/x{}/*", "a{}*b", "*w{}v*", "x{}/**", "[a-f]x{}"),
    *("!{}.py", "?{}?", "module_{}.p", "src/part1/module_{}.pyx", "**/part{}*/**"),
)
"""Lines, each with a different number."""
FAR_TOO_MANY = 100_000


def hostile_rules() -> Iterator[HostileFile]:
    """Yields files with as many rules as are applied, and with far more; `language` is the file name that makes it a
    file of rules."""
    for name in RULES_FILES:
        of_attributes = name == ".gitattributes"
        end = " linguist-generated\n" if of_attributes else "\n"
        for lines in (MAX_ATTRIBUTE_LINES if of_attributes else MAX_PATTERNS, FAR_TOO_MANY):
            for rule in RULES:
                text = "".join(rule.format(number) + end for number in range(lines))
                yield HostileFile(name, rule, f"{lines:,} times {rule}", text.encode())


def _filled(unit: str, size: int, end: str = "\n") -> bytes:
    """Repeats the unit on lines of about `_WIDTH` characters."""
    line = unit * max(1, _WIDTH // len(unit)) + end
    made = line.encode("utf-8", "surrogatepass")
    return (made * (size // len(made) + 1))[:size]


def _repeated(unit: str) -> Pattern:
    return lambda size: _filled(unit, size)


def _lines(unit: str) -> Pattern:
    """Repeats the unit, with no newlines but its own."""
    return lambda size: _filled(unit, size, "")


def _closed(opening: str, closing: str) -> Pattern:
    return lambda size: _filled(opening, size // 2) + _filled(closing, size // 2)


def _begun(start: str, unit: str) -> Pattern:
    """Something that never ends: a string, a comment, a document within the document."""
    return lambda size: start.encode() + _filled(unit, size - len(start))


def _indented(line: str, step: str = " ") -> Pattern:
    """Indents each line one step more than the line before."""

    def make(size: int) -> bytes:
        lines: list[str] = []
        left = size
        while left > 0:
            lines.append(f"{step * len(lines)}{line}\n")
            left -= len(lines[-1])
        return "".join(lines).encode()[:size]

    return make


def _nested_keys(size: int) -> bytes:
    """Repeats 300 levels of keys."""
    levels = "".join(f"{' ' * depth}k{depth}:\n" for depth in range(300)).encode()
    return (levels * (size // len(levels) + 1))[: max(size, len(levels))]


def _one_line(unit: str) -> Pattern:
    return lambda size: (unit.encode() * (size // len(unit) + 1))[:size] + b"\n"


def _notebook(cell: str) -> Pattern:
    """A notebook of format 4 with one cell of code; `cell` fills it."""

    def make(size: int) -> bytes:
        start, end = '{"cells": [{"cell_type": "code", "source": [', '"\\n"]}], "metadata": {}, "nbformat": 4}\n'
        line = f'"{cell * (_WIDTH // len(cell))}\\n",\n'
        return (start + line * ((size - len(start) - len(end)) // len(line)) + end).encode()

    return make


PATTERNS: dict[str, Pattern] = {
    "parens": _repeated("("),
    "brackets": _repeated("["),
    "braces": _repeated("{"),
    "mixed": _repeated("({["),
    "nested-parens": _closed("(", ")"),
    "nested-brackets": _closed("[", "]"),
    "nested-braces": _closed("{", "}"),
    "nested-keys": _nested_keys,
    "flow-keys": _repeated("{a: "),
    "json": _repeated('{"a":['),
    "less": _repeated("a<"),
    "generics": _repeated("a<b,"),
    "backslash-newline": _lines("\\\n"),
    "backslashes": _repeated("\\"),
    "open-string": _begun('x = "', "word "),
    "open-comment": _begun("/* (* <!-- {- #| \n", "word "),
    "quotes": _repeated('"'),
    "mixed-quotes": _repeated("'\"`"),
    "heredocs": _lines("<<A\n"),
    "long-names": lambda size: _filled("a" * 900, size),
    "long-line": _one_line("word "),
    "long-word": _one_line("a"),
    "tiny-tokens": _repeated("a;b,"),
    "unary": _repeated("!-~"),
    "not": _repeated("not "),
    "ternary": _repeated("a?b:"),
    "binary": _repeated("a+b*"),
    "arrows": _repeated("x=>"),
    "thin-arrows": _repeated("x->"),
    "assignments": _repeated("a=b="),
    "members": _repeated("a.b."),
    "calls": _repeated("f("),
    "templates": _repeated("`${"),
    "interpolations": _repeated('"#{"${'),
    "tags": _repeated("<div>"),
    "nested-tags": _closed("<b>", "</b>"),
    "attributes": _repeated("<a b=c "),
    "scripts": _lines("<script>\n"),
    "quoted-lines": _repeated(">"),
    "lists": _indented("- a", "  "),
    "emphasis": _repeated("*a_"),
    "links": _repeated("![["),
    "fences": _lines("```\n~~~\n"),
    "headings": _indented("a", "#"),
    "underlines": _lines("a\n=\nb\n-\n"),
    "conditions": _indented("if a:"),
    "else-if": _repeated("if(a){}else "),
    "classes": _repeated("class A{"),
    "functions": _repeated("function f(){"),
    "definitions": _indented("def f(a):"),
    "many-functions": _lines("function f(){}\n"),
    "decorators": _lines("@a\n"),
    "preprocessor": _lines("#if 1\n"),
    "casts": _repeated("(a)("),
    "pointers": _repeated("*(a)"),
    "scopes": _repeated("a::b<"),
    "strings": _repeated('"a"+'),
    "numbers": _repeated("0x1,"),
    "semicolons": _repeated(";"),
    "tabs": _lines("\t\ta\n"),
    "blank-lines": _lines("\n"),
    "carriage-returns": _lines("a\r"),
    "secrets": _repeated("password = token: "),
    "keys": _lines("-----BEGIN RSA PRIVATE KEY-----\n\n"),
    "signed-tokens": _lines("eyJaaaaaaaaaa.eyJ" + "a" * 40 + "\n"),
    "logins": _repeated("://a:bbbbbbbbbbbb"),
    "generated": _repeated("// code generated "),
    "controls": _repeated("\x01\x02\x1b"),
    "few-controls": _repeated("a" * 75 + "\x01"),
    "nul": lambda size: b"a = 1\n" * 2000 + b"\0" * (size - 12_000),
    "not-utf8": lambda size: (b"a = '\xff\xfe\xc3'\n" * (size // 12 + 1))[:size],
    "surrogates": _repeated("\ud800a"),
    "combining": _repeated("a\u0301\u0302\u0303"),
    "right-to-left": _repeated("\u202e\u05d0\u0661"),
    "unspaced": _repeated("\u6f22\u5b57"),
    "emoji": _repeated("\U0001f469\u200d\U0001f4bb"),
    "notebook-less": _notebook("a<"),
    "notebook-json": _notebook('{\\"a\\":['),
    "notebook-parens": _notebook("(("),
}
