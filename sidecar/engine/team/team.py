"""Team snapshots of one workspace: makes one of its index, and has a new generation start from the nearest one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sidecar import __version__, shown
from sidecar.engine.index.generation import Generation, read_meta
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.model_selection import ModelChoice
from sidecar.engine.index.relink import missing_vectors
from sidecar.engine.ingest.prepare import Recall, Recalled
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.models.facts import ModelFacts
from sidecar.errors import Cancelled, DiskFull, IndexNotFound, SidecarError, SnapshotUnusable, disk_error
from sidecar.model.answers import Origin, SnapshotOffer, SnapshotReport
from sidecar.model.terms import IsCancelled, Progress
from sidecar.settings.load import Settings
from sidecar.shown import count
from sidecar.small_files import TooLarge, read_small_file

if TYPE_CHECKING:
    from sidecar.parts.network import Slowest
    from sidecar.parts.team.heads import Head
    from sidecar.parts.team.history import History
    from sidecar.parts.team.places import SnapshotPlace

_SETTING = "snapshotSource"
_MOST_SIGN_IN = 8192
_ROOM = 5
"""How many times the size of a snapshot the disk needs while it is taken over: the file, its parts, and the index."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """The snapshot to take, the model that its vectors are of, and how many commits HEAD is ahead of it."""

    head: Head
    model: ModelFacts
    ahead: int


class TeamSnapshots:
    """See the module. Every method raises SnapshotUnusable with the reason if there is no fitting snapshot."""

    def __init__(self, files: WorkspaceFiles, index: IndexHandle, directory: IndexLayout, choice: ModelChoice) -> None:
        self._files = files
        self._index = index
        self._directory = directory
        self._choice = choice

    # ------------------------------------------------------------ making

    def make(
        self, generation: Generation, out: Path, texts: bool, key: Path | None, progress: Progress, stop: IsCancelled
    ) -> SnapshotReport:
        """Makes a snapshot of this generation and lists it in the folder `out`. `key` signs it.

        Raises IndexNotFound if the index is not complete, ConfigInvalid for a key that is none, Cancelled, DiskFull and
        PermissionDenied.
        """
        from sidecar.engine.team.gather import Subject, gather
        from sidecar.engine.team.rows import kind_of
        from sidecar.parts.team.heads import Head
        from sidecar.parts.team.places import FolderPlace
        from sidecar.parts.team.signing import sign

        manifest = self._directory.manifest(generation.number)
        self._check_complete(generation, read_meta(manifest))
        history = self._history()
        if not (commit := history.head()):
            raise SnapshotUnusable("The workspace is in no git repository with a commit (or git is not installed).")
        made = datetime.now(UTC).isoformat(timespec="seconds")
        kind = kind_of(self._files.parts.versions, generation.chunking, generation.model)
        folder, settings = history.folder(), _shaping(self._files.settings())
        facts = {"commit": commit, "folder": folder, "made": made, "kind": kind, "by": __version__}
        subject = Subject(manifest, generation.kept, generation.model.dimension, self._recall_all, texts)
        try:
            out.mkdir(parents=True, exist_ok=True, mode=0o700)
            done = gather(subject, {**facts, "settings": settings}, out, progress, stop)
        except OSError as error:
            raise disk_error(error, out) from error
        packed = done.packed
        signature = sign(packed.sha256, key) if key is not None else ""
        head = Head(
            commit=commit,
            folder=folder,
            sha256=packed.sha256,
            size=packed.size,
            made=made,
            files=done.files,
            chunks=done.chunks,
            kind=kind,
            signature=signature,
        )
        FolderPlace(out).put(packed.path, head)
        return SnapshotReport(str(packed.path), commit, packed.size, done.files, done.chunks, done.left_out)

    def _check_complete(self, generation: Generation, meta: Mapping[str, object]) -> None:
        with generation.snapshots.open() as snapshot:
            missing = missing_vectors(snapshot.connection)
        if not meta.get("complete") or missing or self._files.limit() is not None:
            raise IndexNotFound("A snapshot needs a complete index of the whole workspace; run `sidecar index` first.")

    # ------------------------------------------------------------ starting from one

    def look(self) -> SnapshotOffer | None:
        """The snapshot that a new index would start from; None if no source is set. Reads the list of snapshots alone,
        and gives a slow server up after seconds.

        Raises SnapshotUnusable with the reason why there is none, and what the parts raise.
        """
        from sidecar.parts.team.places import QUICK

        settings = self._files.settings()
        if not settings.snapshot_source:
            return None
        history = self._history()
        source = self._allowed(settings.snapshot_source, settings, history)
        with self._opened(source, settings, "", QUICK) as place:
            chosen = self._chosen(place, history, settings)
        head = chosen.head
        branch = history.branch_with(head.commit)
        return SnapshotOffer(head.commit, branch, chosen.ahead, head.made, head.size, head.files, source)

    def start(self, source: str, progress: Progress, stop: IsCancelled) -> tuple[Generation, str]:
        """A new generation, beside the current one, that holds what the nearest snapshot at `source` ("": where the
        setting says) has of this checkout; and a sentence about it.

        Raises SnapshotUnusable with the reason why there is none, Cancelled and what the parts raise.
        """
        settings = self._files.settings()
        named = source or settings.snapshot_source
        if not named:
            raise SnapshotUnusable("No source is set; set snapshotSource, or name an address or a folder.")
        history = self._history()
        place_name = self._allowed(named, settings, history)
        self._index.take_lease()
        with self._opened(place_name, settings, source) as place:
            chosen = self._chosen(place, history, settings)
            file = self._downloads() / f"{chosen.head.sha256}.zst"
            with self._left_for_later(settled=False):
                self._fetch(place, chosen.head, file, progress, stop)
        with self._left_for_later(settled=True), _parts_folder(file.parent) as parts:
            return self._take_over(file, parts, chosen, place_name, progress, stop)

    @contextmanager
    def _left_for_later(self, *, settled: bool) -> Iterator[None]:
        """Keeps what has been downloaded after an error from which another attempt goes on: a cancellation, or until it
        is `settled` a failure of the network."""
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
        self, file: Path, parts: Path, chosen: _Choice, place: str, progress: Progress, stop: IsCancelled
    ) -> tuple[Generation, str]:
        from sidecar.engine.team.adopt import Unpacked, adopt
        from sidecar.engine.team.rows import PARTS
        from sidecar.parts.team.container import unpack

        head = chosen.head
        try:
            header = unpack(file, parts, PARTS)
        except OSError as error:
            raise disk_error(error, parts) from error
        stated = {name: header.get(name) for name in ("commit", "folder", "kind", "files", "chunks")}
        if stated != {name: getattr(head, name) for name in stated}:
            raise SnapshotUnusable("It is not the snapshot that the list says: its header states something else.")
        fresh = self._index.aside(chosen.model)
        try:
            body_text = self._files.parts.body_text
            adopted = adopt(Unpacked(parts, header), fresh, self._recall_all, body_text, progress, stop)
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
            f" {count(adopted.files, 'file')} were taken over."
        )

    def _chosen(self, place: SnapshotPlace, history: History, settings: Settings) -> _Choice:
        """The snapshot of the newest ancestor of HEAD that was made as this index would be made."""
        from sidecar.parts.team.signing import check

        heads = place.heads()
        if not heads:
            raise SnapshotUnusable(f"There are no snapshots at {shown.reason(place.name)}.")
        kinds = self._kinds(settings)
        here = [head for head in heads if head.folder == history.folder()]
        fitting = [head for head in here if json.dumps(head.kind, sort_keys=True) in kinds]
        if not fitting:
            raise SnapshotUnusable(_why_none_fits(heads, here, [json.loads(kind) for kind in kinds]))
        commit, ahead = history.newest_of({head.commit for head in fitting})
        if not commit:
            shallow = " This clone is shallow: git fetch --deepen=500 gets the commits before." * history.is_shallow()
            raise SnapshotUnusable(
                f"None of the {count(len(fitting), 'snapshot')} at {shown.reason(place.name)} is of a commit that HEAD"
                f" comes from.{shallow}"
            )
        of_commit = [head for head in fitting if head.commit == commit]
        order = list(kinds)
        best = min(of_commit, key=lambda head: order.index(json.dumps(head.kind, sort_keys=True)))
        if settings.snapshot_key:
            check(best.sha256, best.signature, settings.snapshot_key)
        return _Choice(best, kinds[json.dumps(best.kind, sort_keys=True)], ahead)

    def _kinds(self, settings: Settings) -> dict[str, ModelFacts]:
        """The kinds of rows that a new generation may have, the best first, and the model of each."""
        from sidecar.engine.team.rows import kind_of

        models = (self._choice.wanted(), self._choice.first())
        versions, chunking = self._files.parts.versions, settings.chunking_strategy
        return {json.dumps(kind_of(versions, chunking, model), sort_keys=True): model for model in models}

    def _fetch(self, place: SnapshotPlace, head: Head, file: Path, progress: Progress, stop: IsCancelled) -> None:
        from sidecar.parts.team.places import room_for

        def report(done: int) -> None:
            if stop():
                raise Cancelled("What has been downloaded is kept; the same command continues from there.")
            progress(done // 1000, max(1, head.size // 1000), "kB of the snapshot")

        for other in file.parent.iterdir():
            if not other.name.startswith(file.name):
                other.unlink(missing_ok=True)  # of a snapshot that is not the nearest one any more
        if not room_for(head.size * _ROOM, file.parent):
            raise DiskFull(f"The snapshot has {head.size // 10**6} MB and needs {_ROOM} times that for a moment.")
        place.fetch(head, file, report)

    # ------------------------------------------------------------ helpers

    def _history(self) -> History:
        from sidecar.parts.team.history import History

        return History(self._files.root)

    def _recall_all(
        self, pieces: Iterator[Sequence[Recall]]
    ) -> Iterator[tuple[Sequence[Recall], Sequence[Recalled | None]]]:
        return self._files.parts.preparers.recall_all(self._files.root, self._files.settings(), pieces)

    def _allowed(self, source: str, settings: Settings, history: History) -> str:
        """The place that `source` names in this repository. Raises SnapshotUnusable if it may not be asked."""
        place = self._resolved(source, history)
        if "://" in place and settings.offline:
            raise SnapshotUnusable("The setting offline forbids every network call, so no snapshot was asked for.")
        return place

    def _resolved(self, source: str, history: History) -> str:
        if "{repository}" not in source:
            return source
        if not (repository := history.repository()):
            raise SnapshotUnusable("snapshotSource names {repository}, but this checkout has no remote called origin.")
        return source.replace("{repository}", repository)

    @contextmanager
    def _opened(
        self, place: str, settings: Settings, typed: str, pace: Slowest | None = None
    ) -> Iterator[SnapshotPlace]:
        from sidecar.parts.team.places import PACE, opened

        with opened(place, sign_in_for(place, settings), "The source" if typed else _SETTING, pace or PACE) as found:
            yield found

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


def sign_in_for(place: str, settings: Settings) -> str:
    """The header Authorization for requests to this place: what the user's file says, for the server of their setting
    and no other one. Raises SnapshotUnusable if that file cannot be read."""
    if not settings.snapshot_sign_in or "://" not in place or _origin(place) != _origin(settings.snapshot_source):
        return ""
    path = Path(settings.snapshot_sign_in)
    try:
        text = (read_small_file(path, _MOST_SIGN_IN) or b"").decode("ascii").strip()
    except (OSError, TooLarge, UnicodeDecodeError) as error:
        raise SnapshotUnusable(f"snapshotSignIn names {shown.place(path)}, which cannot be read.") from error
    if not text.isprintable() or not text:
        raise SnapshotUnusable(
            f"snapshotSignIn names {shown.place(path)}, which is missing, empty or more than one line of text."
        )
    return text


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc


def _shaping(settings: Settings) -> dict[str, object]:
    """The settings that decide what an index holds, for people who look into a snapshot."""
    names = ("include", "exclude", "respectGitignore", "maxFileSize", "maxFiles", "docPatterns", "indexDocs")
    config = settings.as_config()
    return {name: config[name] for name in (*names, "chunkingStrategy")}


def _why_none_fits(heads: Sequence[Head], here: Sequence[Head], kinds: Sequence[Mapping[str, str]]) -> str:
    many = count(len(heads), "snapshot")
    if not here:
        return f"None of the {many} is of this folder of the repository."
    wanted, theirs = kinds[0], here[0].kind
    differing = [name for name in wanted if theirs.get(name) != wanted[name]]
    name = differing[0] if differing else "format"
    said = {"model": "model", "chunking": "setting chunkingStrategy", "format": "format"}.get(name, f"{name} version")
    return (
        f"None of the {many} fits: the newest was made with the {said} {shown.reason(theirs.get(name, '?'))}, and this"
        f" sidecar would use {wanted[name]}."
    )


def source_error(error: SidecarError) -> str:
    """Why an index that could have started from a snapshot was made from nothing, as one sentence."""
    return f"{error.message} The index was made from nothing."
