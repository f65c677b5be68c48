"""Training pairs: what is extracted from a file, a history and a mirror, and what must never be read."""

import random
import subprocess
from pathlib import Path

import pytest

from scripts.train.commits import pairs_of_log, pairs_of_messages
from scripts.train.pairs import Pair, pairs_of
from scripts.train.prose import query_from_comment, query_from_subject
from scripts.train.repositories import Excluded, Mirror, check_none_excluded, find_mirror, licence_of, read_list
from scripts.train.selection import choose, language_for_training

PYTHON = '''"""Keeps the sessions of all users in memory until they end."""

class Sessions:
    def remove_expired(self, now):
        """Forgets every session whose time has run out.

        Args:
            now: seconds
        """
        # Copied, because the loop below takes entries out of it
        for key in list(self._kept):
            if self._kept[key].ends <= now:
                del self._kept[key]
'''

GO = """// Opens the journal and replays what it holds.
func Open(path string) (*Journal, error) {
\treturn replay(path)
}
"""


def extracted(path: str, text: str, language: str) -> dict[str, list[Pair]]:
    by_kind: dict[str, list[Pair]] = {}
    for pair in pairs_of(path, text, language, random.Random(0)):
        by_kind.setdefault(pair.kind, []).append(pair)
    return by_kind


def test_a_docstring_asks_for_its_body_which_no_longer_holds_it() -> None:
    (pair,) = extracted("web/sessions.py", PYTHON, "python")["doc"]
    assert pair.query == "Forgets every session whose time has run out."
    assert "del self._kept[key]" in pair.document
    assert "run out" not in pair.document


def test_the_path_and_the_first_comment_ask_for_a_chunk() -> None:
    found = extracted("web/sessions.py", PYTHON, "python")
    assert found["path"][0].query in ("sessions", "web sessions")
    assert found["file"][0].query == "Keeps the sessions of all users in memory until they end."
    assert {pair.query for pair in found["name"]} == {"Sessions", "remove_expired"}


def test_a_doc_comment_above_a_function_is_its_question_in_other_languages() -> None:
    (pair,) = extracted("journal.go", GO, "go")["doc"]
    assert pair.query == "Opens the journal and replays what it holds."
    assert pair.document.startswith("func Open")


@pytest.mark.parametrize(
    "comment",
    ["# Copyright 2020 The Authors of this", "// eslint-disable-next-line no-console here", "# x = y + 1", "// ok"],
)
def test_a_comment_that_says_nothing_about_the_code_is_no_question(comment: str) -> None:
    assert query_from_comment(comment) == ""


def test_a_commit_subject_loses_its_number_and_routine_ones_are_left_out() -> None:
    assert query_from_subject("fix(cache): drop stale entries on restart (#42)") == "drop stale entries on restart"
    assert query_from_subject("Bump version of all packages to 3.1") == ""


def test_a_commit_asks_for_the_lines_as_they_read_after_it() -> None:
    patch = "diff --git a/src/cache.py b/src/cache.py\n@@ -1,3 +1,3 @@ def restart(self):\n     self.open()\n"
    patch += (
        "-    self.keep_all_entries_of_the_last_run()\n+    self.drop_entries_older_than(self.started_at, grace=30)\n"
    )
    (pair,) = pairs_of_log(f"\x01drop stale entries on restart\x02\n{patch}")
    assert "drop_entries_older_than" in pair.document
    assert "keep_all_entries" not in pair.document


def test_a_commit_does_not_ask_for_the_tests_that_it_changed() -> None:
    rows = (
        "@@ -1 +1,2 @@ def test_restart(self):\n     self.open()\n+    " + "assert len(self.entries) == 0; " * 4 + "\n"
    )
    patches = (f"diff --git a/{path} b/{path}\n{rows}" for path in ("tests/test_cache.py", "src/cache.py"))
    log = "\x01drop stale entries on restart\x02\n" + "".join(patches)
    assert len(list(pairs_of_log(log))) == 1


BODY = (
    "The entries of the last run stayed in the cache when the server was started again, so that clients were given "
    "answers which were a day old. Those that are older than the start are dropped now, with half a minute of grace, "
    "because clocks differ."
)


@pytest.mark.parametrize(
    ("author", "message", "count"),
    [
        ("Ann", f"cache: drop stale entries (#42)\n\n{BODY}\n\nSigned-off-by: Ann <a@b.c>", 1),
        ("renovate[bot]", f"cache: drop stale entries\n\n{BODY}", 0),
        ("Ann", f'Revert "drop stale entries"\n\n{BODY}', 0),
        ("Ann", "cache: drop stale entries\n\nThey were stale.", 0),
    ],
)
def test_a_whole_message_asks_for_the_lines_as_they_read_after_it(author: str, message: str, count: int) -> None:
    patch = "diff --git a/src/cache.py b/src/cache.py\n@@ -1,3 +1,3 @@ def restart(self):\n     self.open()\n"
    patch += "-    self.keep_all_entries()\n+    self.drop_entries_older_than(self.started_at, grace_in_seconds=30)\n"
    found = list(pairs_of_messages(f"\x01{author}\x03{message}\n\x02\n{patch}"))
    assert [(pair.kind, pair.query, pair.language) for pair in found] == [
        ("body", f"drop stale entries\n\n{BODY}", "python")
    ] * count
    assert all("drop_entries_older_than" in pair.document for pair in found)


def test_a_commit_of_many_files_does_not_ask_with_its_message() -> None:
    rows = "@@ -1 +1,2 @@ def restart(self):\n     self.open()\n+    " + "drop_old_entries(self.entries); " * 4 + "\n"
    for count, pairs in ((5, 3), (6, 0)):
        patch = "".join(f"diff --git a/src/{n}.py b/src/{n}.py\n{rows}" for n in range(count))
        assert len(list(pairs_of_messages(f"\x01Ann\x03drop stale entries\n\n{BODY}\x02\n{patch}"))) == pairs


def test_an_excluded_repository_and_its_forks_stop_the_extraction() -> None:
    check_none_excluded(["scrapy/scrapy"], ["pallets/flask"])
    with pytest.raises(Excluded, match="someone/Flask"):
        check_none_excluded(["scrapy/scrapy", "someone/Flask"], ["pallets/flask"])


def test_no_project_of_swe_bench_lite_is_trained_on_though_no_list_excludes_it() -> None:
    shipped = read_list(Path(__file__).parents[2] / "scripts/train/repositories.txt")
    check_none_excluded(shipped, [])
    for name in ("pytest-dev/pytest", "someone/Django", "psf/requests"):
        with pytest.raises(Excluded, match=name):
            check_none_excluded([*shipped, name], [])


def test_the_shipped_list_names_each_repository_once() -> None:
    names = read_list(Path(__file__).parents[2] / "scripts/train/repositories.txt")
    assert len(names) == len(set(names)) > 100
    assert all(name.count("/") == 1 for name in names)


def test_a_licence_is_known_by_its_own_words_and_others_are_refused() -> None:
    mit = "Permission is hereby granted, free\n of charge, to any person obtaining a copy"
    assert licence_of(mit) == "MIT"
    assert licence_of("Apache License\n  Version 2.0, January 2004") == "Apache-2.0"
    assert licence_of("GNU GENERAL PUBLIC LICENSE Version 3") == ""


def test_vendored_and_unknown_files_are_not_read() -> None:
    assert language_for_training("src/app.ts") == "typescript"
    assert language_for_training("vendor/lib/app.go") == ""
    assert language_for_training("data/table.csv") == ""


@pytest.mark.process
def test_a_mirror_is_read_without_a_checkout(tmp_path: Path) -> None:
    folder = tmp_path / "someone+thing"
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    (folder / "src").mkdir(parents=True)
    (folder / "LICENSE").write_text("This is free and unencumbered software released into the public domain.")
    (folder / "src/app.py").write_text(PYTHON)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "keep the sessions of users"], check=True)
    mirror = find_mirror(tmp_path, "someone/thing")
    assert isinstance(mirror, Mirror)
    assert mirror.licence() == "Unlicense"
    chosen = choose(mirror.blobs(), 100_000, random.Random(0))
    assert [(blob.path, text) for blob, text in mirror.read(chosen)] == [("src/app.py", PYTHON)]
    assert mirror.log(5, seconds=20).startswith("\x01keep the sessions of users\x02")
    assert find_mirror(tmp_path, "someone/else") is None
