"""Some of the files of scripts/bench/check-hostile: whatever a file contains, it is indexed or left out for a reason,
and searches of another workspace continue."""

from __future__ import annotations

import itertools

import pytest

from tests.engine.siege import Siege, besiege
from tests.hostile import LANGUAGES, PATTERNS, hostile_files

EVERY = 107
"""Not a multiple of the number of patterns or languages, so each pattern is used with a different language."""


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Siege:
    some = itertools.islice(hostile_files(20_000), 0, None, EVERY)
    worst = hostile_files(languages=("yaml", "python", "java"), patterns=("nested-keys", "less", "backslash-newline"))
    return besiege(tmp_path_factory.mktemp("siege"), [*some, *worst], undisturbed_s=0.2)


def test_no_hostile_file_fails_or_is_lost(siege: Siege) -> None:
    assert len(siege.fates) > len(LANGUAGES) * len(PATTERNS) // EVERY
    assert [fate for fate in siege.fates if not fate.outcome or fate.outcome.startswith("failed")] == []


def test_what_ends_a_parser_is_noted_on_the_file_and_ends_nothing_else(siege: Siege) -> None:
    cut = {f"{fate.file.language}/{fate.file.name}": fate.outcome for fate in siege.fates if fate.cut}
    assert cut["yaml/nested-keys.yaml"].startswith("lines: parser crashed or ran out of memory")
    assert cut["java/less.java"].startswith("lines: parser")
    assert cut["python/backslash-newline.py"] == "lines: parser exceeded 1.0 s"
    assert siege.ended == len(cut), "each of them ended one process, once"


def test_only_grammars_are_harmed_and_never_by_what_they_can_parse(siege: Siege) -> None:
    by_grammar = [fate for fate in siege.fates if fate.outcome == "tree-sitter"]
    assert len(by_grammar) > len(siege.fates) // 3


def test_another_workspace_is_searched_all_the_while(siege: Siege) -> None:
    assert len(siege.searches) > len(siege.fates)


def test_every_language_and_pattern_makes_the_same_bytes_again() -> None:
    first = [file.content for file in hostile_files(2_000)]
    assert first == [file.content for file in hostile_files(2_000)]
    assert len(first) == len(LANGUAGES) * len(PATTERNS) >= 55 * 18
