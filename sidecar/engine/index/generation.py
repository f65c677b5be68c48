"""One open generation (manifest, snapshots, indexer, vector store), and how generations are opened and created."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from unicodedata import normalize

from sidecar import shown
from sidecar.engine.concurrency.right_of_way import after_questions
from sidecar.engine.index.block_files import BlockFiles
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.relink import link_by_hash
from sidecar.engine.index.snapshot import REBUILD, Snapshots
from sidecar.engine.index.vector_cache import VectorCache
from sidecar.engine.index.vector_refs import named_texts, named_vectors
from sidecar.engine.ingest.indexer import Indexer, Source
from sidecar.engine.ingest.store_sync import AskedStore, StoreSync
from sidecar.engine.ingest.team_vectors import TeamVectors
from sidecar.engine.models.facts import ModelFacts
from sidecar.engine.ports import EmbeddingCache, Parts, VectorStore
from sidecar.errors import IndexCorrupt, SidecarError
from sidecar.logs import workspace_log
from sidecar.model.terms import Collection, Embedder
from sidecar.parts.coverage import CANCELLED, is_cancelled, read_coverage
from sidecar.parts.database import closed_on_error, connect, copy_database, file_id, translated
from sidecar.parts.manifest import READABLE_VERSIONS, SCHEMA_VERSION, Manifest
from sidecar.parts.manifest_reads import highest_chunk_id
from sidecar.parts.paths import packed_path, unpacked_path
from sidecar.parts.slots import Slots
from sidecar.settings.load import Settings


@dataclass(frozen=True)
class Generation:
    """One open generation.

    `writer` is None if the generation can only be searched, because another process holds the lease or the folder
    cannot be written. `read_only_reason` then says which; otherwise it is empty. `kept` is the embedding cache of the
    generation's model. `embedder` loads the model at the first call.
    """

    number: int
    model: ModelFacts
    kept: EmbeddingCache
    snapshots: Snapshots
    embedder: Callable[[], Embedder]
    writer: Writer | None
    read_only_reason: str = ""
    preloaded: set[Collection] = field(default_factory=set, init=False, compare=False)
    """The collections whose vectors are already in memory; the first search of a collection reads them."""
    chunking: Literal["code-aware", "character"] = "code-aware"
    """How its files are cut into chunks."""
    relinked: bool = False
    """Whether the embedding cache had been replaced when the generation was opened, so that vectors may be missing."""

    def store(self) -> AskedStore | None:
        """Returns the vector store; None if it is closed, is still being filled or has failed, or if the generation is
        read-only. Raises StoreFailed while the store is on a server that does not answer."""
        return self.writer.store_sync.asked() if self.writer else None

    def close(self, *, clean: bool = True) -> None:
        """Closes writer and snapshots. With `clean=False` the manifest stays marked as not closed properly."""
        if self.writer is not None:
            self.writer.close(clean)
        self.snapshots.close(keep=clean and self.writer is not None)


@dataclass(frozen=True)
class Writer:
    """The parts of a generation that write it."""

    manifest: Manifest
    indexer: Indexer
    store_sync: StoreSync

    def close(self, clean: bool) -> None:
        """Stops the store's thread and closes the manifest.

        `clean` records in the manifest that it was closed properly. If recording fails, as in a damaged manifest, the
        manifest is closed without the mark.
        """
        self.store_sync.close()
        # A store that has not been checked since an unclean end must be checked at the next opening.
        if clean and not self.store_sync.is_unverified():
            with contextlib.suppress(SidecarError), self.manifest.transaction():
                self.manifest.set_meta(clean=1)
        self.manifest.close()

    def finish(self, head: str) -> None:
        """Records that a whole pass has ended: from now on the index is complete. `head`: see `Checkout.head`."""
        with self.manifest.transaction():
            self.manifest.set_meta(complete=1, last_updated=time.time(), head=head)

    def note_cancelled(self, cancelled: bool) -> None:
        """Records that a person has cancelled the building of the index, or that it has been requested again."""
        if cancelled == self.goes_on:
            with self.manifest.transaction():
                self.manifest.set_meta(**{CANCELLED: int(cancelled)})

    @property
    def goes_on(self) -> bool:
        """Whether the whole index is wanted: nobody has cancelled its building, or it has been requested again
        since."""
        with self.manifest.lock, translated(self.manifest.path):
            return not is_cancelled(self.manifest.connection)

    def note_update(self) -> None:
        """Records that known changes were applied. It does not mark the index as complete."""
        with self.manifest.transaction():
            self.manifest.set_meta(last_updated=time.time())


class Generations:
    """Opens and creates the generations of one workspace."""

    def __init__(
        self,
        root: str,
        directory: IndexLayout,
        parts: Parts,
        embedder: Callable[[ModelFacts], Embedder],
        buffers: Mapping[str, str],
        on_commit: Callable[[], None],
    ) -> None:
        self._root = root
        self._log = workspace_log(__name__, root)
        self._directory = directory
        self._parts = parts
        self._embedder = embedder
        self._buffers = buffers
        self._on_commit = on_commit

    def make(self, settings: Settings, model: ModelFacts) -> Generation:
        """Creates a new, empty generation, which does not become the current one."""
        number = self._directory.new_generation()
        kept = self.open_vectors(model)
        with closed_on_error(kept):
            facts = {
                "root": packed_path(self._root),
                **_facts_of(model),
                "chunking": settings.chunking_strategy,
                "kept_uuid": kept.store_uuid,
                "kept_releases": kept.releases(),
                "created": time.time(),
                **{f"version_{k}": v for k, v in self._parts.versions.items()},
            }
            path = self._directory.manifest(number)
            Manifest.make(path, facts, [self._parts.lexical.create_tables]).close()
            return self._assemble(number, settings, model, kept, was_clean=True)

    def succeed(self, old: Generation, settings: Settings, model: ModelFacts) -> Generation:
        """Copies `old` for another model, without making the copy the current generation.

        The copy has the same files and chunks. Their vectors are those that the embedding cache has for the new model.
        """
        number = self._directory.new_generation()
        path = self._directory.manifest(number)
        copy_database(self._directory.manifest(old.number), path)
        kept = self.open_vectors(model)
        with closed_on_error(kept):
            fresh = self._assemble(number, settings, model, kept, was_clean=True)
        assert fresh.writer is not None
        link_by_hash(fresh.writer.manifest, kept, **_facts_of(model))
        return fresh

    def open(self, number: int, settings: Settings, *, read_only_reason: str = "") -> Generation:
        """Opens an existing generation, for reading only if `read_only_reason` is given.

        Raises IndexCorrupt if it is missing, unreadable, or was made with another version of the schema or of a part.
        """
        path = self._directory.manifest(number)
        if not path.exists():
            raise IndexCorrupt(f"Its manifest is missing. {REBUILD}")
        meta = self.check(number)
        model, clean = self._described(meta)
        kept = self.open_vectors(model)
        generation = None
        try:
            generation = self._assemble(
                number, settings, model, kept, read_only_reason=read_only_reason, was_clean=clean
            )
            if generation.writer is not None and meta.get("kept_uuid") != kept.store_uuid:
                link_by_hash(generation.writer.manifest, kept)
                generation = replace(generation, relinked=True)
        except BaseException:
            kept.close() if generation is None else generation.close(clean=False)
            raise
        return generation

    def open_vectors(self, model: ModelFacts) -> EmbeddingCache:
        """Opens the embedding cache for a model. The caller must close it."""
        return self._parts.open_embeddings(self._directory.vectors, model.model_id, model.dimension)

    def _described(self, meta: Mapping[str, object]) -> tuple[ModelFacts, bool]:
        """Returns the generation's model, and whether it was closed properly. Raises IndexCorrupt if the manifest does
        not say."""
        try:
            return model_of(meta), bool(meta["clean"])
        except (KeyError, ValueError) as error:
            raise IndexCorrupt(
                f"Its manifest does not describe its model ({shown.reason(error)}). {REBUILD}"
            ) from error

    def check(self, number: int) -> Mapping[str, object]:
        """Returns the meta table of the manifest on disk.

        Raises IndexCorrupt if the manifest is missing, unreadable, of another version or of another index.
        """
        path = self._directory.manifest(number)
        meta = read_meta(path)
        self._check_versions(meta)
        ours = normalize("NFC", unpacked_path(meta.get("root"))) == normalize("NFC", self._root)
        if not ours or meta.get("file_id", 0) != file_id(path):
            raise IndexCorrupt(f"Its manifest is that of another index. {REBUILD}")
        return meta

    def model_of(self, number: int) -> ModelFacts:
        """Returns the model of a generation, read from its manifest. Raises IndexCorrupt, KeyError or ValueError."""
        return model_of(read_meta(self._directory.manifest(number)))

    def trim(self, generation: Generation, max_bytes: int) -> None:
        """Drops cached vectors that no index refers to, least recently used first, down to `max_bytes`.

        Vectors used within the last two days stay. Raises IndexCorrupt; other errors are only logged.
        """
        try:
            generation.kept.trim(max_bytes, lambda: named_vectors(self._directory.indexes, generation.kept.store_uuid))
        except IndexCorrupt:
            raise
        except SidecarError as error:
            self._log.warning("unused vectors stay in the embedding cache for now: %s", error.message)

    def release(self, model: Callable[[], ModelFacts]) -> None:
        """Drops the cached vectors of all texts that no other index has; to be called when this index is deleted.

        `model` may be any model that the cache knows. Errors are logged and ignored.
        """
        try:
            kept = self.open_vectors(model())
            try:
                kept.release(lambda: named_texts(self._directory.indexes, without=self._directory.path))
            finally:
                kept.close()
        except SidecarError as error:
            # No index refers to these vectors any more, so the next deletion or a later `trim` drops them.
            self._log.warning("the vectors of a deleted index stay in the embedding cache for now: %s", error)

    def _assemble(
        self,
        number: int,
        settings: Settings,
        model: ModelFacts,
        kept: EmbeddingCache,
        *,
        was_clean: bool,
        read_only_reason: str = "",
    ) -> Generation:
        path = self._directory.manifest(number)
        identity = {"manifest": file_id(path), "model": model.model_id, "path_weight": model.path_weight}
        saved = BlockFiles(path.with_name("sealed"), identity, lambda: highest_chunk_id(path))
        room = min(self._parts.vector_memory_bytes, settings.vector_memory_megabytes * 1024 * 1024)
        cache = VectorCache(room, self._parts.make_compare, saved=saved, later=after_questions)
        snapshots = Snapshots(path, lambda: kept, model.path_weight, kept.close, cache)

        def embedder() -> Embedder:
            return self._embedder(model)

        writer = None if read_only_reason else self._writer(number, settings, model, kept, embedder, cache, was_clean)
        chunking = chunking_of(read_meta(path), settings)
        return Generation(number, model, kept, snapshots, embedder, writer, read_only_reason, chunking)

    def _writer(
        self,
        number: int,
        settings: Settings,
        model: ModelFacts,
        kept: EmbeddingCache,
        embedder: Callable[[], Embedder],
        cache: VectorCache,
        was_clean: bool,
    ) -> Writer:
        manifest = Manifest(self._directory.manifest(number))
        chunking = chunking_of(read_meta(manifest.path), settings)
        try:
            manifest.begin([self._parts.lexical.update_tables])
        except BaseException:
            manifest.close()
            raise

        def make_store() -> VectorStore:
            folder = self._directory.store(number)
            return self._parts.make_store(settings, folder, model.dimension, model.model_id, self._root)

        def fits_in_memory(chunks: int) -> bool:
            return cache.has_room(chunks, model.dimension)

        store_sync = StoreSync(
            self._root, Slots(manifest), kept, model.path_weight, make_store, fits_in_memory, check_first=not was_clean
        )

        def on_commit() -> None:
            store_sync.wake()
            self._on_commit()

        def settings_now() -> Settings:
            now = self._parts.load_settings(self._directory.config)
            # All chunks of a generation are cut in the same way, so a change waits for the next generation.
            return replace(now, chunking_strategy=chunking)

        source = Source(self._root, settings_now, self._buffers)
        shared = self._parts.shared_vectors(settings)
        team = TeamVectors(model.model_id, model.dimension, model.slow, shared)
        indexer = Indexer(manifest, kept, embedder, source, self._parts, on_commit, team)
        return Writer(manifest, indexer, store_sync)

    def _check_versions(self, meta: Mapping[str, object]) -> None:
        wanted = {f"version_{name}": value for name, value in self._parts.versions.items()}
        if meta.get("schema") not in READABLE_VERSIONS:
            wanted["schema"] = SCHEMA_VERSION
        for key, value in wanted.items():
            if meta.get(key) != value:
                name = key.removeprefix("version_")
                raise IndexCorrupt(
                    f"It was made with {name} version {meta.get(key)}, but this sidecar uses {value}."
                    " Run `reindex_project` to rebuild it; unchanged texts are not embedded again."
                )


def read_meta(path: Path) -> dict[str, object]:
    """Returns the meta table of a manifest, which is not opened for writing. Raises IndexCorrupt if it is
    unreadable."""
    with translated(path):
        connection = connect(path, readonly=True)
        try:
            return dict(connection.execute("SELECT key, value FROM meta"))
        finally:
            connection.close()


def is_bare(path: Path) -> bool:
    """Whether a manifest, which is not opened for writing, holds nothing yet: no file is indexed, and no pass over the
    workspace has ended. Raises IndexCorrupt if it is unreadable."""
    with translated(path), contextlib.closing(connect(path, readonly=True)) as connection:
        holds = read_coverage(connection)
        return not (holds.indexed or holds.complete)


def chunking_of(meta: Mapping[str, object], settings: Settings) -> Literal["code-aware", "character"]:
    """Returns how a manifest's files are cut into chunks. Manifests of earlier versions do not say; the settings then
    decide."""
    return "character" if meta.get("chunking", settings.chunking_strategy) == "character" else "code-aware"


def model_of(meta: Mapping[str, object]) -> ModelFacts:
    """Returns the model that a manifest was made with. Raises KeyError or ValueError if `meta` does not say.

    Manifests of earlier versions lack name and pace: the name is then taken from the id, and the model counts as quick.
    """
    model_id = str(meta["model_id"])
    name = str(meta.get("model") or model_id.partition("@")[0])
    slow = bool(meta.get("slow"))
    return ModelFacts(model_id, int(str(meta["dimension"])), float(str(meta["path_weight"])), name, slow)


def _facts_of(model: ModelFacts) -> dict[str, object]:
    return {
        "model_id": model.model_id,
        "dimension": model.dimension,
        "path_weight": model.path_weight,
        "model": model.name,
        "slow": int(model.slow),
    }
