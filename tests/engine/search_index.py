"""A small index for tests of search: real parsing, manifest, lexical index, model and embedding cache, without the
indexing engine."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sidecar.engine.index.snapshot import Snapshot, Snapshots
from sidecar.engine.index.vector_cache import VectorCache
from sidecar.engine.ingest.embedding_text import body_text, path_text
from sidecar.engine.ingest.prepare import text_hash
from sidecar.engine.search.searcher import Searcher
from sidecar.engine.search.source import NearestChunks, SearchSource
from sidecar.model.answers import SearchAnswer, SearchRequest
from sidecar.model.files import Stat
from sidecar.model.terms import Collection, Embedder, Ids, Vectors, never_cancelled
from sidecar.parts.chunk import parse_file
from sidecar.parts.embed.cache import EmbeddingCacheFile
from sidecar.parts.embed.catalog import resolve_model
from sidecar.parts.embed.onnx import OnnxEmbedder
from sidecar.parts.languages import language_of
from sidecar.parts.lexical import LexicalIndex
from sidecar.parts.lexical.stepped_merge import SteppedMerge
from sidecar.parts.manifest import Manifest, NewFile

PATH_WEIGHT = 0.7


@lru_cache(maxsize=1)
def shipped_model() -> OnnxEmbedder:
    return OnnxEmbedder(resolve_model(), "cpu", 1)


def no_store() -> NearestChunks | None:
    return None


@dataclass
class SmallIndex:
    """`put` adds files and `remove` removes them; each call is one commit."""

    manifest: Manifest
    kept: EmbeddingCacheFile
    snapshots: Snapshots
    lexical: LexicalIndex
    embedder: Callable[[], Embedder] = shipped_model
    store: Callable[[], NearestChunks | None] = no_store
    searcher: Searcher = field(default_factory=Searcher)

    def put(self, files: Mapping[str, str], *, embed: bool = True) -> None:
        parsed = {
            path: parse_file(path, text, language_of(path, text.split("\n", 1)[0])) for path, text in files.items()
        }
        texts = [*(body_text(chunk) for one in parsed.values() for chunk in one.chunks), *map(path_text, files)]
        slots = iter(self._embed([text_hash(text) for text in texts], texts) if embed else [0] * len(texts))
        bodies = {path: list(itertools.islice(slots, len(one.chunks))) for path, one in parsed.items()}
        with self.manifest.transaction() as connection:
            entries = []
            for path, path_slot in zip(files, slots, strict=True):
                collection: Collection = "docs" if path.endswith((".md", ".txt")) else "code"
                new = NewFile(
                    path=path,
                    collection=collection,
                    language=parsed[path].language,
                    parser=parsed[path].parser,
                    sha256=b"",
                    stat=Stat(len(files[path]), 0, 0, 0),
                    settled=True,
                    buffered=False,
                    path_hash=text_hash(path_text(path)),
                    chunks=parsed[path].chunks,
                    body_hashes=[text_hash(body_text(chunk)) for chunk in parsed[path].chunks],
                )
                file_id, chunk_ids, replaced = self.manifest.put_file(new, bodies[path], path_slot)
                if replaced is not None:
                    self.lexical.forget_files(connection, [replaced])
                entries.append((file_id, chunk_ids, self.lexical.analyse(path, parsed[path])))
            self.lexical.write_segment(connection, entries)

    def remove(self, *paths: str) -> None:
        with self.manifest.transaction() as connection:
            self.lexical.forget_files(connection, self.manifest.remove_files(paths))

    def merge(self) -> None:
        with self.manifest.transaction() as connection:
            self.lexical.merge_segments(connection, force=True)

    def merge_at_rest(self) -> None:
        """Merges as in a large index at rest, with bounds for every term."""
        merge = SteppedMerge(large=0, long=1)
        with self.manifest.transaction(unseen=True) as connection:
            while merge.step(connection, at_rest=True):
                pass

    def search(self, query: str, **wishes: Any) -> SearchAnswer:
        with self.source() as source:
            return self.searcher.search(source, replace(SearchRequest(query), **wishes), never_cancelled)

    def paths(self, query: str, **wishes: Any) -> list[str]:
        return [hit.path for hit in self.search(query, **wishes).hits]

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        with self.snapshots.open() as snapshot:
            yield snapshot

    @contextmanager
    def source(self) -> Iterator[SearchSource]:
        with self.snapshots.open() as snapshot:
            yield SearchSource(snapshot, self.embedder, self.store)

    def with_room(self, most_bytes: int) -> SmallIndex:
        """Returns the same index with a limit on the bytes of vectors that its searches keep in memory."""
        return self.with_cache(VectorCache(most_bytes))

    def with_cache(self, cache: VectorCache) -> SmallIndex:
        """Returns the same index, whose searches keep vectors in this cache."""
        return replace(self, snapshots=Snapshots(self.manifest.path, lambda: self.kept, PATH_WEIGHT, cache=cache))

    def with_parts(self, embedder: Callable[[], Embedder], store: Callable[[], NearestChunks | None]) -> SmallIndex:
        return replace(self, embedder=embedder, store=store)

    def _embed(self, hashes: list[bytes], texts: list[str]) -> list[int]:
        return self.kept.add(hashes, shipped_model().embed_documents(texts)) if texts else []


@contextmanager
def small_index(folder: Path, files: Mapping[str, str]) -> Iterator[SmallIndex]:
    lexical = LexicalIndex()
    manifest = Manifest.make(folder / "manifest.sqlite", {}, [lexical.create_tables])
    model = shipped_model()
    kept = EmbeddingCacheFile.open(folder / "vectors.sqlite", model.model_id, model.dimension)
    snapshots = Snapshots(folder / "manifest.sqlite", lambda: kept, PATH_WEIGHT)
    index = SmallIndex(manifest, kept, snapshots, lexical)
    try:
        index.put(files)
        yield index
    finally:
        snapshots.close()
        kept.close()
        manifest.close()


class ListedStore:
    """A vector store over arrays that answers exactly; `missing` slots look as if they had never been written."""

    elsewhere = False

    def __init__(self, slots: Ids, vectors: Vectors, missing: frozenset[int] = frozenset()) -> None:
        self._slots, self._vectors, self._missing = slots, vectors, missing
        self.limits: list[int] = []

    def query(self, collection: Collection, vector: Vectors, limit: int) -> tuple[Ids, Vectors]:
        self.limits.append(limit)
        cosines = self._vectors @ vector
        order = [i for i in np.argsort(-cosines, kind="stable") if int(self._slots[i]) not in self._missing][:limit]
        return self._slots[order], cosines[order]
