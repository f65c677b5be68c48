"""The walk gives the same files as real git, and judging a single path gives the same result as the walk."""

from __future__ import annotations

import os
import random
import socket
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sidecar import errors
from sidecar.model.files import Decision, FoundFile, Rule, SkippedPath, Stat
from sidecar.parts.walk import DiskWalker, WalkOptions

# A visible ␠ stands for a space at the end of a line.
PATTERNS_TEXT = r"""
# a comment, and \# and \! below are names
*.tmp
!keep.tmp
/only-at-root.txt
out-of-tree/
doc/*.html
!doc/index.html
**/anywhere/deep.c
mid/**/end.c
tail/**
!tail/kept
a**b.c
[abc]range.c
[!x-z]neg.c
[[:digit:]]class.c
que?tion.c
\#hash.c
\!bang.c
spaced\␠
trailing.c␠␠␠
foo/
*.d
!foo/
sub/folder-only/
/x/*
!/x/y
/x/y/*
!/x/y/z.c
literal\*star.c
[bad
*/star-middle.c
back\\slash.c
**/q/
un*ed*.c
nested/*
!nested/in
"""

ROOT_PATTERNS = PATTERNS_TEXT.replace("␠", " ")

NAMES_TEXT = """
t.tmp keep.tmp only-at-root.txt index.html page.html deep.c end.c kept axb.c ab.c a-x-b.c arange.c drange.c xneg.c
aneg.c 1class.c vclass.c question.c #hash.c !bang.c spaced␠ spaced trailing.c m.d z.c w.c literal*star.c
literalXstar.c star-middle.c back\\slash.c q united.c uned.c secret.log main.c [bad .hidden.c é.c
"""
NAMES = [name.replace("␠", " ") for name in NAMES_TEXT.split()]
FOLDERS_TEXT = """
doc anywhere mid mid/p mid/p/q tail tail/kept foo foo/bar sub sub/folder-only sub/doc x x/y x/y/w out-of-tree nested
nested/in nested/out sub/anywhere one/two/three one/two
"""
FOLDERS = FOLDERS_TEXT.split()


def git(root: Path, *arguments: str) -> bytes:
    config = next(folder / "gitconfig" for folder in root.parents if (folder / "gitconfig").exists())
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": str(config), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *arguments], cwd=root, env=environment, check=True, capture_output=True).stdout


def write(root: Path, path: str, text: str = "x\n") -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def git_files(root: Path) -> list[str]:
    listed = git(root, "ls-files", "-co", "--exclude-standard", "-z").decode().split("\0")
    return sorted(path for path in listed if path)


def everything(root: Path, folder: str = "") -> list[str]:
    paths = []
    for at, folders, files in os.walk(root / folder):
        if ".git" in folders:
            folders.remove(".git")
        paths += [Path(at, name).relative_to(root).as_posix() for name in files]
    return sorted(paths)


@pytest.fixture(scope="module")
def tricky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tricky") / "repo"
    root.mkdir()
    (root.parent / "ignored-everywhere").write_text("*.global\nsecret.log\n")
    (root.parent / "gitconfig").write_text(f'[core]\n\texcludesFile = "{root.parent}/ignored-everywhere"\n')
    git(root, "init", "-q")
    chance = random.Random(7)
    for folder in ["", *FOLDERS]:
        for name in NAMES:
            if chance.random() < 0.8 and f"{folder}/{name}" not in ("/foo", "tail/kept", "mid/p/q"):
                write(root, f"{folder}/{name}".lstrip("/"))
    for folder in ("", "sub", "one/two"):
        write(root, f"{folder}/w.global".lstrip("/"))
        write(root, f"{folder}/local.excluded".lstrip("/"))
    write(root, ".git/info/exclude", "*.excluded\n")
    write(root, ".gitignore", "\ufeff" + ROOT_PATTERNS.replace("*.tmp\n", "*.tmp\r\n", 1))
    write(root, "sub/.gitignore", "!t.tmp\n!*.d\n/main.c\nbroken\\\nquestion.c\n")
    write(root, "sub/doc/.gitignore", "*\n!.gitignore\n!z.c\n")
    write(root, "one/.gitignore", "two/three/\n!two/three/\n/two/w.c\n!*.global\n")
    return root


def walker(root: Path, **options: Any) -> DiskWalker:
    ignore_file = root.parent / "ignored-everywhere"
    given: dict[str, Any] = {"global_ignore": str(ignore_file) if ignore_file.exists() else "", **options}
    return DiskWalker(str(root), WalkOptions(**given))


def paths(found: tuple[FoundFile, ...] | tuple[SkippedPath, ...]) -> list[str]:
    return [item.path for item in found]


@pytest.mark.process
def test_the_walk_equals_git_on_thirty_tricky_patterns(tricky: Path) -> None:
    assert sum(1 for line in ROOT_PATTERNS.splitlines() if line and not line.startswith("# ")) >= 30
    expected = git_files(tricky)
    assert 100 < len(expected) < len(everything(tricky))
    denied = {path for path in expected if path.endswith(".log")}
    assert paths(walker(tricky).walk().files) == [path for path in expected if path not in denied]


@pytest.mark.process
@pytest.mark.parametrize("folder", ["sub", "one/two", "x", "mid/p"])
def test_a_workspace_below_the_top_of_a_repository_obeys_the_files_above_it(tricky: Path, folder: str) -> None:
    expected = [path for path in git_files(tricky / folder) if not path.endswith(".log")]
    options = WalkOptions(global_ignore=str(tricky.parent / "ignored-everywhere"))
    assert paths(DiskWalker(str(tricky / folder), options).walk().files) == expected


@pytest.mark.process
def test_every_path_is_decided_as_the_walk_decided_it(tricky: Path) -> None:
    judge = walker(tricky)
    result = judge.walk()
    offered, skipped = set(paths(result.files)), {item.path: item.decision for item in result.skipped}
    for path in everything(tricky):
        above = [f"{path[:at]}/" for at, char in enumerate(path) if char == "/"]
        expected = next((skipped[place] for place in [*above, path] if place in skipped), Decision(Rule.INDEXED))
        assert judge.decide(path) == expected, path
        assert expected.indexed == (path in offered)


@pytest.mark.process
def test_a_file_is_found_alone_as_in_the_walk(tricky: Path) -> None:
    judge = walker(tricky)
    for file in judge.walk().files[::7]:
        assert judge.found(file.path) == file


@pytest.mark.process
def test_a_subtree_is_the_walk_cut_to_one_folder(tricky: Path) -> None:
    judge = walker(tricky)
    whole = judge.walk()
    for folder in ("sub", "one/two", "mid", "tail"):
        part = judge.subtree(folder)
        assert list(part.files) == [file for file in whole.files if file.path.startswith(f"{folder}/")]
        assert list(part.skipped) == [item for item in whole.skipped if item.path.startswith(f"{folder}/")]


def test_the_reason_names_file_line_and_pattern(tmp_path: Path) -> None:
    write(tmp_path, "sub/.gitignore", "# logs\n\n*.out\n")
    write(tmp_path, "sub/deep/a.out")
    assert walker(tmp_path).decide("sub/deep/a.out") == Decision(Rule.GITIGNORE, "sub/.gitignore:3: *.out")


def test_a_changed_gitignore_counts_at_the_next_question(tmp_path: Path) -> None:
    write(tmp_path, "a.c")
    judge = walker(tmp_path)
    assert judge.decide("a.c").indexed
    write(tmp_path, ".gitignore", "*.c\n")
    assert not judge.decide("a.c").indexed
    (tmp_path / ".gitignore").unlink()
    assert judge.decide("a.c").indexed


def test_gitignore_can_be_switched_off_and_sidecarignore_stays(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "a.c\n")
    write(tmp_path, ".sidecarignore", "b.c\n")
    for name in "abc":
        write(tmp_path, f"{name}.c")
    found = paths(walker(tmp_path, respect_gitignore=False).walk().files)
    assert found == [".gitignore", ".sidecarignore", "a.c", "c.c"]


def test_sidecarignore_is_stronger_than_gitignore_and_takes_paths_back_in(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "generated/\n*.sql\n")
    write(tmp_path, ".sidecarignore", "!generated/\n!schema.sql\n/notes\n")
    write(tmp_path, "package.json", "{}")
    for path in ("generated/api.ts", "schema.sql", "dump.sql", "notes/a.c", "generated/dump.sql"):
        write(tmp_path, path)
    judge = walker(tmp_path)
    assert judge.decide("generated/api.ts").indexed
    assert judge.decide("schema.sql").indexed
    assert judge.decide("dump.sql").rule is Rule.GITIGNORE
    assert judge.decide("generated/dump.sql").rule is Rule.GITIGNORE
    assert judge.decide("notes/a.c") == Decision(Rule.SIDECARIGNORE, ".sidecarignore:3: /notes")


def test_sidecarignore_overrules_evidence_but_not_the_deny_list(tmp_path: Path) -> None:
    write(tmp_path, ".sidecarignore", "!build/\n!node_modules/\n")
    write(tmp_path, "package.json", "{}")
    write(tmp_path, "build/webpack.js")
    write(tmp_path, "node_modules/a.js")
    judge = walker(tmp_path)
    assert judge.decide("build/webpack.js").indexed
    assert judge.decide("node_modules/a.js").rule is Rule.DENIED


@pytest.mark.parametrize(
    ("path", "beside", "denied"),
    [
        ("deep/down/node_modules/a.js", "", True),
        ("deep/__pycache__/a.txt", "", True),
        ("target/a.rs", "Cargo.toml", True),
        ("target/a.rs", "", False),
        ("sub/target/a.rs", "sub/pom.xml", True),
        ("sub/target/a.rs", "pom.xml", False),
        ("bin/run.sh", "", False),
        ("bin/a.cs", "app.csproj", True),
        ("vendor/a.go", "go.mod", True),
        ("vendor/a.c", "", False),
        ("lib/a.ex", "mix.exs", False),
        ("deps/a.ex", "mix.exs", True),
        ("deps/a.py", "", False),
        ("build/a.py", "", False),
        ("build/a.js", "package.json", True),
        ("env/lib/a.py", "env/pyvenv.cfg", True),
        ("any/a.py", "any/CACHEDIR.TAG", True),
        ("coverage/a.py", "", False),
        ("coverage/a.js", "coverage/lcov.info", True),
        ("yarn.lock", "", True),
        ("sub/package-lock.json", "", True),
        ("pkg.egg-info/a.txt", "", True),
        ("snapshots/heads.json", f"snapshots/{'0a' * 32}.zst", True),
        ("heads.json", f"{'0a' * 32}.zst", True),
        ("snapshots/notes.json", f"snapshots/{'0a' * 32}.zst", False),
        ("snapshots/heads.json", "snapshots/backup.zst", False),
        ("fixtures/heads.json", "", False),
        ("snapshots/.sidecar-making-x/files.json", "", True),
        ("snapshots/.sidecar-0a", "", True),
    ],
)
def test_the_deny_list_holds_at_any_depth_and_needs_evidence_for_doubtful_names(
    tmp_path: Path, path: str, beside: str, denied: bool
) -> None:
    write(tmp_path, path)
    if beside:
        write(tmp_path, beside)
    judge = walker(tmp_path)
    assert (judge.decide(path).rule is Rule.DENIED) == denied
    assert (path not in paths(judge.walk().files)) == denied


def test_a_root_inside_a_denied_and_ignored_folder_is_walked(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path, ".gitignore", ".venv/\n*.pyx\n")
    write(tmp_path, ".venv/.gitignore", "*\n")
    write(tmp_path, ".venv/lib/site-packages/foo/a.py")
    root = tmp_path / ".venv/lib/site-packages/foo"
    assert paths(walker(root).walk().files) == ["a.py"]


def test_excludes_name_files_folders_and_their_contents(tmp_path: Path) -> None:
    for path in ("a.c", "docs/a.c", "sub/docs/a.c", "gen/x/a.c", "b.c"):
        write(tmp_path, path)
    judge = walker(tmp_path, exclude=("docs", "gen/**", "b.*"))
    assert paths(judge.walk().files) == ["a.c", "sub/docs/a.c"]
    assert judge.decide("docs/a.c") == Decision(Rule.CONFIG_EXCLUDE, "docs")
    assert "gen/" in paths(judge.walk().skipped)


def test_includes_limit_what_is_offered(tmp_path: Path) -> None:
    for path in ("a.c", "src/a.c", "src/deep/b.py", "lib/c.py"):
        write(tmp_path, path)
    judge = walker(tmp_path, include=("src", "lib/*.py"))
    assert paths(judge.walk().files) == ["lib/c.py", "src/a.c", "src/deep/b.py"]
    assert judge.decide("a.c").rule is Rule.CONFIG_INCLUDE


@pytest.mark.parametrize(
    ("exclude", "in_doubt"),
    [
        ("keys/{a,b", {"keys/one.txt", "keys/two.txt"}),
        ("/keys/", {"keys/one.txt", "keys/two.txt"}),
        ("./ke[y", {"keys/one.txt", "keys/two.txt"}),
        ("*.{key", {"keys/one.txt", "keys/two.txt", "src/a.c", "src/new.c"}),
        ("../keys", {"keys/one.txt", "keys/two.txt", "src/a.c", "src/new.c"}),
        ("k" * 300, set[str]()),
    ],
)
def test_a_file_that_a_wrong_glob_of_exclude_may_mean_stays_as_it_is(
    tmp_path: Path, exclude: str, in_doubt: set[str]
) -> None:
    """And whatever else is excluded is left out as before."""
    files = {"keys/one.txt", "keys/two.txt", "src/a.c", "src/new.c"}
    for path in (*files, "out/b.c"):
        write(tmp_path, path)
    indexed = {"keys/one.txt", "src/a.c"}
    judge = walker(tmp_path, exclude=(exclude, "out/**"))
    assert set(paths(judge.walk().files)) == files - in_doubt
    judge.keep(indexed.__contains__)
    assert set(paths(judge.walk().files)) == files - in_doubt | indexed
    assert judge.decide("out/b.c").rule is Rule.CONFIG_EXCLUDE
    assert {path for path in files if judge.decide(path).rule is Rule.IN_DOUBT} == in_doubt - indexed


def test_a_file_that_only_a_wrong_glob_of_include_may_mean_stays_as_it_is(tmp_path: Path) -> None:
    for path in ("lib/a.c", "lib/b.c", "src/a.c", "other/a.c"):
        write(tmp_path, path)
    judge = walker(tmp_path, include=("src/**", "lib/{a,b"))
    judge.keep({"lib/a.c", "other/a.c"}.__contains__)
    assert paths(judge.walk().files) == ["lib/a.c", "src/a.c"]
    assert judge.decide("lib/b.c").rule is Rule.IN_DOUBT
    assert judge.decide("other/a.c").rule is Rule.CONFIG_INCLUDE


def test_a_link_that_goes_while_it_is_followed_ends_no_walk(tmp_path: Path) -> None:
    """Python looks at a link twice to follow it."""
    (tmp_path / "a.py").write_text("a")
    (tmp_path / "link.py").symlink_to(tmp_path / "a.py")

    def resolve(path: str) -> str:
        Path(path).unlink()
        return str(Path(path).readlink())

    walked = DiskWalker(str(tmp_path), resolve=resolve).walk()
    assert [file.path for file in walked.files] == ["a.py"]
    assert [(skip.path, skip.decision.rule) for skip in walked.skipped] == [("link.py", Rule.UNREADABLE)]


def test_links_are_never_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(outside, "secret.c")
    write(root, "real/a.c")
    (root / "file.c").symlink_to(root / "real/a.c")
    (root / "out.c").symlink_to(outside / "secret.c")
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to(root)
    (root / "self").symlink_to(root / "self")
    (root / "broken").symlink_to(root / "nothing")
    judge = walker(root)
    result = judge.walk()
    assert paths(result.files) == ["real/a.c"]
    assert paths(result.skipped) == ["broken", "file.c", "folder", "loop", "out.c", "self"]
    for item in result.skipped:
        assert item.decision.rule is (Rule.SYMLINK if item.path in ("folder", "out.c") else Rule.LINK)
        assert judge.decide(item.path) == item.decision
    assert "leads out" in judge.decide("folder/secret.c").detail
    assert judge.decide("loop/real/a.c").rule is Rule.LINK


def test_pipes_and_sockets_are_skipped(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket"))
        skipped = walker(tmp_path).walk().skipped
    assert [(item.path, item.decision.rule) for item in skipped] == [
        ("pipe", Rule.NOT_A_FILE),
        ("socket", Rule.NOT_A_FILE),
    ]


def test_secrets_and_media_are_withheld_by_name(tmp_path: Path) -> None:
    for path in (".env", "sub/.env.local", "k/id_rsa", "a.png", ".env.example"):
        write(tmp_path, path)
    result = walker(tmp_path).walk()
    assert paths(result.files) == [".env.example"]
    rules = {item.path: item.decision.rule for item in result.skipped}
    assert rules == {
        ".env": Rule.SECRET_NAME,
        "sub/.env.local": Rule.SECRET_NAME,
        "k/id_rsa": Rule.SECRET_NAME,
        "a.png": Rule.BINARY,
    }


def test_limits_on_size_and_count(tmp_path: Path) -> None:
    for name in "abcd":
        write(tmp_path, f"{name}.c")
    write(tmp_path, "0.c", "x" * 101)
    judge = walker(tmp_path, max_file_size=100, max_files=2)
    result = judge.walk()
    assert paths(result.files) == ["a.c", "b.c"]
    assert [(item.path, item.decision.rule) for item in result.skipped] == [
        ("0.c", Rule.TOO_LARGE),
        ("c.c", Rule.TOO_MANY),
        ("d.c", Rule.TOO_MANY),
    ]
    for item in result.skipped:
        assert judge.decide(item.path) == item.decision
        assert judge.found(item.path) == item


def kept(judge: DiskWalker) -> list[str]:
    return paths(judge.walk().files)


MANY_KINDS = (
    *("Documentation/a.rst", "arch/x86/boot/deep/early.c", "aaa.json", "net/ipv4/tcp_timer.c", "po/de.po"),
    *("mm/slab.c", "tools/testing/test_slab.c", "README.md", "a/b/c/d/e/f.json"),
)


def test_a_limit_keeps_what_matters_most_and_not_what_comes_first_in_the_alphabet(tmp_path: Path) -> None:
    for path in MANY_KINDS:
        write(tmp_path, path)
    assert kept(walker(tmp_path, max_files=2)) == ["mm/slab.c", "net/ipv4/tcp_timer.c"]
    assert kept(walker(tmp_path, max_files=4)) == [
        "arch/x86/boot/deep/early.c",
        "mm/slab.c",
        "net/ipv4/tcp_timer.c",
        "tools/testing/test_slab.c",
    ]
    assert kept(walker(tmp_path, max_files=len(MANY_KINDS))) == sorted(MANY_KINDS)
    judge = walker(tmp_path, max_files=3)
    result = judge.walk()
    assert result.first_beyond == "tools/testing/test_slab.c"
    for item in result.skipped:
        assert judge.decide(item.path) == item.decision == judge.subtree(item.path).skipped[0].decision
        assert judge.found(item.path) == item
    assert all(judge.decide(found.path).indexed for found in result.files)


def test_a_later_walker_applies_the_limit_as_the_whole_walk_did_and_keeps_what_is_kept(tmp_path: Path) -> None:
    for path in MANY_KINDS:
        write(tmp_path, path)
    result = walker(tmp_path, max_files=2).walk()
    later = walker(tmp_path, max_files=2)
    later.leave_out_from(result.first_beyond, lambda path: path == "aaa.json")
    write(tmp_path, "mm/new.c")
    write(tmp_path, "mm/very/deep/down/in/new.c")
    assert later.decide("mm/new.c").indexed
    assert later.decide("aaa.json").indexed, "it is in the index, and a limit on their number takes out no single file"
    assert paths(later.subtree("mm").files) == ["mm/new.c", "mm/slab.c"]
    assert later.decide("mm/very/deep/down/in/new.c").rule is Rule.TOO_MANY
    assert later.decide("README.md").rule is Rule.TOO_MANY
    later.leave_out_from(None, lambda _: False)
    assert later.decide("README.md").indexed


def test_documents_go_to_their_own_collection_or_nowhere(tmp_path: Path) -> None:
    for path in ("README.MD", "a.c", "doc/b.txt", "CMakeLists.txt"):
        write(tmp_path, path)
    collections = {file.path: file.collection for file in walker(tmp_path).walk().files}
    assert collections == {"README.MD": "docs", "a.c": "code", "doc/b.txt": "docs", "CMakeLists.txt": "code"}
    judge = walker(tmp_path, index_docs=False)
    assert paths(judge.walk().files) == ["CMakeLists.txt", "a.c"]
    assert judge.decide("doc/b.txt").rule is Rule.DOCS_OFF


def test_a_name_in_another_normal_form_is_offered_in_nfc_and_found_again(tmp_path: Path) -> None:
    write(tmp_path, "cafe\u0301/e\u0301.c")
    judge = walker(tmp_path)
    assert paths(judge.walk().files) == ["caf\u00e9/\u00e9.c"]
    assert isinstance(judge.found("caf\u00e9/\u00e9.c"), FoundFile)


def test_two_spellings_of_one_name_give_one_file(tmp_path: Path) -> None:
    write(tmp_path, "e\u0301.c", "decomposed")
    write(tmp_path, "\u00e9.c", "composed!")
    result = walker(tmp_path).walk()
    assert [(file.path, file.stat.size) for file in result.files] == [("\u00e9.c", 9)]
    assert [item.decision.rule for item in result.skipped] == [Rule.UNREADABLE]


def test_a_name_that_is_not_utf8_is_skipped_and_printable(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.c")).write_text("x")
    result = walker(tmp_path).walk()
    assert result.files == ()
    assert result.skipped[0].decision.rule is Rule.UNREADABLE
    assert result.skipped[0].path.encode()


def test_a_deep_tree_does_not_exhaust_the_stack(tmp_path: Path) -> None:
    deep = str(tmp_path)
    for _ in range(700):
        deep += "/d"
        os.mkdir(deep)  # noqa: PTH102  (pathlib's own is recursive)
    Path(deep, "a.c").write_text("x")
    assert len(walker(tmp_path).walk().files) == 1


def test_a_walk_can_be_cancelled_and_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(errors.Cancelled):
        walker(tmp_path).walk(lambda: True)
    with pytest.raises(errors.WorkspaceNotFound):
        walker(tmp_path / "missing").walk()


def test_missing_paths(tmp_path: Path) -> None:
    judge = walker(tmp_path)
    assert judge.decide("nothing/here.c").indexed
    assert judge.decide("node_modules/here.c").rule is Rule.DENIED
    assert judge.subtree("nothing").files == ()
    with pytest.raises(errors.FileNotFound):
        judge.found("nothing.c")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_folder_is_recorded(tmp_path: Path) -> None:
    write(tmp_path, "closed/a.c")
    (tmp_path / "closed").chmod(0)
    judge = walker(tmp_path)
    try:
        assert [(item.path, item.decision.rule) for item in judge.walk().skipped] == [("closed/", Rule.UNREADABLE)]
        assert judge.decide("closed/a.c").rule is Rule.UNREADABLE
    finally:
        (tmp_path / "closed").chmod(0o700)


@pytest.mark.parametrize("inode", [0, 7, 2**63 - 1, 2**63, 2**64 - 1, 2**64 + 7, 2**100 + 2**63 + 7])
@pytest.mark.parametrize("time", [-(2**70), -(2**63), 0, 2**63 - 1, 2**70])
def test_every_stat_can_be_stored_as_64_bits_also_of_a_file_system_with_longer_inodes(inode: int, time: int) -> None:
    found = SimpleNamespace(st_size=3, st_mtime_ns=time, st_ctime_ns=-time, st_ino=inode)
    stat = Stat.of(cast("Any", found))
    assert all(-(2**63) <= number < 2**63 for number in (stat.mtime_ns, stat.ctime_ns, stat.inode))
    assert (stat.inode - inode) % 2**64 == 0
    assert stat.mtime_ns == min(max(time, -(2**63)), 2**63 - 1)
