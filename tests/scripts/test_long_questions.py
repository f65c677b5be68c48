"""Long questions: which commits become questions, and which parts of their messages are asked."""

import json
from pathlib import Path

import pytest

from scripts.suffixless import load_script
from scripts.train.long_questions import Question, half_of, question_of
from scripts.train.repositories import UNSEEN, read_list

BENCH = Path(__file__).parents[2] / "scripts/bench"

PROSE = """The parser keeps the state of the previous line when a string is
continued, so that a comment on the next line is read as a part of it.
Forget the state when the line ends, and read the comment as a comment.
Strings that really are continued keep it, since they end with a backslash."""
CHANGED = [("M", "src/parser/lines.py")]


def asked(message: str, changed: list[tuple[str, str]] = CHANGED, author: str = "Ada") -> Question | None:
    return question_of(message, changed, author)


def text(message: str, changed: list[tuple[str, str]] = CHANGED) -> str:
    found = asked(message, changed)
    assert found
    return found.question


def test_a_message_asks_with_its_title_and_its_body() -> None:
    found = asked(f"Forget the state of a continued string\n\n{PROSE}\n")
    assert found == Question(
        "Forget the state of a continued string",
        PROSE,
        f"Forget the state of a continued string\n\n{PROSE}",
        ("src/parser/lines.py",),
        (),
    )


def test_trailers_are_not_asked() -> None:
    trailers = [
        "Fixes #12", "Closes: #9, #10", "fix gh-77", "Resolves https://example.org/team/app/issues/4",
        "Signed-off-by: Ada <ada@example.org>", "Co-authored-by: Bo <bo@example.org>", "Reviewed-by: Cy", "Cc: Di",
        "Change-Id: I8f0a", "(cherry picked from commit 0123456789abcdef)", "PiperOrigin-RevId: 81726354",
        "RELNOTES=n/a", "git-svn-id: https://svn.example.org@12", "Refs: ABC-1234", "JIRA: CSL-12",
        "Differential Revision: https://phab.example.org/D12", "Co-Authored-By: Ed", "Part of #1234",
    ]  # fmt: skip
    for trailer in trailers:
        assert text(f"Forget the state\n\n{PROSE}\n\n{trailer}\n") == f"Forget the state\n\n{PROSE}", trailer
    assert text(f"Forget the state\n\n{trailers[0]}\n\n{PROSE}\n\n" + "\n".join(trailers)).endswith(PROSE)


def test_what_only_looks_like_a_trailer_is_asked() -> None:
    block = "Note: the state is kept by\nError: unexpected end of line"
    assert text(f"Forget the state\n\n{block}\n\n{PROSE}").startswith(f"Forget the state\n\n{block}")
    fixed = "Fixes #12, where a comment was read as a string."
    assert fixed in text(f"Forget the state\n\n{fixed}\n{PROSE}")


def test_trailers_do_not_make_a_body_long() -> None:
    trailers = "\n".join(f"Reviewed-by: Somebody Called Number {n} <n{n}@example.org>" for n in range(12))
    assert asked(f"Forget the state\n\nIt was kept.\n\n{trailers}") is None


def test_a_revert_is_left_out() -> None:
    assert asked(f'Revert "Forget the state"\n\nThis reverts commit 0123456789.\n\n{PROSE}') is None
    assert asked(f"Keep the state again\n\nThis reverts commit 0123456789abc, since\n\n{PROSE}") is None
    assert asked(f'Reapply "Forget the state"\n\n{PROSE}') is None
    assert asked(f"revert: forget the state\n\n{PROSE}") is None


def test_a_merge_that_was_squashed_with_its_commits_listed_is_left_out() -> None:
    listed = "* Forget the state\n\n* Try another way\n\n" + PROSE + "\n\n* Fix the tests\n\n* Review"
    assert asked(f"Parser: strings (#12)\n\n{listed}") is None
    log = "Squashed commit of the following:\n\ncommit 0123456789abcdef\nAuthor: Ada\n\n    " + PROSE
    assert asked(f"Parser: strings\n\n{log}") is None
    assert asked(f"Merge branch 'strings' into main\n\n{PROSE}") is None
    assert asked(f"Merge pull request #12 from ada/strings\n\n{PROSE}") is None


def test_a_list_that_somebody_wrote_is_asked() -> None:
    block = "* strings that are continued\n* comments after them\n* what follows a comment"
    assert block in text(f"Forget the state\n\n{PROSE}\n\n{block}")


def test_a_bump_by_a_bot_is_left_out() -> None:
    bump = "Bumps [parser](https://example.org/parser) from 1.2.0 to 1.3.0.\n" + PROSE
    assert asked(f"Bump parser from 1.2.0 to 1.3.0\n\n{bump}") is None
    assert asked(f"chore(deps): parser\n\n{bump}") is None
    assert asked(f"Forget the state\n\n{PROSE}", author="helper[bot]") is None
    assert asked(f"Forget the state\n\n{PROSE}", author="renovate-bot") is None
    assert asked(f"Update dependency parser to v3\n\n{PROSE}") is None
    assert asked(f"Upgrade parser to 1.3\n\n{PROSE}") is None


def test_releases_and_formatting_are_left_out() -> None:
    for title in (
        "Release 1.2.0", "v1.2.0", "Prepare for release 1.2", "chore: release 1.2", "Version 1.2.0-rc1",
        "style: parser", "Reformat the parser", "Run clang-format", "cargo fmt", "Fix lint errors",
        "Remove trailing whitespace",
        "Fix typos", "[maven-release-plugin] prepare", "1.2.0", "Update copyright years", "prettier",
    ):  # fmt: skip
        assert asked(f"{title}\n\n{PROSE}") is None, title
    for title in ("Release the lock when a reader stops", "Keep the format of dates", "Update the state of a string"):
        assert asked(f"{title}\n\n{PROSE}"), title


def test_a_generated_list_of_changes_is_left_out() -> None:
    rows = "\n".join(f"- Something was mended in the parser of lines (#{n})" for n in range(8))
    assert asked(f"Parser of strings\n\nWhat is new:\n{rows}") is None
    rows = "\n".join(f"* 0{n}ab12cd Something was mended in the parser of lines" for n in range(8))
    assert asked(f"Parser of strings\n\n{rows}") is None
    assert asked(f"Parser of strings\n\n## What's Changed\n{PROSE}") is None


def test_a_line_that_is_a_path_alone_is_not_asked() -> None:
    for row in (
        "src/parser/lines.py",
        "* src/parser/lines.py:",
        "- `src/parser/lines.py`",
        "lines.py",
        "  b/c/other.h",
    ):
        assert text(f"Forget the state\n\n{row}\n{PROSE}") == f"Forget the state\n\n{PROSE}", row
    assert "see src/parser/lines.py" in text(f"Forget the state\n\n{PROSE} see src/parser/lines.py")


def test_a_list_of_files_with_what_was_done_to_each_is_left_out() -> None:
    """GNU's form of a message tells the answer in a column."""
    assert asked(f"Forget the state\n\n* src/parser/lines.py (read): Forget it.\n\n{PROSE}") is None
    assert asked(f"Forget the state\n\n- lines.py: forget it\n\n{PROSE}") is None


def test_the_kind_and_the_place_before_a_title_and_its_numbers_are_not_asked() -> None:
    for title in ("fix(parser): forget the state", "parser/lines: forget the state (#12)", "[parser] forget the state"):
        found = asked(f"{title}\n\n{PROSE}")
        assert found and found.title == title
        assert found.question.startswith("forget the state\n\n"), title


def test_a_name_within_a_title_is_asked() -> None:
    assert text(f"Ruleset::process(): forget the state\n\n{PROSE}").startswith("Ruleset::process(): forget the state\n")


def test_line_ends_of_windows_are_lines() -> None:
    message = f"Forget the state\n\n{PROSE}\n\nSigned-off-by: Ada <a@b.c>\n".replace("\n", "\r\n")
    assert text(message) == f"Forget the state\n\n{PROSE}"


def test_a_body_that_is_not_english_is_left_out() -> None:
    german = (
        "Der Zustand der letzten Zeile bleibt erhalten, wenn eine Zeichenkette fortgesetzt wird, und ein Kommentar "
    )
    assert asked("Forget the state\n\n" + german * 3) is None
    assert (
        asked("Forget the state\n\n" + "文字列が続くときに前の行の状態が残る。行が終わったら状態を忘れる。" * 8) is None
    )
    assert asked("Forget the state\n\n" + "x = parse(line) + state\n" * 20) is None


def test_a_short_body_and_none_are_left_out() -> None:
    assert asked("Forget the state of a continued string") is None
    assert asked("Forget the state\n\n" + PROSE[:150]) is None


def test_one_to_five_code_files_are_the_answer_and_tests_are_counted_apart() -> None:
    message = f"Forget the state\n\n{PROSE}"
    changed = [
        ("M", "src/lines.py"), ("A", "src/states.py"), ("M", "tests/test_lines.py"), ("M", "docs/lines.md"),
        ("M", "CHANGES.rst"), ("M", "setup.cfg"),
    ]  # fmt: skip
    found = asked(message, changed)
    assert found
    assert found.files == ("src/lines.py",), "a file that is new cannot be found before"
    assert found.tests == ("tests/test_lines.py",)
    assert asked(message, [("M", f"src/{n}.py") for n in range(5)])
    assert asked(message, [("M", f"src/{n}.py") for n in range(6)]) is None
    assert asked(message, [("A", "src/lines.py")]) is None
    assert asked(message, [("M", "tests/test_lines.py")]) is None
    assert asked(message, [("M", "vendor/lines.py")]) is None


def test_a_repository_has_its_half_for_ever() -> None:
    names = [f"team/app{n}" for n in range(40)]
    halves = [half_of(name, frozenset()) for name in names]
    assert halves == [half_of(name.upper(), frozenset()) for name in names]
    assert 10 < halves.count("learn") < 30
    assert {half_of(name, frozenset(names)) for name in names} == {"measure"}, "short questions are asked of them"
    assert [half_of(name, frozenset()) for name in ("alacritty/alacritty", "jj-vcs/jj", "rclone/rclone")] == [
        "learn",
        "learn",
        "measure",
    ]


def test_the_list_has_two_halves_of_many_languages_and_nothing_that_is_kept_back() -> None:
    found = list(load_script("bench/make-long-questions").listed())
    excluded = {name.lower() for name in read_list(BENCH / "questions/excluded.txt")}
    assert [one.name for one in found if one.name.lower() in excluded or one.name.rpartition("/")[2] in UNSEEN] == []
    short = load_script("bench/make-long-questions").measured()
    assert {one.name for one in found if one.half != half_of(one.name, short)} == set()
    for half in ("learn", "measure"):
        repositories = [one for one in found if one.half == half]
        assert len(repositories) >= 30
        assert len({one.language for one in repositories}) >= 12
        assert sum(one.questions for one in repositories) >= 1000


def test_no_model_is_trained_on_what_checks_it() -> None:
    """Neither the list that the next model is made from, nor what the present models say they were made from."""
    data = sorted(BENCH.parents[1].glob("models/*/training-data.json"))
    assert len(data) == 3
    read = {file.parent.name: [one["repository"] for one in json.loads(file.read_text("utf-8"))] for file in data}
    read["the next model"] = read_list(BENCH.parent / "train/repositories.txt")
    found = {model: [name for name in names if name.rpartition("/")[2] in UNSEEN] for model, names in read.items()}
    assert {model: names for model, names in found.items() if names} == {}


@pytest.mark.parametrize("model", ["static-code-256", "minilm-code"])
def test_the_list_for_training_is_what_the_models_were_made_from(model: str) -> None:
    data = json.loads((BENCH.parents[1] / "models" / model / "training-data.json").read_text("utf-8"))
    assert {one["repository"] for one in data} == set(read_list(BENCH.parent / "train/repositories.txt"))
