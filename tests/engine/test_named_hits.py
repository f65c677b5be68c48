"""Which definition a hit is about, over a small real index."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.search_index import SmallIndex, small_index

LONG = "\n".join(f"    step_{n} = prepare(step_{n - 1}, {n})" for n in range(1, 160))
RUBY = "module Persistence\n  class Relation\n" + "".join(
    f"    def {name}(scope)\n      {body}\n    end\n\n"
    for name, body in [
        ("load", "records.to_a"),
        ("merge", "scope.merge(self)"),
        ("reconcile", "scope.ledgers.each(&:balance_pelican_accounts)"),
        ("reset", "records.clear"),
    ]
)
FILES = {
    "long.py": f"def plan(step_0):\n{LONG}\n    weigh_albatross_feathers(step_159)\n{LONG}\n    return step_159\n",
    "relation.rb": f"{RUBY}  end\nend\n",
    "notes.py": "import os\n\n\n# Cormorants are counted twice.\ndef count(birds):\n    return 2 * len(birds)\n",
    "settings.py": "import os\n\nprint('kittiwakes', os.name)\n",
    "guide.md": "# Birds\n\nText.\n\n## Guillemots\n\nGuillemots nest on cliffs.\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    with small_index(tmp_path_factory.mktemp("index"), FILES) as index:
        yield index


def about(index: SmallIndex, query: str, collection: str = "code") -> tuple[str, str, str] | None:
    hit = index.search(query, collection=collection, explain=True).hits[0]
    found = hit.definition
    return None if found is None else (found.kind, found.container, found.name)


def test_a_hit_in_the_middle_of_a_long_function_is_about_that_function(index: SmallIndex) -> None:
    hit = index.search("weigh albatross feathers", explain=True).hits[0]
    assert "plan" not in hit.names
    assert about(index, "weigh albatross feathers") == ("function", "", "plan")


def test_a_hit_with_many_definitions_is_about_the_one_around_its_best_line(index: SmallIndex) -> None:
    assert about(index, "balance pelican accounts") == ("method", "Persistence.Relation", "reconcile")


def test_a_comment_is_about_the_definition_below_it(index: SmallIndex) -> None:
    assert about(index, "cormorants counted twice") == ("function", "", "count")


def test_a_passage_of_a_document_is_about_its_section(index: SmallIndex) -> None:
    assert about(index, "guillemots cliffs", "docs") == ("section", "Birds", "Guillemots")


def test_a_hit_outside_of_all_definitions_is_about_none(index: SmallIndex) -> None:
    assert about(index, "kittiwakes") is None


def test_only_an_explained_search_looks_definitions_up(index: SmallIndex) -> None:
    assert index.search("cormorants").hits[0].definition is None
