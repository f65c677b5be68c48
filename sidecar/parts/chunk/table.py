"""The form in which a language is described: its grammar, and what the node types of the grammar mean. `tables` and
`tables_more` have the descriptions.

A rule is written `node type: "kind option..."`. Its kind is one of `model.Definition`, or one of these:
- `scope`: not a definition, but gives its name to what it contains (a Rust impl block);
- `bind`: an assigned name, whose kind is that of its value (`const f = () => {}` is a function);
- `declare`, `member`: C's declarations. `declare` is a function or nothing, `member` a method or field of a class.

Options:
- `name=PATH`: where the name is; `value=PATH`: where the value of a `bind` is. A path joins fields, `~types` (the first
  child of that type) and `last` (the last named child) by dots; in a name, `|` separates alternatives. Without this
  option the name is the field `name`, else the first identifier;
- `name=declarator`: the name inside C's declarators; `name=keyword`: the word `init` or `constructor` itself;
  `name=label`: the last string among the children;
- `global`: only outside functions; `body`: only with a body; `callable`: only a function or class;
- `member`: a field and not a variable; `upper`: only a capitalised name; `plain`: only an unqualified name;
- `extension`: a scope if the node extends a type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_COMMENTS = (
    "comment",
    "line_comment",
    "block_comment",
    "multiline_comment",
    "doc_comment",
    "haddock",
    "documentation_comment",
)


@dataclass(frozen=True, slots=True)
class Table:
    """One language.

    - `module`, `function`: the grammar's Python module, and its function that returns the grammar;
    - `rules`: what the node types mean, in the notation above;
    - `visibility`: which convention of `naming.is_exported` says what is exported;
    - `comments`: node types of comments; `attached`: other node types that belong to what follows them;
    - `lambdas`: node types of nameless functions, whose variables are local;
    - `query`: further captures, in tree-sitter's query language;
    - `clauses`: whether neighbouring definitions of one name are one.
    """

    module: str
    rules: Mapping[str, str]
    function: str = "language"
    visibility: str = "underscore"
    comments: tuple[str, ...] = _COMMENTS
    attached: tuple[str, ...] = ()
    lambdas: tuple[str, ...] = ()
    query: str = ""
    clauses: bool = False
