"""Odd entries of a workspace: each is indexed or named with a reason, and all others are indexed as without them."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.engine.models.loader import Models
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import InvalidParams
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled
from sidecar.parts.left_out import is_at_or_below
from sidecar.parts.manifest_reads import read_failures, read_skips
from sidecar.parts.paths import storable
from tests.circumstances import as_somebody
from tests.engine.projects import FILES, Project, find, index
from tests.examples import examples

YEAR_2300_S = 10_413_792_000
PATH_MAX = 4095


@contextmanager
def open_project(models: Models, name: str = "work", **hooks: Any) -> Iterator[Project]:
    """A small workspace that anybody may enter."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        made = Project(place / name, place / "home", {}, models, [], prepares_here=True, **hooks)
        made.root.mkdir()
        for path, text in FILES.items():
            made.write(path, text)
        try:
            yield made
        finally:
            made.close()
            for at, folders, _ in os.walk(os.fsencode(place)):
                for inner in folders:
                    os.chmod(os.path.join(at, inner), 0o755)  # noqa: PTH101, PTH118


def held(workspace: IndexedWorkspace) -> dict[str, tuple[bytes, int]]:
    """Returns, by path, the hash of the text that was read and the number of chunks."""
    with workspace.index.readable().snapshots.open() as snapshot:
        return {
            path: (bytes(sha256), chunks)
            for path, sha256, chunks in snapshot.connection.execute(
                "SELECT f.path, f.sha256, count(c.id) FROM files f LEFT JOIN chunks c ON c.file_id = f.id GROUP BY f.id"
            )
        }


def named(workspace: IndexedWorkspace) -> dict[str, str]:
    """Returns what is left out or failed, and why."""
    with workspace.index.readable().snapshots.open() as snapshot:
        left_out = {skip.path.rstrip("/"): skip.decision.detail for skip in read_skips(snapshot.connection)}
        return {**left_out, **dict(read_failures(snapshot.connection))}


# ---------------------------------------------------------------- what an entry may be


def file(place: bytes) -> None:
    with open(place, "wb") as made:  # noqa: PTH123
        made.write(b"def odd():\n    return 1\n")


def pipe(place: bytes) -> None:
    os.mkfifo(place)


def listening(place: bytes) -> None:
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(os.path.dirname(place))  # noqa: PTH120
        try:
            made.bind(b"./" + os.path.basename(place)[:90])  # noqa: PTH119
        finally:
            os.chdir(here)


def link(target: bytes) -> Callable[[bytes], None]:
    return lambda place: os.symlink(target, place)  # noqa: PTH211


def circle(place: bytes) -> None:
    os.symlink(os.path.basename(place), place)  # noqa: PTH119, PTH211


def at_time(seconds: int) -> Callable[[bytes], None]:
    def make(place: bytes) -> None:
        file(place)
        os.utime(place, (seconds, seconds))

    return make


def folder(mode: int) -> Callable[[bytes], None]:
    def make(place: bytes) -> None:
        os.mkdir(place)  # noqa: PTH102
        file(place + b"/inside.py")
        os.chmod(place, mode)  # noqa: PTH101

    return make


def closed(place: bytes) -> None:
    file(place)
    os.chmod(place, 0)  # noqa: PTH101


def notebook(source: str, name: str = "source") -> Callable[[bytes], None]:
    """Names with half a character, or empty names."""
    cell = {"cell_type": "code", name: [source, source]}
    text = json.dumps({"nbformat": 4, "metadata": {"": {}, "language_info": {"name": ""}}, "cells": [cell]})

    def make(place: bytes) -> None:
        with open(place[: -len(b".ipynb")] + b".ipynb", "wb") as made:  # noqa: PTH123
            made.write(text.encode())

    return make


def deep(place: bytes) -> None:
    """Makes nested folders until a path has as many bytes as the system allows."""
    os.mkdir(place)  # noqa: PTH102
    at, length = os.open(place, os.O_RDONLY), len(place)
    while PATH_MAX - length > 1:
        name = b"d" * min(200, PATH_MAX - length - 1)
        os.mkdir(name, dir_fd=at)
        inner = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(os.open(b"f.py", os.O_WRONLY | os.O_CREAT, dir_fd=inner))
        os.close(at)
        at, length = inner, length + 1 + len(name)
    os.close(at)


KINDS: dict[str, Callable[[bytes], None]] = {
    "file": file,
    "pipe": pipe,
    "socket": listening,
    "device": link(b"/dev/zero"),
    "dangling": link(b"nowhere"),
    "circle": circle,
    "up": link(b".."),
    "1901": at_time(-(2**31)),
    "before 1970": at_time(-1),
    "1970": at_time(0),
    "2300": at_time(YEAR_2300_S),
    "no entry": folder(0o644),
    "no listing": folder(0o311),
    "nothing": folder(0),
    "closed": closed,
    "surrogate": notebook("x = '\ud800'\n# \udc00\n"),
    "no source": notebook("", ""),
    "deep": deep,
}

NAMES = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.sampled_from(
        [b"new\nline", b"tab\t", b"\x1b[2J", b"\xff\xfe", b"\xed\xa0\x80", b" ", b"\\", b'"', b"e\xcc\x81"]
    ),
    st.integers(200, 248).map(lambda size: b"n" * size),
).filter(lambda name: not {b"/", b"\0"} & {name[at : at + 1] for at in range(len(name))})
ENTRIES = st.lists(st.tuples(st.sampled_from(sorted(KINDS)), NAMES), min_size=1, max_size=6)


def put(root: Path, where: str, entries: list[tuple[str, bytes]]) -> list[str]:
    """Makes the entries, and returns their paths as the index spells them."""
    base = os.fsencode(root / where)
    for number, (kind, name) in enumerate(entries):
        KINDS[kind](base + b"/%d" % number + name[:245] + b".ipynb")
    names = [os.fsdecode(name) for name in os.listdir(base)]  # noqa: PTH208
    prefix = f"{where}/" if where else ""
    spelled = (prefix + storable(unicodedata.normalize("NFC", name)) for name in names)
    return [path for path in spelled if path not in FILES and not is_at_or_below(path, {"src", "docs"} - {where})]


@pytest.fixture(scope="module")
def undisturbed(models: Models) -> dict[str, tuple[bytes, int]]:
    """Returns the image of the workspace without odd entries."""
    with open_project(models) as project:
        workspace = project.open()
        index(workspace)
        return held(workspace)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(entries=ENTRIES, where=st.sampled_from(["", "src"]), privileged=st.booleans())
def test_the_rest_is_indexed_as_without_them_and_each_is_indexed_or_named(
    models: Models,
    undisturbed: dict[str, tuple[bytes, int]],
    entries: list[tuple[str, bytes]],
    where: str,
    privileged: bool,
) -> None:
    hooks: dict[str, Any] = {} if privileged else {"around_walking": as_somebody}
    with open_project(models, **hooks) as project:
        odd = put(project.root, where, entries)
        workspace = project.open()
        index(workspace)
        files, reasons = held(workspace), named(workspace)
        assert {path: files.get(path) for path in undisturbed} == undisturbed
        for path in odd:
            inside = [known for known in (*files, *reasons) if is_at_or_below(known, {path})]
            assert inside, f"{path!r} is neither indexed nor named"
        assert all(reasons.values())
        status = workspace.status()
        assert status.status == "ready"
        assert index(workspace).removed == 0
        assert held(workspace) == files
        assert find(workspace, "retry with backoff", mode="fts")[0] == "src/retry.py"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_oddity_once(models: Models, undisturbed: dict[str, tuple[bytes, int]], kind: str) -> None:
    with open_project(models, around_walking=as_somebody) as project:
        odd = put(project.root, "", [(kind, b"odd")])
        workspace = project.open()
        index(workspace)
        files, reasons = held(workspace), named(workspace)
        assert {path: files.get(path) for path in undisturbed} == undisturbed
        for path in odd:
            assert any(is_at_or_below(known, {path}) for known in (*files, *reasons))


def test_files_that_go_between_the_look_and_the_reading_are_gone(
    models: Models, undisturbed: dict[str, tuple[bytes, int]]
) -> None:
    with open_project(models) as project:
        for number in range(20):
            project.write(f"going/{number}.py", "x = 1\n")
        project.before_reading = lambda path: (project.root / path).unlink() if path.startswith("going/") else None
        workspace = project.open()
        assert index(workspace).errors == 0
        assert held(workspace) == undisturbed


def test_half_a_character_in_a_notebook_or_in_an_editor_fails_nothing(models: Models) -> None:
    with open_project(models) as project:
        put(project.root, "", [("surrogate", b"odd")])
        workspace = project.open()
        assert index(workspace).errors == 0
        assert "0odd.ipynb" in held(workspace)
        workspace.set_buffer("src/retry.py", "def retry_\ud800(call):\n    return call()\n")
        assert find(workspace, "cookie jar", mode="fts")
        assert workspace.status().errors == ()
        assert workspace.status().pending_files == 0
        with pytest.raises(InvalidParams):
            workspace.set_buffer("src/\ud800.py", "x = 1\n")


@pytest.mark.parametrize(
    "path",
    [
        "x" * 4000,
        "a/" * 2000,
        "/".join(["y" * 199] * 20),
        "/".join(["z" * 239] * 17),
        "\u00e9" * 2000,
        "n" * 256,
        "a\nb",
        "\x01",
    ],
)
def test_a_path_that_no_file_can_have_is_explained(models: Models, path: str) -> None:
    with open_project(models, "long" * 30) as project:
        workspace = project.open()
        assert not workspace.explain(path).in_index
        index(workspace)
        explained = workspace.explain(path)
        assert explained.decision.rule.value in ("no-such-file", "unreadable")
        assert explained.decision.detail
        assert not explained.in_index
        assert workspace.search(SearchRequest("cookies", mode="fts"), never_cancelled).notice == ""


def test_a_path_with_half_a_character_is_refused_with_the_reason(models: Models) -> None:
    with open_project(models) as project:
        workspace = project.open()
        index(workspace)
        with pytest.raises(InvalidParams, match="not valid Unicode"):
            workspace.explain("a\ud800.py")


NO_UNICODE = {b"half\xff.py": "file", b"\xed\xa0\x80.py": "file", b"caf\xe9": "folder"}


def test_names_that_are_no_unicode_are_counted_and_explained_with_all_others(models: Models) -> None:
    with open_project(models) as project:
        for name, kind in NO_UNICODE.items():
            place = os.fsencode(project.root / "src") + b"/" + name
            if kind == "folder":
                os.mkdir(place)  # noqa: PTH102
                place += b"/inside.py"
            Path(os.fsdecode(place)).write_text("def never_indexed():\n    return 1\n")
        workspace = project.open()
        index(workspace)
        assert workspace.explain("src").decision.detail == "4 files in it are indexed"
        status = workspace.status()
        assert status.files == len(held(workspace))
        assert status.skipped["unreadable"] == len(NO_UNICODE)
        stored = {path: reason for path, reason in named(workspace).items() if "UTF-8" in reason}
        assert len(stored) == len(NO_UNICODE)
        for path in stored:  # what a person can copy from the status
            path.encode()
            assert not workspace.explain(path.rstrip("/")).in_index
        for name in NO_UNICODE:
            with pytest.raises(InvalidParams, match="not valid Unicode"):
                workspace.explain(f"src/{os.fsdecode(name)}")
        assert find(workspace, "never_indexed", mode="fts") == []
        assert status.warning == ""
