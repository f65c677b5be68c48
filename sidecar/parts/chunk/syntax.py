"""The one file that talks to tree-sitter: grammars, trees, query captures.

Knows no language: which grammar, which node types, is `tables`. Grammars are native modules of installed wheels;
nothing is downloaded.
"""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import TypeAlias

import tree_sitter

Node: TypeAlias = tree_sitter.Node


class Grammar:
    """One loaded grammar with the query that finds what `tables` names in its trees. Immutable, thread-safe."""

    def __init__(self, language: tree_sitter.Language, query: str) -> None:
        self._language = language
        self._query = tree_sitter.Query(language, query)
        self._errors = tree_sitter.Query(language, "(ERROR) @error")

    def parse(self, source: bytes) -> Node:
        """The root of the tree. Holds the interpreter meanwhile: 50 ms for 128 kB.

        A parser of its own for every call: parsers are cheap, and not for two threads. The source is given whole:
        given by a function, piece by piece, every piece would be leaked (py-tree-sitter 0.26.1).
        """
        return tree_sitter.Parser(self._language).parse(source).root_node

    def captures(self, root: Node) -> dict[str, list[Node]]:
        """Nodes by the name that the query gives them."""
        return tree_sitter.QueryCursor(self._query).captures(root)

    def error_share(self, root: Node) -> float:
        """Share of the text (0-1) that lies in ERROR nodes but in no node that was understood inside them."""
        if not root.has_error or root.end_byte == 0:
            return 0.0
        lost = 0
        for node in tree_sitter.QueryCursor(self._errors).captures(root).get("error", []):
            lost += node.end_byte - node.start_byte
            lost -= sum(child.end_byte - child.start_byte for child in node.named_children)
        return max(0, lost) / root.end_byte


@cache
def load_grammar(module: str, function: str, captured: tuple[tuple[str, str], ...], extra: str) -> Grammar | None:
    """The grammar of an installed wheel; None where the wheel is missing or made for another tree-sitter.

    Kept once loaded: it is immutable, and compiling its query costs as much as parsing a large file.
    """
    try:
        language = tree_sitter.Language(_capsule(getattr(importlib.import_module(module), function)()))
        known = [(kind, name) for kind, name in captured if language.id_for_node_kind(kind, True) is not None]
        return Grammar(language, " ".join(f"({kind}) @{name}" for kind, name in known) + " " + extra)
    except (ImportError, AttributeError, ValueError):
        return None


def _capsule(pointer: object) -> object:
    """Older wheels give the grammar's address as an int, which tree-sitter is about to refuse."""
    if not isinstance(pointer, int):
        return pointer
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(pointer, b"tree_sitter.Language", None)
