"""How a language is described: its grammar and what its node types mean. `tables` and `tables_more` hold the facts.

A rule is written `node type: "kind option..."`. Kinds are those of `model.Definition` and some of our own:
- `scope` lends its name to what it holds but is no definition (a Rust impl block);
- `bind` is what its value is (`const f = () => {}` is a function); `declare` and `member` are C's declarations.

Options:
- `name=PATH` where the name stands, `value=PATH` where a bind's value does. A path is made of fields and `~types`
  (the first child of that type) joined by dots; `|` tries another. Default: field `name`, else the first identifier;
- `name=declarator` as in C, `name=keyword` the word itself, `name=label` the last string before the body;
- `global` not inside a function, `body` only with a body, `callable` only a function or class, `member` a method or
  field, `upper` only a capitalised name, `plain` only a name by itself, `extension` a scope where it extends a type.
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
    """One language. `visibility` names a rule of `definitions`; `lambdas` open a function scope without a name;
    `attached` nodes belong to what follows them; `query` captures more; `clauses`: neighbours of one name are one."""

    module: str
    rules: Mapping[str, str]
    function: str = "language"
    visibility: str = "underscore"
    comments: tuple[str, ...] = _COMMENTS
    attached: tuple[str, ...] = ()
    lambdas: tuple[str, ...] = ()
    query: str = ""
    clauses: bool = False
