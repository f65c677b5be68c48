"""Source files as text and as syntax trees. Several tests read them all; a process reads and parses each file once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sidecar"


@cache
def text_of(path: Path) -> str:
    """The whole file, which must be UTF-8."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a module. Every test of this process gets the same one, so none may change it."""
    return ast.parse(text_of(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module, as `ast.walk` yields them."""
    return tuple(ast.walk(tree_of(path)))


@cache
def modules() -> tuple[Path, ...]:
    """The modules of the package, by path."""
    return tuple(sorted(PACKAGE.rglob("*.py")))
