"""Cuts a file along its syntax tree: splits nodes that are too long into their children, then merges small neighbours.

Works on line ranges: a range begins where a node begins a line. The walk keeps a stack of its own, so a deep tree
cannot exhaust Python's. A comment, decorator or attribute stays with the node that follows it, even across one blank
line. Splitting along the tree and merging siblings is the method of Zhang et al., "cAST: Enhancing Code
Retrieval-Augmented Generation with Structural Chunking via Abstract Syntax Tree" (2025).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from .lines import TINY, Lines, windows
from .syntax import Node


@dataclass(slots=True)
class _Piece:
    """Lines that belong together. `group` numbers the split that made the piece, `parent` is the group of the piece
    that was split, and `is_head` marks its first part.
    """

    start: int
    end: int
    group: int
    parent: int
    is_head: bool


class _Child(NamedTuple):
    """A node and its place, read from the tree once: the 1-based lines on which it starts and ends, and how many line
    ends it has. A node that ends with its newline ends on the line before."""

    node: Node
    first: int
    last: int
    rows: int


def split_tree(
    root: Node, lines: Lines, target: int, attached: Collection[str], kept: Collection[str]
) -> list[tuple[int, int]]:
    """Returns consecutive line ranges (1-based, inclusive) that cover the text. Each has at most `target` characters or
    is one line.

    Nodes of the types in `attached` belong to the node that follows them. Nodes of the types in `kept` (definitions)
    are split at a level of their own and not together with their siblings.
    """
    pieces: list[_Piece] = []
    groups = 0
    stack: list[tuple[_Piece, list[Node]]] = [(_Piece(1, len(lines), 0, -1, False), [root])]
    while stack:
        piece, nodes = stack.pop()
        if lines.size(piece.start, piece.end) <= target or piece.start == piece.end:
            pieces.append(piece)
            continue
        groups += 1
        parts = _parts(piece, nodes, attached, kept, groups)
        if parts:
            stack.extend(reversed(parts))
        else:
            pieces.extend(_windows(piece, lines, target, groups))
    return _merge(pieces, lines, target)


def _windows(piece: _Piece, lines: Lines, target: int, group: int) -> list[_Piece]:
    """Cuts a piece into windows of lines, because the tree offers no cuts."""
    ranges = windows(lines, piece.start, piece.end, target)
    return [_Piece(start, end, group, piece.group, at == 0) for at, (start, end) in enumerate(ranges)]


def _parts(
    piece: _Piece, nodes: list[Node], attached: Collection[str], kept: Collection[str], group: int
) -> list[tuple[_Piece, list[Node]]]:
    """Cuts the piece before the children that begin a line in it, and returns each part with its nodes. Empty if the
    tree offers no cut.
    """
    while nodes:
        children = _unwrap(_children_of(nodes), piece, kept)
        cuts = _cuts(piece, children, attached)
        if len(cuts) == 1 and nodes[0].type in attached:  # a comment above one long definition stays with its head
            children = _unwrap(children, piece, ())
            cuts = _cuts(piece, children, attached)
        if cuts:
            return _between(piece, children, cuts, group)
        nodes = [child.node for child in children if child.rows]
    return []


def _children_of(nodes: Iterable[Node]) -> list[_Child]:
    return [_placed(child) for node in nodes for child in node.children]


def _placed(node: Node) -> _Child:
    start, (row, column) = node.start_point.row, node.end_point
    last = row if column == 0 and row > start else row + 1
    return _Child(node, start + 1, last, row - start)


def _unwrap(children: list[_Child], piece: _Piece, kept: Collection[str]) -> list[_Child]:
    """Replaces a child that fills more than half of the piece and is no definition, such as a function's body, by its
    children. Repeats this with those children.
    """
    half = (piece.end - piece.start) / 2
    at = 0
    while at < len(children):
        child = children[at]
        if child.rows > half and child.node.type not in kept and child.node.child_count > 1:
            children = [*children[:at], *_children_of([child.node]), *children[at + 1 :]]
        else:
            at += 1
    return children


def _cuts(piece: _Piece, children: list[_Child], attached: Collection[str]) -> list[int]:
    """Returns the lines before which the piece can be cut. A child offers a cut if it begins a line that no earlier
    child covers; the cut then goes before the comments and attributes that belong to the child.
    """
    cuts: list[int] = []
    covered, attached_from, attached_to = piece.start, 0, 0
    for node, line, end, _ in children:
        if line > covered:
            begins = attached_from if attached_from and line <= attached_to + 2 else line
            if not cuts or begins > cuts[-1]:
                cuts.append(begins)
            holds = node.type in attached
            attached_from, attached_to = (begins, end) if holds else (0, 0)
        elif line == piece.start and not cuts and node.type in attached:
            attached_from, attached_to = piece.start, end
        elif end > covered:
            attached_from = attached_from if node.type in attached else 0
            attached_to = end if attached_from else 0
        covered = max(covered, end)
    return [cut for cut in cuts if piece.start < cut <= piece.end]


def _between(piece: _Piece, children: list[_Child], cuts: list[int], group: int) -> list[tuple[_Piece, list[Node]]]:
    """Returns the parts between the cuts, each with the nodes of several lines that begin in it."""
    bounds = [piece.start, *cuts, piece.end + 1]
    parts: list[tuple[_Piece, list[Node]]] = []
    at = 0
    for number, (start, after) in enumerate(pairwise(bounds)):
        wide = []
        while at < len(children) and children[at].first < after:
            if children[at].rows:
                wide.append(children[at].node)
            at += 1
        parts.append((_Piece(start, after - 1, group, piece.group, number == 0), wide))
    return parts


def _merge(pieces: list[_Piece], lines: Lines, target: int) -> list[tuple[int, int]]:
    """Merges neighbours that belong together, as long as the result has at most `target` characters."""
    merged: list[_Piece] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if last and lines.size(last.start, piece.end) <= target and _belong(last, piece, lines):
            is_head = piece.is_head and last.is_head
            merged[-1] = _Piece(last.start, piece.end, piece.group, piece.parent, is_head)
        else:
            merged.append(piece)
    return [(piece.start, piece.end) for piece in merged]


def _belong(last: _Piece, piece: _Piece, lines: Lines) -> bool:
    """Whether two neighbours may be merged: siblings, a head with the first part of what it heads, or a tiny piece with
    its neighbour. A tiny head is only merged with what follows it.
    """
    if last.group == piece.group or (last.is_head and piece.is_head and piece.parent == last.group):
        return True
    if lines.size(last.start, last.end) <= TINY:
        return True
    return not piece.is_head and lines.size(piece.start, piece.end) <= TINY
