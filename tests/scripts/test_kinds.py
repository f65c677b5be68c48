"""bench-kinds: what is kept of each question, and how rankings are judged."""

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scripts.bench.anchors import ANCHORS, fuse
from scripts.bench.seen import Answered, Asked, Seen, load, questions_key, save
from scripts.suffixless import load_script
from sidecar.engine.search.rank.features import FEATURES
from sidecar.engine.search.rank.scorer import WeightedSum

KINDS = load_script("bench/bench-kinds")


def seen(*paths: str) -> Seen:
    """Returns candidates, each of which is better by the first feature than the one before."""
    features = np.zeros((len(paths), len(FEATURES)), np.float32)
    features[:, 0] = np.arange(len(paths)) / 10
    places = [(path, 1, 9) for path in paths]
    spans = [(i, 1, 9, 1.0) for i in range(len(paths))]
    return Seen(places, features, {"bm25": places}, spans)


BY_FIRST = WeightedSum({FEATURES[0].name: 1.0})
ASKED = Asked("why is a comment read as a string", "long", ["src/lines.py"], ["tests/test_lines.py"], "why", "0ab1")


def test_what_was_seen_is_kept_until_code_or_questions_change(tmp_path: Path) -> None:
    answered = [
        Answered(ASKED, seen("a.py", "b.py"), seen("c.py")),
        Answered(replace(ASKED, title="", query="another"), seen(), None),
    ]
    file = tmp_path / "kind/app.npz"
    save(file, answered, "key")
    found = load(file, "key")
    assert found is not None
    assert [one.asked for one in found] == [one.asked for one in answered]
    assert [one.seen.places for one in found] == [[("a.py", 1, 9), ("b.py", 1, 9)], []]
    assert found[0].by_title is not None and found[0].by_title.anchors == {"bm25": [("c.py", 1, 9)]}
    assert found[1].by_title is None
    np.testing.assert_array_equal(found[0].seen.features, answered[0].seen.features)
    assert load(file, "another key") is None
    assert load(file, None) is not None
    assert load(tmp_path / "kind/other.npz", None) is None
    assert questions_key([ASKED]) != questions_key([replace(ASKED, revision="0ab2")])


def test_a_file_is_ranked_by_the_weights_and_compared_with_plain_rankings() -> None:
    found = KINDS.rankings(Answered(ASKED, seen("a.py", "b.py", "c.py"), seen("d.py")), BY_FIRST)
    assert [path for path, _, _ in found["ours"]] == ["c.py", "b.py", "a.py"]
    assert [path for path, _, _ in found["bm25"]] == ["a.py", "b.py", "c.py"]
    assert found["ours, title alone"] == [("d.py", 1, 9)]


def test_a_long_question_is_judged_by_the_weights_for_long_ones_and_its_title_is_not() -> None:
    by_length = WeightedSum(BY_FIRST.weights, long=WeightedSum({FEATURES[0].name: -1.0}))
    asked = replace(ASKED, query=ASKED.query + " and never as a comment" * 10)
    found = KINDS.rankings(Answered(asked, seen("a.py", "b.py"), seen("c.py", "d.py")), by_length)
    assert [path for path, _, _ in found["ours"]] == ["a.py", "b.py"]
    assert [path for path, _, _ in found["ours, title alone"]] == ["d.py", "c.py"]


@pytest.mark.parametrize(("tests", "rank"), [(True, 3), (False, 2)])
def test_a_test_above_the_answer_is_a_place_only_if_tests_count(tests: bool, rank: int) -> None:
    places = [("tests/test_lines.py", 1, 9), ("src/other.py", 1, 9), ("src/lines.py", 1, 9)]
    assert KINDS.first_answer(places, ["src/lines.py"], tests) == rank
    assert KINDS.first_answer(places, ["src/unknown.py"], tests) == math.inf


def test_a_second_place_of_a_file_stands_behind_better_files_and_is_no_further_file() -> None:
    spans = [(0, 1, 9, 1.0), (1, 20, 29, 1.0), (1, 40, 49, 0.9), (2, 1, 9, 1.0)]
    places = KINDS.ranked(replace(seen("a.py", "b.py", "c.py"), spans=spans), BY_FIRST)
    assert places == [("c.py", 1, 9), ("b.py", 20, 29), ("b.py", 40, 49), ("a.py", 1, 9)]
    assert KINDS.first_answer(places, ["a.py"], False) == 3


def test_fusion_puts_what_both_lists_have_first() -> None:
    scores = fuse([np.array([3, 1, 2]), np.array([1, 0])], 4)
    assert np.argsort(-scores, kind="stable").tolist() == [1, 3, 0, 2]


def test_noise_is_that_of_repositories_and_not_of_questions() -> None:
    alike = [KINDS.Scored(repository, value) for repository, value in (("a", 1.0), ("b", 0.0)) for _ in range(50)]
    mixed = [KINDS.Scored(f"{n}", float(n % 2)) for n in range(100)]
    assert KINDS.mean(alike) == KINDS.mean(mixed) == 0.5
    assert KINDS.noise(alike) == pytest.approx(0.354, abs=1e-3)
    assert KINDS.noise(mixed) == pytest.approx(0.05)


def test_long_questions_are_asked_at_the_commit_before(tmp_path: Path) -> None:
    row = {"repo": "team/app", "commit": "c", "revision": "r", "title": "fix: it", "body": "Because.",
           "question": "it\n\nBecause.", "files": ["a.py"], "tests": ["test_a.py"]}  # fmt: skip
    (tmp_path / "measure").mkdir()
    (tmp_path / "measure/team+app.jsonl").write_text(json.dumps(row) + "\n")
    (job,) = KINDS.long_jobs("long", tmp_path, "measure")
    assert (job.name, job.url) == ("app", "team/app")
    assert job.questions == [Asked("it\n\nBecause.", "long", ["a.py"], ["test_a.py"], "it", "r")]


def test_tests_are_answers_to_a_subject_of_their_own_kind() -> None:
    asked = KINDS.asked_of_commit("drop stale entries", ["src/cache.py", "tests/test_cache.py"], "r")
    assert (asked.targets, asked.tests) == (["src/cache.py"], ["tests/test_cache.py"])


def test_short_questions_are_read_from_either_kind_of_folder(tmp_path: Path) -> None:
    repo, query = {"name": "app"}, {"query": "where", "relevant": [], "secondary": []}
    judge = load_script("bench/bench-quality")
    (tmp_path / "one/annotations").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    for listed, questions in (
        ("one/repos.json", "one/annotations/app.json"),
        ("two/repositories.json", "two/app.json"),
    ):
        (tmp_path / listed).write_text(json.dumps([repo]))
        (tmp_path / questions).write_text(json.dumps([query]))
    assert list(judge.annotated(tmp_path / "one")) == list(judge.annotated(tmp_path / "two")) == [(repo, [query])]


@pytest.mark.parametrize(("lines", "value"), [((1, 50), 1.0), ((10, 20), 0.613)])
def test_no_question_is_answered_better_than_perfectly_though_one_hit_covers_two_places(
    lines: tuple[int, int], value: float
) -> None:
    judge = load_script("bench/bench-quality")
    results = [{"path": "client.go", "startLine": lines[0], "endLine": lines[1]}]
    targets = [{"path": "client.go", "start_line": first, "end_line": first + 2} for first in (12, 40)]
    assert judge.ndcg_of(results, targets) == pytest.approx(value, abs=1e-3)


def test_with_folds_a_repository_is_judged_by_weights_fitted_without_it() -> None:
    """In all repositories but one, the lower of two files is the answer. The weights for that one are learnt from the
    others, so it is judged wrong."""
    answered = {"short": {name: [short_answer(name, odd=name == "d")] * 5 for name in "abcd"}}
    options = argparse.Namespace(ranker=None, folds=4)
    combiner = KINDS.combiner_for(answered, options)
    first = {name: KINDS.ranked(answered["short"][name][0].seen, combiner("short", name))[0][0] for name in "abcd"}
    assert first == dict.fromkeys("abcd", "low.py")
    assert combiner("new", "a") is combiner("long", "b")


def short_answer(name: str, odd: bool) -> Answered:
    asked = Asked("where", "semantic", ["high.py" if odd else "low.py"], revision=name)
    return Answered(asked, seen("low.py", "high.py"), None)


def test_the_mean_over_kinds_counts_each_kind_once_however_many_questions_it_has() -> None:
    def answered(*paths: str) -> Answered:
        places = [(path, 1, 9) for path in paths]
        return Answered(replace(ASKED, title=""), replace(seen(*paths), anchors=dict.fromkeys(ANCHORS, places)), None)

    right, wrong = answered("src/other.py", "src/lines.py"), answered("src/lines.py", "src/other.py")
    kinds = {"long": {"app": [right, right, right]}, "commits": {"app": [wrong]}}
    *rows, last = KINDS.mean_row(kinds, lambda kind, name: BY_FIRST)
    assert [row.split(" | ")[:3] for row in rows] == [["| long", "3", "1.000"]]
    second = 1 / math.log2(3)
    assert last.startswith(f"| mean over 2 kinds | | {(1 + second) / 2:.3f} | | {(1 + second) / 2:.3f} |")
    assert list(KINDS.mean_row({"long": kinds["long"]}, lambda kind, name: BY_FIRST)) == []
