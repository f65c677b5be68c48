"""Questions from closed issues: which commit fixed an issue, and what is asked of its text."""

import json
from pathlib import Path

import pytest

from scripts.suffixless import load_script
from scripts.train.long_questions import half_of
from scripts.train.repositories import Excluded

ISSUES = load_script("bench/make-issue-questions")
TEXT = "Wrong sum\n\n" + "The total of an order leaves out the last line whenever that line has no price. " * 3


class History:
    """Stands in for the mirror of `team/shop`: its commits, oldest first, each with the paths that it changed."""

    def __init__(self) -> None:
        self.commits: list[tuple[str, str]] = []

    def commit(self, message: str, *changed: str) -> str:
        files = "".join(f"{'A' if path == 'new.py' else 'M'}\0{path}\0" for path in changed)
        self.commits.append((message, files))
        return str(len(self.commits))

    def text(self, *arguments: str) -> str:
        if arguments[0] == "log":
            listed = [] if "--merges" in arguments else list(enumerate(self.commits, 1))
            return "".join(f"\x01{i}\x02{i - 1}\x02{message}\x02\0{files}" for i, (message, files) in listed[::-1])
        if arguments[0] == "diff":
            return self.commits[int(arguments[-1]) - 1][1]
        assert arguments[0] == "rev-parse"
        return f"{int(arguments[1].removesuffix('^')) - 1}\n"


@pytest.fixture
def history() -> History:
    made = History()
    made.commit("Start", "total.py", "stock.py", "test_total.py")
    return made


def test_a_commit_fixes_the_issue_that_its_message_names(history: History) -> None:
    first = history.commit("Sum the last line\n\nFixes #12.", "total.py")
    second = history.commit("Count again (closes team/shop#7)", "stock.py")
    third = history.commit("Resolves https://github.com/team/shop/issues/31", "stock.py")
    fixed = {12: {first: ("total.py",)}, 7: {second: ("stock.py",)}, 31: {third: ("stock.py",)}}
    assert ISSUES.fixes(history) == fixed


def test_a_commit_that_names_many_issues_or_changes_no_known_code_fixes_none(history: History) -> None:
    history.commit("Fixes #1, fixes #2, fixes #3", "total.py")
    history.commit("Fixes #4", "new.py")
    history.commit("See #5", "stock.py")
    assert ISSUES.fixes(history) == {}


def make(history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> list[dict[str, object]]:
    names, listed = tmp_path / "names", tmp_path / "list"
    names.write_text("team/shop\n", "utf-8")
    listed.write_text("# kept\n", "utf-8")
    monkeypatch.setattr(ISSUES, "LIST", listed)
    monkeypatch.setattr(ISSUES, "Mirror", lambda _: history)
    monkeypatch.setattr(ISSUES, "find_git_dir", lambda name, _: Path(name))
    monkeypatch.setattr(ISSUES.listed, "__defaults__", (listed,))
    folders = ["--mirrors", str(tmp_path), "--texts", str(tmp_path / "texts"), "--into", str(tmp_path / "q")]
    monkeypatch.setattr("sys.argv", ["make-issue-questions", *folders, "--pin", str(names), *more])
    ISSUES.main()
    return [json.loads(line) for file in (tmp_path / "q").rglob("*.jsonl") for line in file.read_text().splitlines()]


def write_text(tmp_path: Path, number: int, text: str) -> None:
    file = tmp_path / f"texts/team+shop/{number}.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def test_an_issue_is_asked_before_its_fix_with_the_changed_tests_apart(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = history.commit("Something else", "stock.py")
    commit = history.commit("Sum the last line. Fixes #12", "total.py", "test_total.py")
    write_text(tmp_path, 12, TEXT)
    (row,) = make(history, tmp_path, monkeypatch)
    assert (row["revision"], row["commit"], row["issue"]) == (before, commit, 12)
    assert (row["title"], row["question"]) == ("Wrong sum", TEXT.strip())
    assert (row["files"], row["tests"]) == (["total.py"], ["test_total.py"])


def test_short_texts_and_issues_that_two_commits_fix_are_left_out(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.commit("Fixes #12", "total.py")
    history.commit("Fixes #13", "total.py")
    history.commit("Fixes #13 again: closes #13", "total.py")
    write_text(tmp_path, 12, "Wrong sum\n\nIt is wrong.")
    write_text(tmp_path, 13, TEXT)
    assert make(history, tmp_path, monkeypatch) == []


def test_an_excluded_repository_is_refused(history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    excluded = tmp_path / "excluded"
    excluded.write_text("other/shop\n", "utf-8")
    with pytest.raises(Excluded):
        make(history, tmp_path, monkeypatch, "--excluded", str(excluded))


def test_the_list_has_enough_issues_of_enough_repositories_and_no_repository_in_both_halves() -> None:
    issues = list(ISSUES.listed())
    halves = {issue.name: issue.half for issue in issues}
    measured = load_script("bench/make-long-questions").measured()
    assert len(issues) >= 60
    assert len(halves) >= 15
    assert all(half == half_of(name, measured) for name, half in halves.items())
    assert all(issue.half == halves[issue.name] and issue.files for issue in issues)
