"""The short questions of scripts/bench/questions: their form, the number of each kind, and their repositories."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

QUESTIONS = Path(__file__).parents[2] / "scripts/bench/questions"
KINDS = ("how", "where", "symbol", "error", "change")
# A name may be one word, and a message is as long as the program makes it.
WORDS = {"how": (6, 15), "where": (6, 15), "change": (6, 15), "symbol": (1, 6), "error": (3, 20)}


def repositories() -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads((QUESTIONS / "repositories.json").read_text("utf-8"))
    return found


NAMES = [repository["name"] for repository in repositories()]


def questions(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((QUESTIONS / f"{name}.json").read_text("utf-8"))
    return found


def excluded() -> set[str]:
    lines = (QUESTIONS / "excluded.txt").read_text("utf-8").splitlines()
    return {line.lower() for line in lines if line and not line.startswith("#")}


def is_place(target: Any) -> bool:
    """Returns whether a target has the form of the benchmark: a path, or a path with its first and last line."""
    if isinstance(target, str):
        return is_relative(target)
    if set(target) != {"path", "start_line", "end_line"}:
        return False
    return is_relative(target["path"]) and 1 <= target["start_line"] <= target["end_line"]


def is_relative(path: str) -> bool:
    return bool(path) and not path.startswith("/") and not {"", ".", ".."} & set(path.split("/"))


def test_every_repository_has_a_file_of_questions_and_every_file_a_repository() -> None:
    assert sorted(path.stem for path in QUESTIONS.glob("*.json")) == sorted([*NAMES, "repositories"])


def test_every_repository_says_where_it_is_and_what_was_read() -> None:
    for repository in repositories():
        assert set(repository) == {"name", "url", "revision", "language", "licence"}
        assert repository["url"].startswith("https://") and repository["url"].endswith(".git")
        assert len(repository["revision"]) == 40 and int(repository["revision"], 16)
        assert repository["language"] and repository["licence"]


def test_no_repository_is_one_that_something_was_learnt_from_or_that_another_benchmark_has() -> None:
    slugs = {"/".join(repository["url"].removesuffix(".git").lower().split("/")[-2:]) for repository in repositories()}
    assert len(slugs) == len(NAMES)
    assert slugs & excluded() == set()


def test_the_list_of_excluded_repositories_holds_what_models_and_ranking_learn_from() -> None:
    lists = (QUESTIONS.parents[1] / "train/repositories.txt", QUESTIONS.parent / "commit-subjects.txt")
    lines = [line for path in lists for line in path.read_text("utf-8").splitlines()]
    used = {line.split()[0].removesuffix(".git").lower() for line in lines if line and not line.startswith("#")}
    assert {"/".join(place.split("/")[-2:]) for place in used} <= excluded()


def test_the_repositories_are_of_at_least_twelve_languages() -> None:
    assert len({repository["language"] for repository in repositories()}) >= 12


@pytest.mark.parametrize("name", NAMES)
def test_a_repository_has_three_questions_of_each_kind(name: str) -> None:
    assert Counter(question["category"] for question in questions(name)) == dict.fromkeys(KINDS, 3)


@pytest.mark.parametrize("name", NAMES)
def test_a_question_has_its_four_fields_and_at_least_one_answer(name: str) -> None:
    for question in questions(name):
        assert set(question) == {"query", "relevant", "secondary", "category"}
        assert question["relevant"], question["query"]
        assert all(map(is_place, [*question["relevant"], *question["secondary"]])), question["query"]


@pytest.mark.parametrize("name", NAMES)
def test_no_place_is_named_twice_for_one_question(name: str) -> None:
    for question in questions(name):
        places = [json.dumps(target, sort_keys=True) for target in [*question["relevant"], *question["secondary"]]]
        assert len(places) == len(set(places)), question["query"]


@pytest.mark.parametrize("name", NAMES)
def test_a_question_is_as_short_as_people_type_it(name: str) -> None:
    for question in questions(name):
        least, most = WORDS[question["category"]]
        assert least <= len(question["query"].split()) <= most, question["query"]


def test_no_question_is_asked_twice() -> None:
    asked = [(name, question["query"]) for name in NAMES for question in questions(name)]
    assert len(asked) == len(set(asked))
    messages = [query for _, query in asked if len(query.split()) > 6]
    assert len(messages) == len(set(messages))
