"""Trees of a bare mirror are written into a folder and moved from commit to commit, without files that the mirror
lacks."""

import os
import subprocess
from pathlib import Path

import pytest

from scripts.bench.trees import Mirror, Tree, extract, find_git_dir
from scripts.suffixless import load_script

pytestmark = pytest.mark.process

WHO = {f"GIT_{who}_{what}": "Ada <ada@example.org>" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *arguments: str) -> str:
    env = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True, env=env).stdout


def commit(work: Path, files: dict[str, str | None]) -> str:
    for path, text in files.items():
        if text is None:
            git(work, "rm", "-q", "-r", path)
            continue
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "State")
    return git(work, "rev-parse", "HEAD").strip()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "mirrors/team+app"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    return folder


def mirror_of(work: Path) -> Mirror:
    return Mirror(find_git_dir("https://example.org/team/app.git", work.parent))


def contents(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


def lose(work: Path, revision: str, path: str) -> None:
    blob = git(work, "rev-parse", f"{revision}:{path}").strip()
    (work / ".git/objects" / blob[:2] / blob[2:]).unlink()


def test_a_moved_tree_is_the_tree_of_the_commit(work: Path, tmp_path: Path) -> None:
    states = [
        commit(work, {"a.py": "one\n", "b/c/d.py": "two\n", "b/e.py": "three\n"}),
        commit(work, {"a.py": "four\n", "b/c": None, "f.py": "five\n"}),
        commit(work, {"b/e.py": None}),
        commit(work, {"b": "a file where a folder was\n", "umlaut ä.py": "six\n"}),
        commit(work, {"b": None}),
        commit(work, {"b/e.py": "a folder where a file was\n"}),
        commit(work, {"b/e.py": None, "b": "a file in place of a folder with files\n"}),
    ]
    mirror, root = mirror_of(work), tmp_path / "tree"
    for state in [*states, *reversed(states)]:
        assert Tree(mirror, root).move(state) == []
        assert extract(mirror, state, None, tmp_path / state) == []
        assert contents(root) == contents(tmp_path / state)
    assert not (root / "f.py").exists()
    assert [path.name for path in root.iterdir() if path.is_dir()] == ["b"], "no empty folders stay behind"


def test_a_blob_that_the_mirror_lacks_is_named_and_the_others_are_there(work: Path, tmp_path: Path) -> None:
    state = commit(work, {"a.py": "one\n", "assets/large.bin": "lost\n", "z.py": "last\n"})
    lose(work, state, "assets/large.bin")
    assert extract(mirror_of(work), state, None, tmp_path / "whole") == ["assets/large.bin"]
    assert contents(tmp_path / "whole") == {"a.py": "one\n", "z.py": "last\n"}
    assert Tree(mirror_of(work), tmp_path / "tree").move(state) == ["assets/large.bin"]


def test_a_file_that_archives_leave_out_is_there(work: Path, tmp_path: Path) -> None:
    state = commit(work, {".gitattributes": "tests export-ignore\n", "tests/a.py": "one\n"})
    extract(mirror_of(work), state, "tests", tmp_path / "tree")
    assert contents(tmp_path / "tree") == {"tests/a.py": "one\n"}


def test_a_move_that_was_cut_off_is_begun_again(work: Path, tmp_path: Path) -> None:
    state = commit(work, {"a.py": "one\n"})
    root = tmp_path / "tree"
    root.mkdir()
    (root / "left.py").write_text("of a move that never ended\n")
    Tree(mirror_of(work), root).move(state)
    assert contents(root) == {"a.py": "one\n"}


def test_a_link_out_of_the_tree_is_left_out(work: Path, tmp_path: Path) -> None:
    (work / "in").symlink_to("a.py")
    (work / "out").symlink_to("../../etc/passwd")
    (work / "far").symlink_to("/etc/passwd")
    state = commit(work, {"a.py": "one\n"})
    extract(mirror_of(work), state, None, tmp_path / "tree")
    assert sorted(path.name for path in (tmp_path / "tree").iterdir()) == ["a.py", "in"]


def test_fetch_repos_says_what_a_mirror_lacks(work: Path, tmp_path: Path) -> None:
    state = commit(work, {"a.py": "one\n", "demo.gif": "lost\n"})
    lose(work, state, "demo.gif")
    script = load_script("bench/fetch-repos")
    repo = {"name": "app", "url": "https://example.org/team/app.git", "revision": state}
    said = script.fetch(repo, tmp_path / "into", work.parent, True)
    assert said == f"{state[:12]}, without 1 files that the mirror lacks: demo.gif"
    assert contents(tmp_path / "into/app") == {"a.py": "one\n"}
    assert script.fetch(repo, tmp_path / "into", work.parent, True) == "already there"
