"""The files of one workspace's index on disk: their layout, the current generation, and the deletion of the index.

<home>/vectors/vectors.sqlite   shared by all indexes
<home>/bases/                   shared too: bases of team snapshots (see `engine/team/bases.py`)
<home>/indexes/<id>/  lock  config.json  patterns.json  current  generations/<n>/
     download/ (of a team snapshot, until it is taken over)  watch/ (see `parts/watch.py`)
     memories/memories.sqlite  documents/documents.sqlite
<home>/indexes/<id>/generations/<n>/  manifest.sqlite  store/  and, if large, columns  sealed/<block>

Memories, documents and edited settings outlive the index, because they cannot be made again from the files.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path

from sidecar.errors import SidecarError, disk_error
from sidecar.parts.paths import index_id
from sidecar.small_files import TooLarge, make_folder, read_small_file, remove, replace_file

_MEMORIES = "memories"
_DOCUMENTS = "documents"
_CONFIG = "config.json"
_MOST_DIGITS = 40
_NUMBER = re.compile("[1-9][0-9]{0,17}")
_KEPT = (_MEMORIES, _DOCUMENTS, _CONFIG)


class IndexLayout:
    """The paths below one index's folder, and the operations on them that must be atomic."""

    def __init__(self, home: Path, root: str, path: Path | None = None) -> None:
        """`path` is the index's folder, for an index whose workspace is not known."""
        self.indexes = home / "indexes"
        self.path = path or self.indexes / index_id(root)
        self.config = self.path / _CONFIG
        self.patterns = self.path / "patterns.json"
        self.vectors = home / "vectors" / "vectors.sqlite"
        self.bases = home / "bases"
        self.download = self.path / "download"
        self.watch_mark = self.path / "watch"
        self._current = self.path / "current"
        self.memories = self.path / _MEMORIES / "memories.sqlite"
        self.documents = self.path / _DOCUMENTS / "documents.sqlite"

    def make(self) -> None:
        """Creates the folder, accessible to its owner only. Raises DiskFull or PermissionDenied."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.chmod(0o700)
        except OSError as error:
            raise disk_error(error, self.path) from error

    def current(self) -> int | None:
        """Returns the number of the current generation; None if no index exists.

        If the file `current` is unreadable or names a missing generation, the newest generation on disk counts as
        current.
        """
        number = 0
        try:
            stored = read_small_file(self._current, _MOST_DIGITS)
            if stored is None and not os.path.lexists(self._current):
                return None
            number = int(stored or b"")
        except (OSError, ValueError):
            pass
        there = self.generations()
        return number if number in there else max(there, default=number)

    def set_current(self, number: int) -> None:
        """Makes a generation the current one, atomically: readers see either the former one or the new one.

        Raises DiskFull or PermissionDenied.
        """
        try:
            if self._current.is_dir():
                remove(self._current)
            replace_file(self._current, str(number).encode(), 0o600)
        except OSError as error:
            raise disk_error(error, self.path) from error

    def generations(self) -> list[int]:
        """Returns the numbers of all generations on disk, ascending."""
        folder = self.path / "generations"
        return sorted(int(p.name) for p in folder.glob("*") if _NUMBER.fullmatch(p.name)) if folder.is_dir() else []

    def generation(self, number: int) -> Path:
        """Returns the folder of a generation, whether or not it exists."""
        return self.path / "generations" / str(number)

    def manifest(self, number: int) -> Path:
        """Returns the manifest file of a generation, whether or not it exists."""
        return self.generation(number) / "manifest.sqlite"

    def stamp(self) -> tuple[int, ...]:
        """Returns numbers that differ after another commit of the current generation, or if another one is current."""
        number = self.current() or 0
        manifest = self.manifest(number)
        stamp = [number]
        for path in (manifest, manifest.with_name(f"{manifest.name}-wal")):
            with contextlib.suppress(OSError):
                stat = path.stat()
                stamp += [stat.st_mtime_ns, stat.st_size] if stat.st_size else []
        return tuple(stamp)

    def store(self, number: int) -> Path:
        """Returns the folder for a generation's vector store, whether or not it exists. The store decides on its
        content."""
        return self.generation(number) / "store"

    def new_generation(self) -> int:
        """Creates an empty folder for a new generation and returns its number. Raises DiskFull or PermissionDenied."""
        number = max(self.generations(), default=0) + 1
        try:
            make_folder(self.path / "generations")
            self.generation(number).mkdir(parents=True, mode=0o700)
        except OSError as error:
            raise disk_error(error, self.path) from error
        return number

    def sweep(self) -> None:
        """Removes generations that are not current, and what interrupted deletions have left."""
        current = self.current()
        for number in self.generations():
            if number != current:
                with contextlib.suppress(OSError):
                    remove(self.generation(number))
        for trash in self.indexes.glob(f".{self.path.name}.deleted-*"):
            self._discard(trash)

    def write_config_once(self, text: str) -> None:
        """Writes config.json unless it exists. Raises DiskFull or PermissionDenied."""
        try:
            with self.config.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            pass
        except OSError as error:
            raise disk_error(error, self.path) from error

    def is_edited(self, default_config: str) -> bool:
        """Whether config.json exists and differs from the text that a new index gets."""
        default = default_config.encode()
        try:
            stored = read_small_file(self.config, len(default))
        except (OSError, TooLarge):
            return True
        return os.path.lexists(self.config) if stored is None else stored != default

    def delete(self, default_config: str) -> None:
        """Deletes the index, but not memories, documents and an edited config.json, which cannot be made again.

        The folder is first renamed to trash, so that a killed deletion leaves no partial index. `sweep` removes the
        trash later, after the data that must stay has been moved back from it (`rescue`). Raises DiskFull or
        PermissionDenied.
        """
        if not self.is_edited(default_config):
            self.config.unlink(missing_ok=True)
        trash = self.indexes / f".{self.path.name}.deleted-{os.getpid()}"
        self._discard(trash)
        try:
            self.path.rename(trash)
        except FileNotFoundError:
            return
        except OSError as error:
            raise disk_error(error, self.path) from error
        self._discard(trash)

    def rescue(self) -> None:
        """Moves back memories, documents and settings that a killed deletion has left in the trash."""
        for trash in self.indexes.glob(f".{self.path.name}.deleted-*"):
            self._rescue(trash)

    def _discard(self, trash: Path) -> None:
        if self._rescue(trash):
            shutil.rmtree(trash, ignore_errors=True)

    def _rescue(self, trash: Path) -> bool:
        """Moves the data back. Returns False if something could not be moved."""
        return all([self._bring_back(trash / name, self.path / name) for name in _KEPT])

    def _bring_back(self, kept: Path, home: Path) -> bool:
        if not kept.exists():
            return True
        try:
            self.make()
            if home.is_file():
                return False  # newer settings exist; the trash stays, so that a person can compare them
            # The rename fails if newer memories or documents exist; the trash then stays too.
            kept.rename(home)
        except (OSError, SidecarError):
            return not kept.exists()
        return True

    def size(self) -> int:
        """Returns the size of the index's folder, in bytes."""
        return bytes_below(self.path)


def bytes_below(folder: Path) -> int:
    """Returns the size of all files below a folder, in bytes; 0 if the folder does not exist."""
    total = 0
    for inner, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(inner) / name).stat().st_size
    return total
