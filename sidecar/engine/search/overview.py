"""Makes an overview of a workspace from the index alone: its languages, files of its build, program starts, settings,
tests, and central files.

A file is central if it is long and many files name it (`rank/mentions.py`). Everything else follows from paths and from
definitions called `main`. No file is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from sidecar.engine.search.absent import why_nothing_is_indexed
from sidecar.engine.search.rank.index_columns import columns_of
from sidecar.engine.search.rank.mentions import mentions_of
from sidecar.engine.search.rank.paths import PathTable, path_facts
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.model.answers import CentralFile, OverviewAnswer
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.lexical.definitions import find_definitions, find_main_definition

_BUILD = frozenset(
    "makefile gnumakefile justfile taskfile.yml rakefile gemfile cmakelists.txt meson.build meson_options.txt"
    " configure.ac build.zig package.json cargo.toml pyproject.toml setup.py setup.cfg tox.ini noxfile.py pytest.ini"
    " pom.xml build.xml build.gradle build.gradle.kts build.sbt build.sc mix.exs composer.json phpunit.xml"
    " phpunit.xml.dist go.mod stack.yaml package.swift dune-project .travis.yml".split()
)
_WORKFLOW = re.compile(r"^\.github/workflows/(?:build|check|ci|linux|pull|tests?)[^/]*$")
_PROGRAM_FOLDER = re.compile(r"(?:^|/)(?:bin|cmd|exe)/")
_PROGRAM_STEMS = frozenset("main __main__ cli app index cmdline program entry server".split())
_SETTINGS = re.compile(r"config|settings|options|flags|preferences", re.IGNORECASE)
_TEST_SUPPORT = re.compile(r"helper|conftest|setup|utils?\b|integration", re.IGNORECASE)
_HIDDEN = re.compile(r"(?:^|/)\.")
_SHELLS = frozenset({"bash", "fish", "powershell"})
_EXAMINED = 2_000
"""The maximum number of files, the longest first, among which central ones are looked for."""
_MOST_BYTES = 3_600
"""The maximum bytes of all paths and names of an overview together, so that it has at most 1,500 tokens."""


@dataclass(frozen=True)
class _Files:
    """The files of one snapshot. `code` and `tests` are rows of files with code; `lines` has the number of lines of
    each file, shape [files]."""

    paths: list[str]
    languages: list[str]
    lines: Floats
    code: list[int]
    tests: list[int]

    def stem(self, row: int) -> str:
        """Returns the file's name up to its first dot, in lower case."""
        return PurePosixPath(self.paths[row]).name.partition(".")[0].lower()

    def depth(self, row: int) -> int:
        """Returns the number of folders above the file."""
        return self.paths[row].count("/")


class _Budget:
    """The bytes that are left for the texts of an overview."""

    def __init__(self) -> None:
        self._left = _MOST_BYTES

    def takes(self, text: str) -> bool:
        """Whether this text still fits. If it does, its bytes are subtracted."""
        size = len(text.encode()) + 2
        if size <= self._left:
            self._left -= size
            return True
        return False

    def some(self, texts: Iterable[str], most: int) -> tuple[str, ...]:
        """Returns the first of these texts that fit, at most `most`."""
        chosen: list[str] = []
        for text in texts:
            if len(chosen) < most and self.takes(text):
                chosen.append(text)
        return tuple(chosen)


def overview_of(snapshot: SearchedSnapshot, central: int) -> OverviewAnswer:
    """Returns the overview of a snapshot, with at most `central` central files."""
    if not snapshot.paths:
        return OverviewAnswer(reason=why_nothing_is_indexed(snapshot))
    files, budget = _files_of(snapshot), _Budget()
    scores, users = _centrality(snapshot, files)
    order = [files.code[place] for place in np.argsort(-scores, kind="stable").tolist()]
    named_by = dict(zip(files.code, users.tolist(), strict=True))
    folders = Counter(str(PurePosixPath(files.paths[row]).parent) for row in files.tests)
    return OverviewAnswer(
        files=len(snapshot.paths),
        code_files=len(files.code),
        languages=_languages(files),
        build=budget.some(_build_files(files), 9),
        starts=budget.some((files.paths[row] for row in _starts(snapshot, files)), 6),
        settings=budget.some((files.paths[row] for row in order if _is_settings(files.paths[row])), 4),
        test_folders=tuple(
            (folder, folders[folder]) for folder in budget.some((f for f, _ in folders.most_common()), 3)
        ),
        test_support=budget.some(_test_support(files), 3),
        central=tuple(_central(snapshot, order[:central], named_by, budget)),
    )


def _files_of(snapshot: SearchedSnapshot) -> _Files:
    lines = np.zeros(len(snapshot.paths), np.float32)
    np.maximum.at(lines, snapshot.chunk_file, snapshot.chunk_end.astype(np.float32))
    in_code = np.asarray(snapshot.file_collection == 0)
    is_prose = PathTable(snapshot.paths, snapshot.languages, in_code).prose > 0
    code: list[int] = []
    tests: list[int] = []
    for row in np.flatnonzero(in_code & ~is_prose).tolist():
        path = snapshot.paths[row]
        facts = path_facts(path)
        if facts.test or facts.record:
            tests.append(row)
        elif not facts.example and not facts.foreign and not _HIDDEN.search(path):
            code.append(row)
    return _Files(snapshot.paths, snapshot.languages, lines, code, tests)


def _languages(files: _Files) -> tuple[tuple[str, int], ...]:
    lines: Counter[str] = Counter()
    for row in (*files.code, *files.tests):
        lines[files.languages[row]] += int(files.lines[row])
    return tuple(lines.most_common(4))


def _centrality(snapshot: SearchedSnapshot, files: _Files) -> tuple[Floats, Floats]:
    """Returns how central each file with code is, and how many files name it; both have the shape [files.code].

    A name that nearly every file contains (`main`, `github`) is a common word, so it counts for less.
    """
    rows = np.array(files.code, np.int32)
    lines = files.lines[rows]
    users = np.zeros(len(rows), np.float32)
    examined = np.sort(np.argsort(-lines, kind="stable")[:_EXAMINED])
    if len(examined):
        users[examined] = mentions_of(snapshot, columns_of(snapshot, 0), rows[examined]).counts
    files_of_code = int(np.count_nonzero(snapshot.file_collection == 0))
    share = users / max(1, files_of_code)
    return np.log1p(users) * np.sqrt(lines) * np.sqrt(1 - np.minimum(share, 1)), users


def _build_files(files: _Files) -> list[str]:
    """Returns the files that say how the workspace is built and tested: those nearest to the root first, workflows
    last."""
    found = [
        path
        for path in files.paths
        if (PurePosixPath(path).name.lower() in _BUILD and not any(path_facts(path)[:3])) or _WORKFLOW.match(path)
    ]
    return sorted(found, key=lambda path: (bool(_WORKFLOW.match(path)), path.count("/"), path))


def _starts(snapshot: SearchedSnapshot, files: _Files) -> list[int]:
    """Returns the rows of files that look like the start of a program, the likeliest first."""
    mains = _files_with_main(snapshot)
    found: list[tuple[float, str, int]] = []
    for row in files.code:
        path = files.paths[row]
        signs = (
            3.0 * (row in mains) + 2.0 * (files.stem(row) in _PROGRAM_STEMS) + 2.0 * bool(_PROGRAM_FOLDER.search(path))
        )
        if signs:
            signs -= 0.5 * files.depth(row) + 2.0 * (files.languages[row] in _SHELLS)
            found.append((-signs, path, row))
    return [row for _, _, row in sorted(found)]


def _files_with_main(snapshot: SearchedSnapshot) -> set[int]:
    found = find_definitions(snapshot.connection, ["main"])
    ids = np.array([row.file_id for row in found if row.kind != "section"], np.int64)
    return set(snapshot.file_rows(ids).tolist())


def _is_settings(path: str) -> bool:
    place = PurePosixPath(path)
    return bool(_SETTINGS.search(place.name.partition(".")[0]) or _SETTINGS.search(place.parent.name))


def _test_support(files: _Files) -> list[str]:
    """Returns the files that tests share, those nearest to the root first."""
    found = [files.paths[row] for row in files.tests if _TEST_SUPPORT.search(PurePosixPath(files.paths[row]).name)]
    return sorted(found, key=lambda path: (path.count("/"), path))


def _central(
    snapshot: SearchedSnapshot, rows: Iterable[int], named_by: Mapping[int, float], budget: _Budget
) -> Iterator[CentralFile]:
    for row in rows:
        path = snapshot.paths[row]
        main = find_main_definition(snapshot.connection, int(snapshot.file_ids[row]))
        name = main.name if main else ""
        if budget.takes(f"{path} {name}"):
            yield CentralFile(path, name, int(named_by[row]))
