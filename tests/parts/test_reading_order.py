"""The order in which the files of a workspace are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.model.files import FoundFile, Stat
from sidecar.parts.languages import is_documentation
from sidecar.parts.reading_order import reading_order, worth_of
from sidecar.settings.values import DEFAULTS

_NAMES = st.sampled_from(
    "main.py base.rb tcp.c app.ts README.md notes.txt data.json de.yml ci.yml Makefile test_main.py a_spec.rb x".split()
)
_FOLDERS = st.lists(st.sampled_from("lib src test docs .github locales de kernel vendor".split()), max_size=4)
_PATHS = st.builds(lambda folders, name: "/".join([*folders, name]), _FOLDERS, _NAMES)
_WORKSPACES = st.lists(_PATHS, max_size=30, unique=True)


def found(path: str) -> FoundFile:
    docs = is_documentation(path, DEFAULTS["docPatterns"])
    return FoundFile(path, Stat(100, 0, 0, 0), "docs" if docs else "code")


def order(*paths: str, open_files: tuple[str, ...] = (), recent: tuple[str, ...] = ()) -> list[str]:
    return [file.path for file in reading_order(map(found, paths), open_files, recent)]


@given(_WORKSPACES, st.lists(_PATHS, max_size=5), st.lists(_PATHS, max_size=5))
def test_every_file_is_read_once(paths: list[str], opened: list[str], recent: list[str]) -> None:
    assert sorted(order(*paths, open_files=tuple(opened), recent=tuple(recent))) == sorted(paths)


@given(_WORKSPACES, st.lists(_PATHS, max_size=5), st.lists(_PATHS, max_size=5))
def test_ordering_again_changes_nothing(paths: list[str], opened: list[str], recent: list[str]) -> None:
    once = order(*paths, open_files=tuple(opened), recent=tuple(recent))
    assert order(*once, open_files=tuple(opened), recent=tuple(recent)) == once


@given(_WORKSPACES)
def test_files_that_are_alike_keep_their_order(paths: list[str]) -> None:
    def alike(path: str) -> tuple[int, int]:
        return worth_of(found(path)), path.count("/")

    ordered = order(*paths)
    for kind in {alike(path) for path in paths}:
        assert [p for p in ordered if alike(p) == kind] == [p for p in paths if alike(p) == kind]


@given(_WORKSPACES, st.data())
def test_open_files_come_before_all_others(paths: list[str], data: st.DataObject) -> None:
    opened = data.draw(st.lists(st.sampled_from(paths), unique=True)) if paths else []
    ordered = order(*paths, open_files=tuple(opened))
    assert set(ordered[: len(opened)]) == set(opened)


@given(_WORKSPACES, st.data())
def test_what_has_changed_lately_comes_first_among_files_of_its_kind(paths: list[str], data: st.DataObject) -> None:
    recent = data.draw(st.lists(st.sampled_from(paths), unique=True)) if paths else []
    ordered = order(*paths, recent=tuple(recent))
    for kind in {worth_of(found(path)) for path in paths}:
        of_kind = [path for path in ordered if worth_of(found(path)) == kind]
        lately = [path for path in recent if worth_of(found(path)) == kind]
        assert of_kind[: len(lately)] == lately


def test_code_beside_an_open_file_comes_before_other_code_and_after_what_has_changed_lately() -> None:
    far = "kernel/src/net/"
    ordered = order(
        "main.py", f"{far}tcp.c", "lib/x.py", f"{far}README.md", f"{far}udp.c",
        open_files=(f"{far}udp.c",), recent=("lib/x.py",),
    )  # fmt: skip
    assert ordered == [f"{far}udp.c", "lib/x.py", f"{far}tcp.c", "main.py", f"{far}README.md"]


@given(_WORKSPACES)
def test_files_near_the_root_come_first_among_files_of_their_kind(paths: list[str]) -> None:
    ordered = order(*paths)
    for kind in {worth_of(found(path)) for path in paths}:
        depths = [path.count("/") for path in ordered if worth_of(found(path)) == kind]
        assert depths == sorted(depths)


def test_code_comes_before_tests_texts_data_workflows_and_translations() -> None:
    assert order(
        ".github/workflows/ci.yml",
        "config/locales/de.yml",
        "docs/index.md",
        "locale/sv/LC_MESSAGES/app.po",
        "package.json",
        "spec/models/user_spec.rb",
        "app/models/user.rb",
    ) == [
        "app/models/user.rb",
        "spec/models/user_spec.rb",
        "docs/index.md",
        "package.json",
        ".github/workflows/ci.yml",
        "config/locales/de.yml",
        "locale/sv/LC_MESSAGES/app.po",
    ]


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("drivers/net/ethernet/intel/e1000/e1000_main.c", "Documentation/index.rst"),
        ("net/ipv4/tcp_timer.c", "tools/testing/selftests/net/tcp.c"),
        ("pkg/server/handler.go", "pkg/handler_test.go"),
        ("web/src/components/Button.tsx", "web/Button.spec.tsx"),
        ("deep/down/in/the/tree/main.zig", "CHANGELOG.md"),
        ("src/i18n/plural.ts", "src/i18n/pl.json"),
        ("docs/en/index.md", "docs/pt-BR/index.md"),
        ("Makefile", "deny.toml"),
        ("app/Mailer.java", "app/MailerTest.java"),
        ("src/contest.py", "src/test_contest.py"),
    ],
)
def test_this_file_is_read_before_that(first: str, later: str) -> None:
    assert order(later, first) == [first, later]
