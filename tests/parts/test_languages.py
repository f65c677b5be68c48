"""Names of languages by name of file."""

from __future__ import annotations

import pytest

from sidecar.parts.languages import LANGUAGES, is_documentation, language_of


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("A.PY", "python"),
        ("x.test.tsx", "tsx"),
        ("x.d.ts", "typescript"),
        ("x.jsx", "javascript"),
        ("x.h", "c"),
        ("x.hpp", "cpp"),
        ("Dockerfile", "dockerfile"),
        ("deploy/Dockerfile.dev", "dockerfile"),
        ("Makefile", "make"),
        ("sub/CMakeLists.txt", "cmake"),
        ("Gemfile", "ruby"),
        ("BUILD", "starlark"),
        ("a.ipynb", "notebook"),
        ("README", "text"),
        (".bashrc", "bash"),
        (".py", "text"),
        ("noextension", "text"),
        ("a.unknown", "text"),
    ],
)
def test_the_name_tells_the_language(path: str, language: str) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("#!/bin/sh", "bash"),
        ("#!/usr/bin/env python3", "python"),
        ("#! /usr/bin/python3.11 -u", "python"),
        ("#!/usr/bin/env -S FOO=1 node --x", "javascript"),
        ("#!/usr/bin/env", "text"),
        ("# no shebang", "text"),
        ("", "text"),
    ],
)
def test_a_shebang_tells_where_the_name_does_not(line: str, language: str) -> None:
    assert language_of("bin/tool", line) == language
    assert language_of("tool.rb", line) == "ruby"


def test_more_than_sixty_languages_in_lower_case() -> None:
    assert len(LANGUAGES) > 60
    assert all(name == name.lower() and name.isalnum() for name in LANGUAGES)


def test_documents_match_a_pattern_in_any_case_unless_their_name_is_code() -> None:
    patterns = ("**/*.md", "**/*.txt")
    assert is_documentation("README.MD", patterns)
    assert is_documentation("a/notes.txt", patterns)
    assert not is_documentation("CMakeLists.txt", patterns)
    assert not is_documentation("a.py", patterns)
    assert not is_documentation("a.md", ())
