"""In the package, no two classes have the same name, public names are used, and private names are used in their own
module only."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TypeGuard

from tests.sources import PACKAGE, ROOT, modules, text_of, tree_of

FOR_TESTS = {"worker_pid", "live_update"}
"""Public names that only tests use, for a reason: tests kill and stop the vector store's process, and wait for live
update."""
OURS = {"sidecar", "scripts", "tests"}
PRIVATE = re.compile("_(?!_)")
PLAIN = {"property", "cached_property", "staticmethod", "classmethod", "cache", "contextmanager"}
"""Decorators that pass a function to no library. Others, such as a validator's, pass it to a library that calls it."""


def public_classes(tree: ast.AST) -> Iterator[str]:
    """The classes that this syntax tree defines, nested ones included, whose names do not begin with `_`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def shared_names(modules: Mapping[str, ast.AST]) -> dict[str, list[str]]:
    """The class names that are defined more than once, each with the modules that define it."""
    places: dict[str, list[str]] = defaultdict(list)
    for module, tree in sorted(modules.items()):
        for name in public_classes(tree):
            places[name].append(module)
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def is_python(path: Path) -> bool:
    if path.suffix:
        return path.suffix == ".py"
    return path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env python3")


def unused(package: Iterable[ast.AST], users: Iterable[ast.AST]) -> Iterator[str]:
    """The public functions and methods of `package` that no syntax tree in `users` names.

    A method must be named as an attribute, or in a string. Classes with a base of another library may override its
    methods, so theirs are not judged.
    """
    package = list(package)
    named, attributes = uses(chain.from_iterable(map(ast.walk, users)))
    classes = [node for tree in package for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    ours = {node.name for node in classes} | {"Protocol", "NamedTuple", "Enum", "StrEnum", "IntEnum", "Exception"}
    for tree in package:
        for node in ast.iter_child_nodes(tree):
            if is_judged(node) and node.name not in named | attributes:
                yield node.name
    for owner in classes:
        if all(isinstance(base, ast.Name) and base.id in ours for base in owner.bases):
            yield from (node.name for node in owner.body if is_judged(node) and node.name not in attributes)


def uses(nodes: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that are read, and those that are attributes or strings."""
    named, attributes = set(), set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            named.add(node.id)
        elif isinstance(node, ast.Attribute):
            attributes.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            attributes.add(node.value)
    return named, attributes


def is_judged(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    """Returns whether the node is a public function that can be reached only by its name."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
        return False
    return all(ast.unparse(decorator).rpartition(".")[2] in PLAIN for decorator in node.decorator_list)


def test_no_two_public_classes_have_one_name() -> None:
    trees = {str(path.relative_to(PACKAGE)): tree_of(path) for path in modules()}
    assert shared_names(trees) == {}


def test_the_check_sees_a_protocol_and_its_implementation_with_one_name() -> None:
    port = ast.parse("class Walker(Protocol): ...\nclass _Held: ...")
    part = ast.parse("class Walker:\n    class Step: ...\nclass _Held: ...")
    other = ast.parse("class Step: ...")
    assert shared_names({"port": port, "part": part}) == {"Walker": ["part", "port"]}
    assert shared_names({"part": part, "other": other}) == {"Step": ["other", "part"]}


def test_what_is_public_is_used_by_the_package_or_a_script_and_not_by_tests_alone() -> None:
    package = [tree_of(path) for path in modules()]
    scripts = [tree_of(path) for path in (ROOT / "scripts").rglob("*") if is_python(path)]
    assert set(unused(package, [*package, *scripts])) - FOR_TESTS == set()


def private_imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The private names, and names out of private modules of ours, that these nodes of a syntax tree import."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in OURS:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names = {alias.name for alias in node.names if alias.name.partition(".")[0] in OURS}
        else:
            continue
        yield from (name for name in sorted(names) if any(PRIVATE.match(part) for part in name.split(".")))


_IMPORT = re.compile(r"^[ \t]*((?:from[ \t]+[\w.]+[ \t]+)?import[ \t](?:[ \t]*\([^)]*\)|[^\n]*))", re.MULTILINE)


def imports_of(text: str) -> Iterator[ast.stmt]:
    """The import statements in this text of a program, and those in programs that it quotes.

    Only they are parsed: parsing every test whole takes seconds.
    """
    for statement in _IMPORT.findall(text):
        if any(ours in statement for ours in OURS):
            yield from ast.parse(statement).body


def test_tests_and_scripts_import_public_names_only() -> None:
    """Ruff checks that they use no private attributes either (SLF001)."""
    found = {
        path.relative_to(ROOT).as_posix(): list(private_imports(imports_of(text_of(path))))
        for folder in ("tests", "scripts")
        for path in sorted((ROOT / folder).rglob("*"))
        if is_python(path) and not {"node_modules", "repository"} & set(path.parts)
    }
    assert {"tests/test_names.py", "scripts/bench/bench-query"} <= set(found)
    assert {path: names for path, names in found.items() if names} == {}


def test_the_check_sees_a_private_name_and_a_name_of_a_private_module() -> None:
    tree = ast.parse("from sidecar.a import _B, c\nfrom sidecar._d import E\nimport sidecar._f\nfrom os import _exit")
    assert list(private_imports(ast.walk(tree))) == ["sidecar.a._B", "sidecar._d.E", "sidecar._f"]
    assert list(private_imports(ast.walk(ast.parse("from sidecar import __version__")))) == []


def test_the_check_finds_imports_wherever_they_stand() -> None:
    text = (
        "import os, sidecar._a\nfrom sidecar.b import (\n    _C,  # why\n    d,\n)\nif X:\n    from tests.e import _f\n"
        "def g():\n    import scripts._h as h\n"
    )
    assert list(private_imports(imports_of(text))) == list(private_imports(ast.walk(ast.parse(text))))
    assert len(list(private_imports(imports_of(text)))) == 4


def test_the_check_sees_a_function_and_a_method_that_nothing_uses() -> None:
    module = ast.parse(
        "def called(): ...\n"
        "def dead(): ...\n"
        "class Ours:\n    def asked(self): dead = 1\n    def dead_too(self): ...\n"
        "    @property\n    def old(self): ...\n"
        "class Of(Ours):\n    def late(self): ...\n"
        "class Theirs(library.Base):\n    def hook(self): ...\n"
        "called(Ours().asked)\ngetattr(Of, 'late')\n"
    )
    assert list(unused([module], [module])) == ["dead", "dead_too", "old"]
