"""Fetches team snapshots for one workspace, from the place that the user names and from the bases kept on this
machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sidecar import shown
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.team.bases import KeptBases
from sidecar.errors import Cancelled, DiskFull, SnapshotUnusable
from sidecar.model.terms import IsCancelled, Progress
from sidecar.settings.load import Settings
from sidecar.small_files import TooLarge, read_small_file

if TYPE_CHECKING:
    from sidecar.parts.network import Slowest
    from sidecar.parts.team.heads import Stored
    from sidecar.parts.team.history import History
    from sidecar.parts.team.places import SignIn, SnapshotPlace

_MOST_SIGN_IN = 8192
_ROOM = 5
"""The disk space needed while a snapshot is taken over, in multiples of its size: the file, its parts, and the
index."""


class Sources:
    """The sources of one workspace's snapshots. Every method raises SnapshotUnusable with the reason if it fails."""

    def __init__(self, files: WorkspaceFiles, bases: KeptBases) -> None:
        self._files = files
        self.bases = bases

    def history(self) -> History:
        """Returns git's history of this checkout."""
        from sidecar.parts.team.history import History

        return History(self._files.root)

    @contextmanager
    def opened(self, named: str, setting: str, pace: Slowest | None = None) -> Iterator[SnapshotPlace]:
        """Opens the place of this name, an address or a folder. `setting` is the setting or option that names it. A
        server slower than `pace` is given up."""
        from sidecar.parts.team.places import PACE, opened

        settings = self._files.settings()
        place = self._resolved(named)
        if "://" in place and settings.offline:
            raise SnapshotUnusable("The setting offline forbids every network call, so no snapshot was asked for.")
        with opened(place, sign_in_for(place, settings), setting, pace or PACE) as found:
            yield found

    def _resolved(self, named: str) -> str:
        if "{repository}" not in named:
            return named
        if not (repository := self.history().repository()):
            raise SnapshotUnusable("snapshotSource names {repository}, but this checkout has no remote called origin.")
        return named.replace("{repository}", repository)

    def fetch(
        self, place: SnapshotPlace, needs: Sequence[Stored], folder: Path, progress: Progress, stop: IsCancelled
    ) -> list[Path]:
        """Brings these files into the folder and returns their paths. A base that is kept on this machine is not
        fetched, and a fetched one is kept. All other files in the folder are removed. Also raises Cancelled and
        DiskFull; the part of an interrupted download stays in the folder."""
        from sidecar.parts.team.container import name_of
        from sidecar.parts.team.places import room_for

        files = [folder / name_of(stored.sha256) for stored in needs]
        _remove_others(folder, files)
        every = sum(stored.size for stored in needs)
        if not room_for(every * _ROOM, folder):
            raise DiskFull(
                f"The snapshot has {every / 1e6:.1f} MB and needs {every * _ROOM / 1e6:.1f} MB free for a moment."
            )
        before = 0

        def report(done: int) -> None:
            if stop():
                raise Cancelled("What has been downloaded is kept; the same command continues from there.")
            there = before + done
            progress(there, every, shown.so_far_in_megabytes("Downloading the snapshot", there, every))

        for stored, file in zip(needs, files, strict=True):
            with _without(files[:-1]):
                self._bring(place, stored, file, report, is_base=stored is not needs[-1])
            before += stored.size
        return files

    def _bring(
        self, place: SnapshotPlace, stored: Stored, file: Path, report: Callable[[int], None], *, is_base: bool
    ) -> None:
        if not self.bases.bring(stored.sha256, file):
            place.fetch(stored, file, report)
            if is_base:
                self.bases.keep(file)


@contextmanager
def _without(bases: Sequence[Path]) -> Iterator[None]:
    """Removes the bases if the block fails, because they are kept elsewhere."""
    try:
        yield
    except BaseException:
        for file in bases:
            file.unlink(missing_ok=True)
        raise


def _remove_others(folder: Path, files: Sequence[Path]) -> None:
    """Removes everything from the folder that does not belong to these files, such as parts of earlier downloads."""
    for other in folder.iterdir():
        if other.is_dir():
            shutil.rmtree(other, ignore_errors=True)
        elif not any(other.name.startswith(file.name) for file in files):
            other.unlink(missing_ok=True)


def sign_in_for(place: str, settings: Settings) -> SignIn:
    """Returns the header Authorization for requests to this place: the content of the file that the user has named if
    the place is on the server of the setting snapshotSource, else the reason why it is not sent. Raises
    SnapshotUnusable if that file cannot be read."""
    from sidecar.parts.team.places import SignIn

    if not settings.snapshot_sign_in or "://" not in place:
        return SignIn()
    if _origin(place) != _origin(settings.snapshot_source):
        source = shown.reason(settings.snapshot_source) or "not set"
        return SignIn(
            not_sent=f"snapshotSignIn was not sent: it is for the server of snapshotSource, which is {source}."
        )
    path = Path(settings.snapshot_sign_in)
    try:
        text = (read_small_file(path, _MOST_SIGN_IN) or b"").decode("ascii").strip()
    except (OSError, TooLarge, UnicodeDecodeError) as error:
        raise SnapshotUnusable(f"snapshotSignIn names {shown.place(path)}, which cannot be read.") from error
    if not text.isprintable() or not text:
        raise SnapshotUnusable(
            f"snapshotSignIn names {shown.place(path)}, which is missing, empty or more than one line of text."
        )
    return SignIn(text)


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc
