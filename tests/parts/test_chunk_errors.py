"""The share of a text that a grammar did not understand is that of all its ERROR nodes, wherever they are."""

import random

import pytest

from sidecar.parts.chunk.definitions import query_for
from sidecar.parts.chunk.syntax import Grammar, Node, load_grammar
from sidecar.parts.chunk.tables import TABLES

PIECES = ("{", "}", "(", ")", ";", "int x = 1;", "@@", "f(a, b)", "if (x)", "'", '"', "#define A", "\n", "[1, 2,", "??")


def every_node(root: Node) -> list[Node]:
    found = [root]
    for node in found:
        found += node.children
    return found


def share_by_every_node(root: Node) -> float:
    errors = [node for node in every_node(root) if node.is_error]
    lost = sum(node.end_byte - node.start_byte for node in errors)
    lost -= sum(child.end_byte - child.start_byte for node in errors for child in node.named_children)
    return max(0, lost) / root.end_byte if root.end_byte else 0.0


@pytest.mark.parametrize("language", ["c", "cpp", "json", "css", "javascript"])
def test_the_share_of_errors_is_that_of_all_error_nodes(language: str) -> None:
    table = TABLES[language]
    grammar = load_grammar(table.module, table.function, query_for(table), table.query)
    assert isinstance(grammar, Grammar)
    chance = random.Random(language)
    shares = []
    for _ in range(60):
        root = grammar.parse(" ".join(chance.choices(PIECES, k=25)).encode())
        shares.append(grammar.error_share(root))
        assert shares[-1] == share_by_every_node(root)
    assert len(set(shares)) > 10
