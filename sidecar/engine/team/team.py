"""Makes a team snapshot of a workspace's index, and starts a new generation from the nearest snapshot."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.engine.index.generation import Generation, read_meta
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.model_selection import ModelChoice
from sidecar.engine.index.relink import missing_vectors
from sidecar.engine.ingest.prepare import Recall, Recalled
from sidecar.engine.ingest.team_vectors import TextsOf
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.models.facts import ModelFacts
from sidecar.engine.team.bases import KeptBases, check_headers
from sidecar.engine.team.choosing import Choice, check_signatures, choose
from sidecar.engine.team.sources import Sources
from sidecar.errors import Cancelled, IndexNotFound, SidecarError, SnapshotUnusable, disk_error
from sidecar.model.answers import Origin, SnapshotOffer, SnapshotReport, SnapshotRequest
from sidecar.model.terms import IsCancelled, Progress
from sidecar.settings.load import Settings
from sidecar.shown import count

if TYPE_CHECKING:
    from sidecar.engine.team.held import Unpacked
    from sidecar.parts.team.heads import Head
    from sidecar.parts.team.places import SnapshotPlace

_SETTING = "snapshotSource"


class TeamSnapshots:
    """The team snapshots of one workspace. Methods raise SnapshotUnusable with the reason if there is no suitable
    snapshot."""

    def __init__(self, files: WorkspaceFiles, index: IndexHandle, directory: IndexLayout, choice: ModelChoice) -> None:
        self._files = files
        self._index = index
        self._directory = directory
        self._choice = choice
        self._sources = Sources(files, KeptBases(directory.bases))

    # ------------------------------------------------------------ making

    def make(
        self, generation: Generation, request: SnapshotRequest, progress: Progress, stop: IsCancelled
    ) -> SnapshotReport:
        """Makes a snapshot of this generation and lists it in the folder that the request names.

        Raises IndexNotFound if the index is not complete, ConfigInvalid for an invalid key, Cancelled, DiskFull and
        PermissionDenied.
        """
        from sidecar.engine.team.gather import Subject
        from sidecar.engine.team.making import SnapshotMaker
        from sidecar.engine.team.rows import kind_of

        manifest = self._directory.manifest(generation.number)
        self._check_complete(generation, read_meta(manifest))
        kind = kind_of(self._files.parts.versions, generation.chunking, generation.model)
        dimension = generation.model.dimension
        subject = Subject(self._files.root, manifest, generation.kept, dimension, self._recall_all, request.texts)
        maker = SnapshotMaker(self._sources, self._files.settings(), subject, kind)
        try:
            return maker.make(request, generation.model, progress, stop)
        except OSError as error:
            raise disk_error(error, request.out) from error

    def _check_complete(self, generation: Generation, meta: Mapping[str, object]) -> None:
        with generation.snapshots.open() as snapshot:
            missing = missing_vectors(snapshot.connection)
        if not meta.get("complete") or missing or self._files.limit() is not None:
            raise IndexNotFound("A snapshot needs a complete index of the whole workspace; run `sidecar index` first.")

    # ------------------------------------------------------------ starting from one

    def look(self) -> SnapshotOffer | None:
        """Returns the snapshot from which a new index would start; None if no source is set. Reads only the list of
        snapshots, and gives up on a slow server after a few seconds.

        Raises SnapshotUnusable with the reason why there is none, and the errors of the parts.
        """
        from sidecar.parts.team.places import QUICK

        settings = self._files.settings()
        if not settings.snapshot_source:
            return None
        with self._sources.opened(settings.snapshot_source, _SETTING, QUICK) as place:
            chosen = self._nearest(place, place.heads(), settings)
        head = chosen.head
        branch = self._sources.history().branch_with(head.commit)
        size = sum(file.size for file in head.needs if not self._sources.bases.has(file.sha256))
        return SnapshotOffer(head.commit, branch, chosen.ahead, head.made, size, head.files, place.name)

    def start(self, source: str, progress: Progress, stop: IsCancelled) -> tuple[Generation, str]:
        """Returns a new generation, beside the current one, with the files of this checkout that are in the nearest
        snapshot at `source` ("": the place of the setting), and a sentence about it.

        Raises SnapshotUnusable with the reason why there is none, Cancelled and the errors of the parts.
        """
        settings = self._files.settings()
        named = source or settings.snapshot_source
        if not named:
            raise SnapshotUnusable("No source is set; set snapshotSource, or name an address or a folder.")
        with self._sources.opened(named, "The source" if source else _SETTING) as place:
            self._index.take_lease()
            heads = place.heads()
            chosen = self._nearest(place, heads, settings)
            folder = self._downloads()
            with self._left_for_later(settled=False):
                files = self._sources.fetch(place, chosen.head.needs, folder, progress, stop)
        with self._left_for_later(settled=True), _parts_folder(folder) as parts:
            started = self._take_over(files, parts, chosen, place.name, progress, stop)
            if any(head.base for head in heads):
                self._sources.bases.keep(files[0])  # the base used, or a whole snapshot for later ones
        return started

    @contextmanager
    def _left_for_later(self, *, settled: bool) -> Iterator[None]:
        """Removes the download at the end of the block, except after an error from which another attempt can continue:
        a cancellation and, unless the download is `settled` (complete), a failure of the network."""
        keep = False
        try:
            yield
            keep = not settled
        except (Cancelled, SnapshotUnusable) as error:
            keep = isinstance(error, Cancelled) or not settled
            raise
        finally:
            if keep:
                with suppress(OSError):  # not empty: something has been downloaded
                    self._directory.download.rmdir()
            else:
                shutil.rmtree(self._directory.download, ignore_errors=True)

    def _take_over(
        self, files: Sequence[Path], parts: Path, chosen: Choice, place: str, progress: Progress, stop: IsCancelled
    ) -> tuple[Generation, str]:
        from sidecar.engine.team.adopt import adopt

        head = chosen.head
        sources = _unpacked(files, parts)
        check_headers(head, [source.header for source in sources])
        fresh = self._index.aside(chosen.model)
        try:
            texts = TextsOf(self._files.parts.body_text, self._files.parts.path_text)
            adopted = adopt(sources, fresh, self._recall_all, texts, progress, stop)
            origin = Origin(head.commit, head.made, place, adopted.files, adopted.taken)
            assert fresh.writer is not None
            with fresh.writer.manifest.transaction():
                fresh.writer.manifest.set_meta(origin=json.dumps(asdict(origin)))
        except BaseException:
            self._index.drop(fresh)
            raise
        behind = f", {count(chosen.ahead, 'commit')} before this one" if chosen.ahead else ""
        return fresh, (
            f"It started from the snapshot of commit {head.commit[:10]}{behind}: {adopted.taken:,} of"
            f" {count(adopted.files, 'file')} {'was' if adopted.files == 1 else 'were'} taken over."
        )

    def _nearest(self, place: SnapshotPlace, heads: Sequence[Head], settings: Settings) -> Choice:
        """Returns the one to take of the snapshots that this place lists. Its signature is checked if the settings have
        a key."""
        chosen = choose(heads, place.name, self._sources.history(), self._kinds(settings), self._sources.bases)
        check_signatures(chosen.head, settings.snapshot_key)
        return chosen

    def _kinds(self, settings: Settings) -> dict[str, ModelFacts]:
        """Returns the kinds of rows that a new generation may have, the best first, and the model of each."""
        from sidecar.engine.team.rows import kind_of

        models = (self._choice.wanted(), self._choice.first())
        versions, chunking = self._files.parts.versions, settings.chunking_strategy
        return {json.dumps(kind_of(versions, chunking, model), sort_keys=True): model for model in models}

    # ------------------------------------------------------------ helpers

    def _recall_all(
        self, pieces: Iterator[Sequence[Recall]]
    ) -> Iterator[tuple[Sequence[Recall], Sequence[Recalled | None]]]:
        return self._files.parts.preparers.recall_all(self._files.root, self._files.settings(), pieces)

    def _downloads(self) -> Path:
        folder = self._directory.download
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise disk_error(error, folder) from error
        return folder


@contextmanager
def _parts_folder(downloads: Path) -> Iterator[Path]:
    folder = downloads / "parts"
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise disk_error(error, folder) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unpacked(files: Sequence[Path], parts: Path) -> list[Unpacked]:
    """Unpacks each file into a folder of its own. Raises SnapshotUnusable, DiskFull and PermissionDenied."""
    from sidecar.engine.team.held import Unpacked
    from sidecar.engine.team.rows import PARTS
    from sidecar.parts.team.container import unpack

    sources = []
    try:
        for number, file in enumerate(files):
            folder = parts / str(number)
            folder.mkdir()
            sources.append(Unpacked(folder, unpack(file, folder, PARTS)))
    except OSError as error:
        raise disk_error(error, parts) from error
    return sources


_FROM_NOTHING = " The index was made from nothing."


def source_error(error: SidecarError) -> str:
    """Returns, for people, why an index that could have started from a snapshot was made from nothing."""
    return f"{error.message}{_FROM_NOTHING}"


@contextmanager
def blaming_snapshot_too(said: str) -> Iterator[None]:
    """Adds to an error of the block why the index did not start from a snapshot.

    `said` is the result of `source_error`, or empty if there is nothing to add.
    """
    try:
        yield
    except Cancelled:
        raise
    except SidecarError as error:
        if not said:
            raise
        reason = said.removesuffix(_FROM_NOTHING)
        raise error.worded(
            lambda detail: f"{detail} Before that, the index could not start from a snapshot: {reason}".strip()
        ) from error
