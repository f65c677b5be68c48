"""One name means one thing in the package: no two public classes share one, protocols and values included."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "sidecar"


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


def test_no_two_public_classes_have_one_name() -> None:
    modules = {str(path.relative_to(PACKAGE)): ast.parse(path.read_bytes()) for path in PACKAGE.rglob("*.py")}
    assert shared_names(modules) == {}


def test_the_check_sees_a_protocol_and_its_implementation_with_one_name() -> None:
    port = ast.parse("class Walker(Protocol): ...\nclass _Held: ...")
    part = ast.parse("class Walker:\n    class Step: ...\nclass _Held: ...")
    other = ast.parse("class Step: ...")
    assert shared_names({"port": port, "part": part}) == {"Walker": ["part", "port"]}
    assert shared_names({"part": part, "other": other}) == {"Step": ["other", "part"]}
