"""Real workspaces for the engine's tests: real files, the shipped model, a vector store in memory, and no door."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.snapshot import Snapshot
from sidecar.engine.index.vector_cache import MOST_BYTES
from sidecar.engine.models.loader import Models
from sidecar.engine.ports import MakeStore, MakeWalker, Preparers, VectorStore, Watching
from sidecar.engine.update.live import LiveTimes
from sidecar.engine.wiring import make_store, real_parts
from sidecar.engine.workspace import IndexedWorkspace, WorkspaceModels
from sidecar.model.answers import SearchRequest
from sidecar.model.files import Decision, FileContent, FoundFile, SkippedPath, WalkResult
from sidecar.model.terms import Collection, IsCancelled, Vectors, never_cancelled, no_progress
from sidecar.parts.embed.catalog import load_catalog
from sidecar.parts.embed.published import load_published
from sidecar.parts.lease import Lease
from sidecar.parts.lexical.postings import read_bodies
from sidecar.parts.vectors.in_memory import InMemoryStore
from sidecar.parts.watched_folders import JudgedFolder
from sidecar.settings.load import Settings
from tests.engine.preparers_here import PreparersHere

_CATALOG = load_catalog()
QUICK = _CATALOG.default
"""The shipped default model, a table."""
SLOW = next(model.entry.id for model in load_published(_CATALOG.folder) if model.released)
"""Our own transformer, whose files a checkout has."""

FILES = {
    "src/retry.py": (
        '"""Retries of calls."""\n\n\ndef retry_with_backoff(call, attempts):\n'
        '    """Call again with exponential backoff."""\n    for attempt in range(attempts):\n'
        "        delay = 2 ** attempt\n        wait(delay)\n    return call()\n"
    ),
    "src/cookies.py": (
        "class CookieJar:\n    def set_cookie(self, cookie):\n        self.cookies[cookie.name] = cookie\n\n"
        "    def expire(self, now):\n        self.cookies = [c for c in self.cookies if c.expires > now]\n"
    ),
    "src/http/server.go": (
        "package http\n\n// ListenAndServe accepts connections on addr.\n"
        "func ListenAndServe(addr string) error {\n\treturn serve(addr)\n}\n"
    ),
    "src/parse.ts": "export function parseQueryString(text: string): Map<string, string> {\n  return split(text)\n}\n",
    "README.md": "# Example\n\nA small program.\n\n## Installation\n\nRun the installer and wait for it.\n",
    "docs/guide.md": "# Guide\n\n## Cookies\n\nCookies expire after a day.\n",
}


def make_store_in_memory(_settings: Settings, _folder: Path, dimension: int, _model_id: str, _root: str) -> VectorStore:
    return InMemoryStore(dimension)


@dataclass
class Project:
    """A workspace folder and the engine over it. Each `open()` makes a new engine, as in a new process.

    `vector_memory_bytes`: with 0, no vector fits, and the vector store is filled and kept open.
    """

    root: Path
    home: Path
    flags: dict[str, Any]
    models: Models
    opened: list[IndexedWorkspace]
    make_store: MakeStore = make_store_in_memory
    vector_memory_bytes: int = MOST_BYTES
    watcher: bool = False
    preparers: Preparers | None = None
    prepares_here: bool = False
    before_reading: Callable[[str], object] | None = None
    after_walking: Callable[[], object] | None = None
    make_watcher: Callable[..., Watching] | None = None
    around_walking: Callable[[], AbstractContextManager[object]] | None = None

    def open(self, *, models: WorkspaceModels | None = None, **times: Any) -> IndexedWorkspace:
        """`times` are those of `LiveTimes`, in seconds."""
        parts = real_parts(self.flags, {}, {"SIDECAR_HOME": str(self.home), "HOME": str(self.home)})
        parts = replace(parts, make_store=self.make_store, vector_memory_bytes=self.vector_memory_bytes)
        if self.before_reading is not None:
            parts = replace(parts, read_file=partial(_read_after, self.before_reading, parts.read_file))
        if self.preparers is not None:
            parts = replace(parts, preparers=self.preparers)
        elif self.prepares_here or self.before_reading is not None:
            parts = replace(parts, preparers=PreparersHere(parts))
        if self.make_watcher is not None:
            parts = replace(parts, make_watcher=self.make_watcher)
        if self.after_walking is not None:
            parts = replace(parts, make_walker=partial(_Followed, self.after_walking, parts.make_walker))
        if self.around_walking is not None:
            parts = replace(parts, make_walker=partial(_Within, self.around_walking, parts.make_walker))
        workspace = IndexedWorkspace(
            str(self.root),
            IndexLayout(self.home, str(self.root)),
            parts,
            models or self.models,
            Lease,
            LiveTimes(**{"stay": 0.0 if self.watcher else 1e6, "freshness": 30.0, **times}),
        )
        self.opened.append(workspace)
        return workspace

    def keep_chroma(self) -> None:
        """From the next `open()` on, the store is Chroma, and no vector fits into memory: it is kept open."""
        self.make_store, self.vector_memory_bytes = make_store, 0

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(
            ["git", *who, *arguments], cwd=self.root, check=True, capture_output=True, env={**os.environ, "HOME": "/"}
        )

    def close(self) -> None:
        for workspace in self.opened:
            workspace.close()
        self.opened.clear()


def _read_after(
    first: Callable[[str], object], read: Callable[..., FileContent], root: str, path: str, most: int
) -> Any:
    first(path)
    return read(root, path, most)


class _Followed:
    """A walker that calls a function after each walk."""

    def __init__(self, then: Callable[[], object], make: MakeWalker, *options: Any) -> None:
        self._then = then
        self._walker = make(*options)

    def walk(self, cancelled: IsCancelled = never_cancelled) -> WalkResult:
        result = self._walker.walk(cancelled)
        self._then()
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._walker, name)


class _Within:
    """A walker that reads the disk inside a given context."""

    def __init__(
        self,
        around: Callable[[], AbstractContextManager[object]],
        make: MakeWalker,
        *options: Any,
    ) -> None:
        self._around = around
        self._walker = make(*options)

    def walk(self, cancelled: IsCancelled = never_cancelled) -> WalkResult:
        with self._around():
            return self._walker.walk(cancelled)

    def near_the_root(self, enough: int, cancelled: IsCancelled) -> Sequence[FoundFile]:
        with self._around():
            return self._walker.near_the_root(enough, cancelled)

    def leave_out_from(self, path: str | None, is_kept: Callable[[str], bool]) -> None:
        self._walker.leave_out_from(path, is_kept)

    def keep(self, is_indexed: Callable[[str], bool]) -> None:
        self._walker.keep(is_indexed)

    def subtree(self, path: str) -> WalkResult:
        with self._around():
            return self._walker.subtree(path)

    def found(self, path: str) -> FoundFile | SkippedPath:
        with self._around():
            return self._walker.found(path)

    def judged(self, folder: str) -> JudgedFolder:
        return self._walker.judged(folder)

    def is_there(self, path: str) -> bool:
        with self._around():
            return self._walker.is_there(path)

    def decide(self, path: str) -> Decision:
        with self._around():
            return self._walker.decide(path)


def index(workspace: IndexedWorkspace) -> Any:
    return workspace.refresh(no_progress, never_cancelled)


def find(workspace: IndexedWorkspace, query: str, **fields: Any) -> list[str]:
    """Paths of the hits, best first."""
    answer = workspace.search(SearchRequest(query, **fields), never_cancelled)
    return [hit.path for hit in answer.hits]


_ALIKE = 2e-4
"""Vectors are kept as float16, whose last digit may depend on the texts that were embedded together."""


@dataclass(frozen=True, eq=False)
class Near:
    """A vector that equals all that are close to it. Rounding would not do: any two that differ lie on both sides of a
    limit somewhere, in one of some million numbers."""

    vector: Vectors

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Near) or self.vector.shape != other.vector.shape:
            return False
        return bool(np.abs(self.vector - other.vector).max(initial=0) < _ALIKE)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Image:
    """What an index holds, free of ids: two indexes of the same files are equal."""

    files: tuple[tuple[Any, ...], ...]
    chunks: tuple[tuple[Any, ...], ...]
    vectors: dict[tuple[str, int], Near]
    lexical: dict[str, tuple[tuple[Any, ...], ...]]
    definitions: tuple[tuple[Any, ...], ...]
    stored: tuple[int, int]


def image(
    workspace: IndexedWorkspace,
    terms: tuple[str, ...] = ("cooki", "expir", "retri", "return", "serv"),
    *,
    store: bool = True,
) -> Image:
    """Without `store`, the vector store is not opened."""
    generation = workspace.index.readable()
    with generation.snapshots.open() as snapshot:
        vectors, found = snapshot.vectors(np.arange(len(snapshot.chunk_ids), dtype=np.int32))
        assert found.all(), "every chunk has a vector"
        where = [(snapshot.paths[f], int(s)) for f, s in zip(snapshot.chunk_file, snapshot.chunk_start, strict=True)]
        chunks = sorted(
            (*place, int(end), c.text, c.kind, c.names, c.enclosing)
            for place, end, c in zip(where, snapshot.chunk_end, snapshot.stored_chunks(range(len(where))), strict=True)
        )
        return Image(
            files=tuple(
                snapshot.connection.execute("SELECT path, collection, language, parser, sha256 FROM files ORDER BY 1")
            ),
            chunks=tuple(chunks),
            vectors={place: Near(vector) for place, vector in zip(where, vectors, strict=True)},
            lexical={t: _postings(snapshot, t) for t in terms},
            definitions=_definitions(snapshot),
            stored=_stored(workspace, snapshot) if store else (0, 0),
        )


def _postings(snapshot: Snapshot, term: str) -> tuple[tuple[Any, ...], ...]:
    found = read_bodies(snapshot.connection, [term])
    rows = snapshot.chunk_rows(found.ids)
    alive = rows >= 0
    return tuple(
        sorted(
            (snapshot.paths[snapshot.chunk_file[r]], int(snapshot.chunk_start[r]), int(tf))
            for r, tf in zip(rows[alive], found.tfs[alive], strict=True)
        )
    )


def _definitions(snapshot: Snapshot) -> tuple[tuple[Any, ...], ...]:
    return tuple(
        snapshot.connection.execute(
            "SELECT f.path, d.name, d.kind, d.start_line FROM definitions d"
            " JOIN files f ON f.id = d.file_id ORDER BY 1, 4, 2"
        )
    )


def _stored(workspace: IndexedWorkspace, snapshot: Snapshot) -> tuple[int, int]:
    """Returns the vectors in the store by collection. Each must be in the slot of its chunk."""
    generation = workspace.index.readable()
    assert generation.writer is not None
    generation.writer.store_sync.start()
    assert generation.writer.store_sync.drain(60), "the store was filled"
    store = generation.writer.store_sync.store()
    assert store is not None, generation.writer.store_sync.note
    rows = np.arange(len(snapshot.chunk_ids), dtype=np.int32)
    vectors, _ = snapshot.vectors(rows)
    collections = snapshot.file_collection[snapshot.chunk_file]
    lost = 0
    for row in rows[:: max(1, len(rows) // 10)]:
        name: Collection = "code" if collections[row] == 0 else "docs"
        ids, similarities = store.query(name, vectors[row], len(rows))
        held = dict(zip(ids.tolist(), similarities.tolist(), strict=True)).get(int(snapshot.chunk_slot[row]))
        if held is None:
            # Once ids were overwritten, an HNSW graph sometimes cannot reach a vector.
            lost += 1
            continue
        assert held > similarities[0] - 1e-3, "the store holds another vector under this slot"
    assert lost <= 1
    return store.count("code"), store.count("docs")
