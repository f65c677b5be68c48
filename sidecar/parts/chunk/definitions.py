"""Reads the definitions and comments of a file from its syntax tree, by the rules of `tables`.

Looks only at the nodes that the grammar's query captures. Their byte ranges show which node encloses which, so no
recursion is needed and the depth of the tree does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from sidecar.model.files import Comment, Definition

from . import naming
from .naming import DefinitionRule
from .syntax import Node
from .table import Table

MAX_COMMENT = 4_000
"""The maximum number of characters kept of one comment."""
MAX_CONTAINER = 300
_FUNCTIONS = frozenset({"function", "method", "constructor"})
_TYPES = frozenset({"class", "type"})
_OWNERS = _TYPES | {"scope"}
_CONSTRUCTORS = frozenset({"__init__", "constructor", "initialize", "init", "__construct", "new"})
_FUNCTION_VALUES = re.compile(r"^(?!builtin).*(?:function|lambda|closure|parameter$)")
_CLASS_VALUES = frozenset({"class", "class_expression", "struct_declaration", "enum_declaration", "union_declaration"})
_IMPORT = re.compile(r"(?:await\s+)?(?:require|@import|import|@cImport)\b")
_EXPORTED = re.compile(r"^[\w$'.]+|^.*")
_ELIXIR_NAME = re.compile(r"\s*([\w.]+[?!]?)")
_ELIXIR_KINDS = {
    "defmodule": "module",
    "defprotocol": "class",
    "defimpl": "scope",
    "defmacro": "macro",
    "defmacrop": "macro",
}


class Scope(NamedTuple):
    """A named range of lines: a definition, or a node that only lends its name to what it holds, such as a Rust impl
    block.
    """

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions, named scopes and comments of a file, each in the order of the file. Empty for a file without a
    tree.
    """

    definitions: tuple[Definition, ...] = ()
    scopes: tuple[Scope, ...] = ()
    comments: tuple[Comment, ...] = ()


class _Frame(NamedTuple):
    """A definition, scope or lambda that encloses the next node. `depth`, `container` and `in_function` include the
    frames around it.
    """

    end_byte: int
    kind: str
    exported: bool
    depth: int
    container: str
    in_function: bool


_TOP = _Frame(1 << 62, "", True, 0, "", False)


def query_for(table: Table) -> tuple[tuple[str, str], ...]:
    """Returns the node types to capture, as (node type, capture name)."""
    captured = [(kind, "rule") for kind in table.rules]
    captured += [(kind, "lambda") for kind in table.lambdas]
    return (*captured, *((kind, "comment") for kind in table.comments))


def outline(table: Table, captures: Mapping[str, list[Node]], source: bytes) -> Outline:
    """Returns the definitions, named scopes and comments among the captured nodes, in the order of the file.

    `captures` gives the nodes of each capture name; `source` is the file's text in UTF-8.
    """
    reader = _Reader(table, source)
    wanted = [node for name in ("rule", "lambda", "elixir", "attribute") for node in captures.get(name, [])]
    wanted.sort(key=lambda node: (node.start_byte, -node.end_byte))
    for node in wanted:
        reader.read(node)
    exported = {_EXPORTED.findall(naming.text_of(node))[0] for node in captures.get("exported", [])}
    definitions = _apply_exports(table.visibility, reader.definitions, exported)
    definitions = _hide_private(definitions, captures.get("private", []))
    comments = merge_comments([*captures.get("comment", []), *captures.get("doc", [])])
    if table.clauses:
        definitions = _merge_clauses(definitions)
    return Outline(tuple(definitions), tuple(reader.scopes), comments)


class _Reader:
    """Reads captured nodes in the order of the file and keeps a stack of the frames that enclose the next one."""

    def __init__(self, table: Table, source: bytes) -> None:
        self.definitions: list[Definition] = []
        self.scopes: list[Scope] = []
        self._table = table
        self._source = source
        self._rules = {kind: DefinitionRule.read(text) for kind, text in table.rules.items()}
        self._lambdas = frozenset(table.lambdas)
        self._stack: list[_Frame] = [_TOP]

    def read(self, node: Node) -> None:
        """Adds what the node defines, and makes it a frame if it encloses others."""
        start, kind = node.start_byte, node.type
        while self._stack[-1].end_byte <= start:
            self._stack.pop()
        if kind in self._lambdas:
            self._stack.append(self._stack[-1]._replace(end_byte=node.end_byte, kind="lambda", in_function=True))
        elif kind == "simple_symbol":
            self._define(node, "field", naming.text_of(node).lstrip(":"), opens=False)
        elif kind == "call":
            self._read_elixir(node)
        else:
            self._read_rule(node, self._rules[kind])

    def _read_rule(self, node: Node, rule: DefinitionRule) -> None:
        """Adds the definition that the rule sees in the node, if its options allow that."""
        if not self._applies(node, rule):
            return
        written = naming.full_name(node, rule)
        name = naming.last_part(written)
        kind = self._kind(node, rule) if name else ""
        if not kind or ("upper" in rule.flags and not name[:1].isupper()):
            return
        if written == "exports" or ("plain" in rule.flags and name != written):
            return
        if rule.name == "declarator" and "::" in written:
            self._define(node, kind, name, qualifier=naming.qualifier_of(written))
        else:
            self._define(node, kind, name)

    def _applies(self, node: Node, rule: DefinitionRule) -> bool:
        """Whether the rule's options `global` and `body` allow the node."""
        if "global" in rule.flags and self._stack[-1].in_function:
            return False
        return "body" not in rule.flags or node.child_by_field_name("body") is not None

    def _kind(self, node: Node, rule: DefinitionRule) -> str:
        """Returns the kind of definition that the rule sees in the node; empty if it sees none."""
        match rule.kind:
            case "bind":
                return self._bound_kind(node, rule)
            case "declare":
                return "function" if naming.declares_function(node) else ""
            case "member":
                return "method" if naming.declares_function(node) else "field"
            case kind if "extension" in rule.flags and any(child.type == "extension" for child in node.children[:4]):
                return "scope" if kind else ""
            case kind:
                return kind

    def _bound_kind(self, node: Node, rule: DefinitionRule) -> str:
        """Returns the kind of an assigned name: that of its value if this is a function or class, else `variable` or
        `field`.

        Empty for an import, for a local variable, and where a `callable` rule finds no function or class.
        """
        value = naming.follow(node, rule.value) if rule.value else _value_of(node)
        if value is not None and _FUNCTION_VALUES.search(value.type):
            return "function"
        if value is not None and value.type in _CLASS_VALUES:
            return "class"
        if "callable" in rule.flags or (value is not None and _IMPORT.match(naming.text_of(value)[:40])):
            return ""
        if self._stack[-1].in_function:
            return ""
        return "field" if "member" in rule.flags else "variable"

    def _read_elixir(self, node: Node) -> None:
        """Adds an Elixir definition, which is a call such as `def` or `defmodule`. Its target gives the kind, its first
        argument the name.
        """
        target, arguments = node.child_by_field_name("target"), naming.follow(node, "~arguments")
        first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
        if target is None or first is None:
            return
        word = naming.text_of(target)
        if first.type == "binary_operator" and naming.text_of(first)[:1] != "(":
            operator = first.child_by_field_name("operator")
            if operator is not None and naming.text_of(operator) not in ("when", "\\\\", "::"):
                self._define(node, "function", naming.text_of(operator), exported=not word.endswith("p"))
                return
        match = _ELIXIR_NAME.match(naming.text_of(first)[: naming.MAX_NAME])
        if match:
            name = match.group(1).rsplit(".", 1)[-1]
            self._define(node, _ELIXIR_KINDS.get(word, "function"), name, exported=not word.endswith("p"))

    def _define(
        self, node: Node, kind: str, name: str, *, qualifier: str = "", exported: bool | None = None, opens: bool = True
    ) -> None:
        """Adds a scope and, unless `kind` is `scope`, a definition; with `opens` it becomes the frame of the nodes
        inside it.

        `qualifier` stands before the name (`A` in `A::f`). If `exported` is None, the language's convention decides it.
        """
        around = self._stack[-1]
        body = naming.following_body(node)
        scope = Scope(naming.first_line(node), naming.last_line(body or node), name)
        self.scopes.append(scope)
        if kind == "scope":
            self._push(node, name, kind, around.exported and around is not _TOP)
            return
        kind = _refine(kind, name, "class" if qualifier else around.kind)
        if kind == "method" and name == (qualifier or around.container).rsplit(".", 1)[-1]:
            kind = "constructor"
        signature = naming.signature_of(node, self._source)
        if exported is None:
            inherited = around.exported and around.kind in _TYPES
            exported = naming.is_exported(self._table.visibility, name, node, signature, inherited)
        container = ".".join(filter(None, (around.container, qualifier)))[:MAX_CONTAINER]
        self.definitions.append(
            Definition(name, kind, scope.start, scope.end, around.depth, exported, signature or name, container)
        )
        if opens:
            self._push(node, name, kind, exported)

    def _push(self, node: Node, name: str, kind: str, exported: bool) -> None:
        """Makes the node the innermost frame."""
        around = self._stack[-1]
        container = f"{around.container}.{name}" if around.container else name
        in_function = around.in_function if kind in _TYPES else around.in_function or kind in _FUNCTIONS
        depth = around.depth + (kind != "scope")
        self._stack.append(_Frame(node.end_byte, kind, exported, depth, container[:MAX_CONTAINER], in_function))


def _value_of(node: Node) -> Node | None:
    """Returns the field `value` or `right` of the node, or None."""
    for name in ("value", "right"):
        value = node.child_by_field_name(name)
        if value is not None:
            return value
    return None


def _refine(kind: str, name: str, around: str) -> str:
    """Returns the kind of a definition by its surroundings: a function in a class is a method or constructor, a
    variable in a class is a field, and any other variable in capitals is a constant.
    """
    if kind in ("function", "method") and around in _OWNERS:
        return "constructor" if name in _CONSTRUCTORS else "method"
    if kind == "variable" and around in _OWNERS:
        return "field"
    if kind == "variable" and name.isupper() and len(name) > 1:
        return "constant"
    return kind


def _apply_exports(visibility: str, definitions: list[Definition], exported: set[str]) -> list[Definition]:
    """Marks the top-level names of an export list (`export { a }`, a Haskell module header) as exported.

    In Haskell everything is exported if there is no such list, and a definition inside another one always is.
    """
    if visibility == "haskell":
        return [replace(d, exported=not exported or d.name in exported or bool(d.container)) for d in definitions]
    if not exported:
        return definitions
    return [replace(d, exported=True) if d.depth == 0 and d.name in exported else d for d in definitions]


def _hide_private(definitions: list[Definition], marks: Iterable[Node]) -> list[Definition]:
    """Marks definitions after a bare `private` or `protected` in the same Ruby body as not exported."""
    hidden = [(naming.first_line(mark), naming.last_line(mark.parent)) for mark in marks if mark.parent is not None]
    return [
        replace(item, exported=False) if any(start < item.start_line <= end for start, end in hidden) else item
        for item in definitions
    ]


def _merge_clauses(definitions: list[Definition]) -> list[Definition]:
    """Joins neighbours with the same name, kind and container, such as a signature and its equations, or the clauses of
    a function.
    """
    merged: list[Definition] = []
    for item in definitions:
        last = merged[-1] if merged else None
        if last and _is_same(last, item):
            merged[-1] = replace(last, end_line=max(last.end_line, item.end_line))
        else:
            merged.append(item)
    return merged


def _is_same(one: Definition, other: Definition) -> bool:
    """Whether two definitions are clauses of one function: the second begins on the line after the first."""
    same = (one.name, one.kind, one.container) == (other.name, other.kind, other.container)
    return same and one.kind in _FUNCTIONS and one.end_line < other.start_line <= one.end_line + 1


def merge_comments(nodes: list[Node]) -> tuple[Comment, ...]:
    """Returns the comments in the order of the file, each cut to MAX_COMMENT characters. Comments on adjacent lines
    become one.
    """
    merged: list[tuple[int, int, str]] = []
    for node in sorted(nodes, key=lambda node: node.start_byte):
        start, end, text = naming.first_line(node), naming.last_line(node), naming.text_of(node).rstrip()
        if merged and start == merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], end, merged[-1][2] + "\n" + text)
        else:
            merged.append((start, end, text))
    return tuple(Comment(start, text[:MAX_COMMENT]) for start, _, text in merged)
