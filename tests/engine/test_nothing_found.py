"""An answer without results says which condition excluded everything, and what would help."""

from __future__ import annotations

import base64
import random
import shutil
import textwrap
from collections.abc import Callable

import pytest

from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import DocsIndexNotFound, FileNotFound
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled, no_progress
from tests.engine.projects import Project, find, index

pytestmark = pytest.mark.process

KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "\n".join(textwrap.wrap(base64.b64encode(random.Random(1).randbytes(1200)).decode(), 64))
    + "\n-----END RSA PRIVATE KEY-----\n"
)


@pytest.fixture
def workspace(project: Project) -> IndexedWorkspace:
    project.write("node_modules/left/pad.js", "export default 1\n")
    project.write(".env", "TOKEN=1\n")
    opened = project.open()
    index(opened)
    return opened


@pytest.fixture
def emptied(project: Project) -> Callable[..., IndexedWorkspace]:
    """Replaces the workspace's files by others, then opens and indexes it."""

    def of(files: dict[str, str]) -> IndexedWorkspace:
        shutil.rmtree(project.root)
        project.root.mkdir()
        for path, text in files.items():
            project.write(path, text)
        opened = project.open()
        index(opened)
        return opened

    return of


def reason(workspace: IndexedWorkspace, query: str = "retry", **fields: object) -> str:
    answer = workspace.search(SearchRequest(query, **fields), never_cancelled)  # type: ignore[arg-type]
    assert answer.hits == ()
    return answer.reason


def test_an_answer_with_results_has_no_reason(workspace: IndexedWorkspace) -> None:
    assert workspace.search(SearchRequest("retry"), never_cancelled).reason == ""
    assert workspace.find_paths("**", 10).reason == ""
    assert workspace.find_symbols("retry_with_backoff", [], 10).reason == ""


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"languages": ("pyton",)}, 'There is no language "pyton"; did you mean python?'),
        ({"languages": ("py",)}, 'There is no language "py"; did you mean python?'),
        ({"languages": ("klingon",)}, 'There is no language "klingon"; the indexed code has python, go, typescript.'),
        ({"languages": ("haskell",)}, 'No indexed code is in "haskell"; it has python, go, typescript.'),
        ({"kinds": ("funtion",)}, 'There is no kind "funtion"; did you mean function?'),
        ({"kinds": ("macro",)}, 'No indexed code has the kind "macro"; it has'),
        ({"kinds": ("spaceship",)}, 'There is no kind "spaceship"; the indexed code has'),
        ({"paths": ("scr/**",)}, '"scr/**" matches none of the 4 indexed files of code. Did you mean "src/**"?'),
        ({"paths": ("SRC/*.py",)}, 'Did you mean "src/*.py"?'),
        ({"paths": ("src/*.pyy",)}, 'Did you mean "src/*.py"?'),
        ({"paths": ("*.py",)}, 'Did you mean "**/*.py"?'),
        ({"paths": ("./scr/*.py",)}, 'Did you mean "src/*.py"?'),
        ({"paths": ("node_modules/**",)}, '"node_modules/" is left out: deny-list'),
        ({"paths": (".env",)}, '".env" is left out: secret-by-name'),
        ({"paths": ("docs/**",)}, "But 1 file of documentation matches; `search_docs` searches it."),
        ({"paths": ("zig/**", "zag/**")}, '"zig/**", "zag/**" match none of the 4 indexed files of code.'),
        (
            {"paths": ("src/http/**",), "languages": ("python",)},
            "at once. Of 4 passages, each alone lets through: paths 1, languages 2.",
        ),
        ({"exact": ("no such text",)}, 'No indexed code contains the text "no such text".'),
        ({"exact": ("no such text",), "languages": ("python",)}, 'No indexed code contains the text "no such text".'),
        (
            {"exact": ("CookieJar",), "languages": ("go",)},
            'each alone lets through: languages 1, the text "CookieJar" 1.',
        ),
        ({"offset": 50}, "The offset 50 is past the end, after "),
        ({"mode": "fts", "query": "zzqx ymir"}, "No indexed code contains any of these words: zzqx, ymir."),
        ({"mode": "fts", "query": "`create_index` zzqx"}, "any of these words: create_index, zzqx."),
        ({"mode": "fts", "query": "???"}, "The query has no letter or digit to look for."),
        (
            {"mode": "fts", "query": "zzqx", "languages": ("python",)},
            "No indexed code that passes the filters contains any of these words: zzqx.",
        ),
    ],
)
def test_a_search_without_results_says_what_left_nothing(
    workspace: IndexedWorkspace, filters: dict[str, object], said: str
) -> None:
    assert said in reason(workspace, **filters)  # type: ignore[arg-type]


def test_an_empty_workspace_says_that_it_has_no_files(emptied: Callable[..., IndexedWorkspace]) -> None:
    workspace = emptied({})
    assert reason(workspace) == "Nothing is indexed: the workspace has no files."
    assert workspace.find_paths("**/*.py", 5).reason == "Nothing is indexed: the workspace has no files."
    assert workspace.find_symbols("x", [], 5).reason == "Nothing is indexed: the workspace has no files."
    closest = workspace.find_closest("x", 5, 0.5, never_cancelled)
    assert closest.reason == "Nothing is indexed: the workspace has no files."


def test_of_one_file_it_speaks_in_the_singular(emptied: Callable[..., IndexedWorkspace]) -> None:
    workspace = emptied({"only.py": "def only():\n    pass\n"})
    assert reason(workspace, paths=("*.rs",)) == '"*.rs" does not match the only indexed file of code.'
    assert reason(workspace, paths=("a/*", "b/*")) == '"a/*", "b/*" do not match the only indexed file of code.'
    letters = workspace.find_paths_by_letters("zq", 5)
    assert letters.reason == 'The only indexed path does not have the letters "zq" in this order.'
    with pytest.raises(DocsIndexNotFound, match=r"The setting docPatterns does not match the only indexed file\."):
        find(workspace, "x", collection="docs")


def test_documentation_outside_of_the_patterns_of_an_index_is_said_to_be_outside(project: Project) -> None:
    workspace = project.open()
    workspace.index_matching(["**/*.py", "**/*.go"], False, no_progress, never_cancelled)
    with pytest.raises(DocsIndexNotFound) as none:
        find(workspace, "installation", collection="docs")
    assert none.value.detail == "Only **/*.py, **/*.go are indexed; `create_index` indexes the whole workspace."


def test_a_workspace_of_only_withheld_files_says_by_what_they_are_left_out(
    emptied: Callable[..., IndexedWorkspace],
) -> None:
    workspace = emptied({".env": "A=1\n", "keys/id_rsa": KEY, "note.py": KEY, "node_modules/a.js": "1"})
    said = reason(workspace)
    assert said.startswith("Nothing is indexed: everything is left out (")
    for rule in ("secret-by-name 2", "secret-by-content 1", "deny-list 1"):
        assert rule in said
    assert "`explain_path` says why for each path" in said
    with pytest.raises(DocsIndexNotFound) as none:
        find(workspace, "x", collection="docs")
    assert none.value.detail == said


def test_a_workspace_that_an_ignore_file_empties_says_which_line_did_it(project: Project) -> None:
    project.write(".gitignore", "/*\n*.md\n")
    opened = project.open()
    report = opened.create(no_progress, never_cancelled)
    said = reason(opened)
    assert "Nothing is indexed: everything is left out (gitignore " in said
    assert ', most by ".gitignore:1: /*"' in said
    assert report.notice == said
    assert said in opened.status().warning


def test_a_workspace_with_files_says_nothing_of_the_kind(workspace: IndexedWorkspace) -> None:
    assert "Nothing is indexed" not in workspace.status().warning


def test_a_workspace_of_documentation_alone_says_where_to_search(emptied: Callable[..., IndexedWorkspace]) -> None:
    workspace = emptied({"README.md": "# Hello\n"})
    assert reason(workspace) == "The only indexed file is documentation; `search_docs` searches it."


def test_documentation_that_is_not_there_is_said_to_be_turned_off_or_not_to_match(project: Project) -> None:
    for settings, said in (
        ({"indexDocs": False}, "The setting indexDocs is false: 2 files of documentation are left out."),
        ({"docPatterns": ["**/*.rst"]}, "The setting docPatterns matches none of the 6 indexed files."),
    ):
        project.flags.clear()
        project.flags.update(settings)
        workspace = project.open()
        index(workspace)
        with pytest.raises(DocsIndexNotFound) as none:
            find(workspace, "cookies", collection="docs")
        assert none.value.detail == said
        project.close()


@pytest.mark.parametrize(
    ("glob", "said"),
    [
        ("src/*.pyy", '"src/*.pyy" matches none of the 6 indexed files. Did you mean "src/*.py"?'),
        (".env", '".env" is left out: secret-by-name'),
        ("docs/*.rst", '"docs/*.rst" matches none of the 6 indexed files.'),
    ],
)
def test_a_glob_without_a_match_says_how_many_files_were_looked_at(
    workspace: IndexedWorkspace, glob: str, said: str
) -> None:
    answer = workspace.find_paths(glob, 10)
    assert answer.paths == ()
    assert said in answer.reason


def test_definitions_that_are_not_found_say_what_left_nothing(workspace: IndexedWorkspace) -> None:
    def said(name: str, *kinds: str) -> str:
        return workspace.find_symbols(name, kinds, 10).reason

    assert said("nosuchname") == 'No indexed definition is called "nosuchname", begins with it or has all its words.'
    assert said("CookieJar", "function").startswith('"CookieJar" is defined as class, and not as function.')
    assert 'There is no kind "clas"; did you mean class?' in said("CookieJar", "clas")


def test_a_threshold_that_nothing_reaches_says_how_close_the_closest_is(workspace: IndexedWorkspace) -> None:
    answer = workspace.find_closest("carburettor", 5, 0.999, never_cancelled)
    assert answer.hits == ()
    assert "The closest passage has a similarity of 0." in answer.reason
    assert "below the threshold 0.999" in answer.reason


def test_code_without_a_like_says_that_there_is_no_other(emptied: Callable[..., IndexedWorkspace]) -> None:
    workspace = emptied({"one.py": "def only(x):\n    return x\n"})
    answer = workspace.find_similar("one.py", 1, 0, 5, never_cancelled)
    assert answer.reason == "There is no other indexed code to compare it with."


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (".env", '".env" is left out: secret-by-name'),
        ("node_modules/left/pad.js", '"node_modules/" is left out: deny-list'),
        ("src/retri.py", '"src/retri.py" is not in the index. Did you mean "src/retry.py"?'),
        ("retry.py", '"retry.py" is not in the index. Did you mean "src/retry.py"?'),
        ("a/b/c.zig", '"a/b/c.zig" is not in the index; `explain_path` says why.'),
    ],
)
def test_a_path_that_is_not_in_the_index_says_why(workspace: IndexedWorkspace, path: str, said: str) -> None:
    with pytest.raises(FileNotFound) as missing:
        workspace.find_similar(path, 1, 0, 5, never_cancelled)
    assert said in missing.value.detail
