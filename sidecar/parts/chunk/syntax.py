"""Loads grammars, parses text and runs queries. The only module that imports tree-sitter.

It contains nothing about single languages: `tables` says which grammar a language has and what its node types mean.
Grammars are native modules of installed packages; nothing is downloaded.
"""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import TypeAlias

import tree_sitter

Node: TypeAlias = tree_sitter.Node


class Grammar:
    """A loaded grammar and the query that captures what `tables` names. Immutable and thread-safe."""

    def __init__(self, language: tree_sitter.Language, query: str) -> None:
        self._language = language
        self._query = tree_sitter.Query(language, query)

    def parse(self, source: bytes) -> Node:
        """Parses a text and returns the root of its syntax tree. Holds the interpreter lock meanwhile, about 50 ms for
        128 kB.

        Every call makes a parser of its own, because parsers are cheap and two threads must not share one. The source
        is passed as one object, because py-tree-sitter 0.26.1 leaks every piece that a read function returns.
        """
        return tree_sitter.Parser(self._language).parse(source).root_node

    def captures(self, root: Node) -> dict[str, list[Node]]:
        """Returns the captured nodes by capture name."""
        return tree_sitter.QueryCursor(self._query).captures(root)

    def error_share(self, root: Node) -> float:
        """Returns the share of the text (0 to 1) that lies in ERROR nodes, except in the nodes inside them that were
        understood.
        """
        if not root.has_error or root.end_byte == 0:
            return 0.0
        lost = 0
        # Only subtrees with errors are entered, which are a small part of most trees.
        waiting = [root]
        while waiting:
            node = waiting.pop()
            children = node.children
            if node.is_error:
                lost += node.end_byte - node.start_byte
                lost -= sum(child.end_byte - child.start_byte for child in children if child.is_named)
            waiting += [child for child in children if child.has_error or child.is_error]
        return max(0, lost) / root.end_byte


@cache
def load_grammar(module: str, function: str, captured: tuple[tuple[str, str], ...], extra: str) -> Grammar | None:
    """Returns the grammar of an installed package; None if the package is missing or was built for another version of
    tree-sitter.

    `captured` holds (node type, capture name); types that the grammar does not know are left out. `extra` is further
    query text. The result is cached: a grammar is immutable, and compiling its query costs as much as parsing a large
    file.
    """
    try:
        language = tree_sitter.Language(_capsule(getattr(importlib.import_module(module), function)()))
        known = [(kind, name) for kind, name in captured if language.id_for_node_kind(kind, True) is not None]
        return Grammar(language, " ".join(f"({kind}) @{name}" for kind, name in known) + " " + extra)
    except (ImportError, AttributeError, ValueError):
        return None


def _capsule(pointer: object) -> object:
    """Wraps the address of a grammar, which older packages give as an int, in a capsule: tree-sitter deprecates the
    int."""
    if not isinstance(pointer, int):
        return pointer
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(pointer, b"tree_sitter.Language", None)
