"""No regular expression of sidecar backtracks: whatever text somebody writes, the steps grow with its length.

Where they grow with its square, the text has a bound, which is named here.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sidecar.parts.globs import wildmatch
from sidecar.parts.ignore import regex_of
from tests.backtracking import Counting, growth, misleading
from tests.sources import PACKAGE, modules, nodes_of, text_of

AFFORDABLE = 10_000_000
"""So many steps take `re` about a tenth of a second."""
LIMITED = {
    "engine/search/long_text.py: _FRAMES": 1000,
    "parts/chunk/prose.py: _MARKUP": 1000,
    "parts/pattern_index.py: _NOT_LITERAL": 4096,
    "parts/secrets/rules.py: _NAME_END": 40,
}
"""How many characters the longest text has, for expressions whose steps grow with its square."""
METHODS = {"match", "fullmatch", "search", "findall", "finditer", "split", "sub", "subn"}
AT_ONE_PLACE = {"match", "fullmatch"}


def _private(module: str, name: str) -> Any:
    return vars(importlib.import_module(f"sidecar.{module}"))[name]


def _compiled(patterns: Iterable[re.Pattern[str]], how: str) -> list[tuple[str, int, str]]:
    return [(pattern.pattern, pattern.flags, how) for pattern in patterns]


HARD = (
    *("*a*a*a*b", "a?*a?*a?*b", "[a-z]*[!b]*[a-z]c", "x*[!b]*[!b]*[!]b]*[!b]c[!c]", r"a*\[*\[*[!c]*[]b]*c", "a**a**b"),
    *("**/a/**/a/**/b", "*/*/*/b", "**/*a*/**/*b*"),
)
"""Globs with many ways to match a path that they do not match."""
MADE: dict[str, Callable[[], list[tuple[str, int, str]]]] = {
    "engine/search/intents.py: _kind": lambda: _compiled(_private("engine.search.intents", "_ASKS_FOR")[2], "match"),
    "engine/search/long_text.py: _FRAMES": lambda: _compiled(
        _private("engine.search.long_text", "_FRAMES"), "finditer"
    ),
    "engine/search/messages.py: _finder": lambda: _compiled(
        [_private("engine.search.messages", "_finder")(("a", "aa", "a_a", "b.c"))], "finditer"
    ),
    "engine/search/typos.py: corrected": lambda: [(r"(?<!\w)aaa(?!\w)", 0, "finditer")],
    "parts/globs.py: compile_glob": lambda: [
        (str(wildmatch(glob)), re.DOTALL, "fullmatch") for glob in (*HARD, "**a*b", "a/**b/**/c/*[!a]?*d")
    ],
    "parts/lexical/highlight.py: find_words": lambda: [(r"a\W+b\W+a", 0, "finditer")],
    "parts/lexical/tokens.py: _word_with_marks": lambda: _compiled(
        [_private("parts.lexical.tokens", "_word_with_marks")()], "finditer"
    ),
    "parts/pattern_index.py: _matches": lambda: [(regex_of(line), re.DOTALL, "match") for line in HARD],
    "parts/secrets/rules.py: _published": lambda: _compiled(
        [rule.paths for rule in _private("parts.secrets.rules", "_published")() if rule.paths is not None], "finditer"
    ),
    "tools/code_lookup.py: _word": lambda: [(r"(?<!\w)aaa(?!\w)", 0, "finditer")],
}
"""Examples of the expressions that functions make of their arguments, by function."""


class Expression(NamedTuple):
    """An expression and the method by which it is used: `match`, `fullmatch` or `finditer`, which stands for all that
    begin at every place of a text."""

    where: str
    pattern: str | bytes
    flags: int
    how: str


def expressions() -> Iterator[Expression]:
    """Yields all expressions of the package, and examples of those that functions make of their arguments."""
    for one in written():
        if one.how != "made":
            yield one
        else:
            yield from (Expression(one.where, *made) for made in MADE.get(one.where, list)())


def written() -> Iterator[Expression]:
    """Yields all expressions that are written in the package. What a function makes of its arguments has an empty
    pattern and is `made`."""
    for path in modules():
        where = path.relative_to(PACKAGE).as_posix()
        if "import re\n" in text_of(path):
            yield from _of_module(where, path)


def _of_module(where: str, path: Path) -> Iterator[Expression]:
    module = importlib.import_module(".".join(("sidecar", *path.relative_to(PACKAGE).with_suffix("").parts)))
    parents = {child: node for node in nodes_of(path) for child in ast.iter_child_nodes(node)}
    for node in nodes_of(path):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if ast.unparse(node.func.value) != "re" or node.func.attr not in METHODS | {"compile"}:
            continue
        name = _name(node, parents)
        try:
            pattern, flags = _value(node.args[0], module), _value(_flags(node), module)
        except NameError:
            yield Expression(f"{where}: {_function(node, parents)}", "", 0, "made")
            continue
        for how in _uses(name, path) if node.func.attr == "compile" else [node.func.attr]:
            yield Expression(f"{where}: {name}", pattern, int(flags), how if how in AT_ONE_PLACE else "finditer")


def _value(node: ast.expr, module: Any) -> Any:
    """Returns what an expression of constants and of names of the module is."""
    return eval(ast.unparse(node), dict(vars(module)))


def _flags(call: ast.Call) -> ast.expr:
    """Returns the flags of a call of `re`; 0 if it has none."""
    assert isinstance(call.func, ast.Attribute)
    place = {"compile": 1, "split": 3, "sub": 4, "subn": 4}.get(call.func.attr, 2)
    named = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    return next(iter([*named, *call.args[place:]]), ast.Constant(0))


def _name(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """Returns the name to which a call's result is assigned at the top of a module; else the function it is in."""
    above = parents[node]
    if (
        isinstance(above, ast.Assign)
        and isinstance(parents[above], ast.Module)
        and isinstance(above.targets[0], ast.Name)
    ):
        return above.targets[0].id
    return _function(node, parents)


def _function(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """Returns the name of the function that a node is in, or of what it is assigned to at the top of a module."""
    while True:
        above = parents[node]
        if isinstance(above, ast.Module):
            break
        node = above
        if isinstance(node, ast.FunctionDef):
            return node.name
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else type(node).__name__


@cache
def _all_uses(path: Path) -> dict[str, set[str]]:
    """Returns the methods that a module calls on each name. Other uses of a name are `finditer`, because nobody knows
    what happens to it."""
    uses: dict[str, set[str]] = {}
    called = {
        id(node.func.value): node.func.attr
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    texts = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Attribute) and node.attr == "pattern"}
    for node in nodes_of(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in texts:
            uses.setdefault(node.id, set()).add(called.get(id(node), "finditer"))
    return uses


def _uses(name: str, path: Path) -> set[str]:
    """Returns the methods by which an expression is used; other modules may use those without `_` in any way."""
    found = _all_uses(path).get(name, set()) if name.startswith("_") else set()
    return {how if how in AT_ONE_PLACE else "finditer" for how in found or {"finditer"}}


@pytest.fixture(autouse=True)
def _deep_recursion() -> Iterator[None]:
    """The matcher calls itself for each character."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize(
    ("pattern", "how", "degree"),
    [
        (".*?".join("abcde"), "finditer", 3),
        (".*?".join("aaaaaab"), "finditer", 3),
        (r"\[\s*([^\]]*?)\s*\](.*)$", "match", 3),
        (r"\s*url\s*=\s*(.*?)\s*$", "match", 2),
        (r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$", "match", 3),
        (r"(?:a+)+$", "match", math.inf),
        (r"(?:a|aa)*b", "match", math.inf),
        (r"(a*)*(b|\1)c", "match", 2),
        (r"a+b", "finditer", 2),
        (r"\s+$", "finditer", 2),
        (r'"(?:[^"\\]|\\.)*"', "finditer", 2),
        (r"(?=\w*?[A-Z])[a-z]\w*", "finditer", 2),
        (r"(?<!a)a+b", "finditer", 1),
        (r"a++b", "match", 1),
        (r"(?>a*)b", "match", 1),
        (r"(?:ab|ac)*d", "match", 1),
        (r"[ab]{0,20}c", "finditer", 1),
        (r"a*b*c*d", "match", 1),
    ],
)
def test_what_backtracks_is_noticed(pattern: str, how: str, degree: float) -> None:
    """The first five are faults that sidecar had."""
    found = growth(pattern, 0, how).degree
    assert found >= degree if degree > 1 else found == 1


def test_the_matcher_that_counts_finds_what_re_finds() -> None:
    for one in dict.fromkeys(expressions()):
        compiled: re.Pattern[Any] = re.compile(one.pattern, one.flags)
        counting = Counting(one.pattern, one.flags, often=1000)
        for begin, pump, end in islice(misleading(one.pattern, one.flags), 3):
            for text in (begin + pump * 2 + end, begin + pump * 3 + end.removesuffix("\0")):
                raw: Any = text if isinstance(one.pattern, str) else text.encode("latin-1", "replace")
                real = getattr(compiled, one.how.replace("finditer", "search"))(raw)
                assert counting.find(text, one.how)[:1] == ([real.span()] if real else []), (one, text)


def test_every_function_that_makes_expressions_has_examples() -> None:
    assert {one.where for one in written() if one.how == "made"} == set(MADE)


def test_no_expression_backtracks_in_a_text_without_a_bound() -> None:
    """`a*a*b` is such an expression. Possessive repeats (`a*+`) help, and so does a repeat that no neighbour shares a
    character with."""
    worst = {one: growth(one.pattern, one.flags, one.how) for one in dict.fromkeys(expressions())}
    limited = {one: found for one, found in worst.items() if one.where in LIMITED}
    assert {one.where: found for one, found in worst.items() if found.degree > 1 and one not in limited} == {}
    assert {one.where: found for one, found in limited.items() if found.at(LIMITED[one.where]) > AFFORDABLE} == {}
    assert {one.where for one, found in limited.items() if found.degree > 1} == set(LIMITED)
