"""Which grammar reads a language and what its node types mean. Facts only; `definitions` and `split` act on them.

A rule is written `node type: "kind option..."`. Kinds are those of `model.Definition`, and two of our own:
`scope` lends its name to what it holds but is no definition (a Rust impl block), `bind` is what its value is
(`const f = () => {}` is a function). Options: `name=STEP.STEP` where the name stands and `value=...` where a bind's
value does (a step is a field, or `~type` for the first child of that type; default: field `name`, else the first
identifier), `name=declarator` as in C, `name=keyword` the first word itself; `global` not inside a function, `body`
only with a body, `callable` only a function or class, `member` a method or field, `upper` only a capitalised name, `plain` only a name by itself,
`extension` a scope where it extends a type made elsewhere.
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
    """One language. `visibility` names a rule of `definitions`; `lambdas` open a function scope without a name."""

    module: str
    rules: Mapping[str, str]
    function: str = "language"
    visibility: str = "underscore"
    comments: tuple[str, ...] = _COMMENTS
    attached: tuple[str, ...] = ()
    lambdas: tuple[str, ...] = ()
    query: str = ""
