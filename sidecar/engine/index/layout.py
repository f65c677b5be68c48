"""Where one workspace's index lies on disk, which generation counts, and how all of it goes away.

<home>/vectors/vectors.sqlite   shared by all indexes
<home>/indexes/<id>/  lock  config.json  current  generations/<n>/{manifest.sqlite, store/<k>/}
                      memories/memories.sqlite  documents/documents.sqlite
                      (these two outlive the index: nothing can make them again)
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from sidecar.errors import DiskFull, PermissionDenied, SidecarError
from sidecar.parts.paths import index_id

_MEMORIES = "memories"
_DOCUMENTS = "documents"
_KEPT = (_MEMORIES, _DOCUMENTS)


class IndexLayout:
    """Paths below one index's folder, and the steps on them that must be all or nothing."""

    def __init__(self, home: Path, root: str) -> None:
        self.indexes = home / "indexes"
        self.path = self.indexes / index_id(root)
        self.config = self.path / "config.json"
        self.vectors = home / "vectors" / "vectors.sqlite"
        self._current = self.path / "current"
        self.memories = self.path / _MEMORIES / "memories.sqlite"
        self.documents = self.path / _DOCUMENTS / "documents.sqlite"

    def make(self) -> None:
        """Creates the folder, readable by its owner only."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.chmod(0o700)
        except OSError as error:
            raise disk_error(error, self.path) from error

    def current(self) -> int | None:
        """The generation in force; None when there is no index. The newest where nobody can tell any more."""
        number = 0
        try:
            number = int(self._current.read_text("ascii"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError):
            pass
        there = self.generations()
        return number if number in there else max(there, default=number)

    def set_current(self, number: int) -> None:
        """Swaps to a generation: before this everybody sees the former one, after it the new one."""
        new = self._current.with_suffix(".new")
        try:
            if self._current.is_dir():
                shutil.rmtree(self._current)
            with new.open("w", encoding="ascii") as file:
                file.write(str(number))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._current)
        except OSError as error:
            raise disk_error(error, self.path) from error

    def generations(self) -> list[int]:
        folder = self.path / "generations"
        return sorted(int(p.name) for p in folder.glob("*") if p.name.isdigit()) if folder.is_dir() else []

    def generation(self, number: int) -> Path:
        return self.path / "generations" / str(number)

    def manifest(self, number: int) -> Path:
        return self.generation(number) / "manifest.sqlite"

    def new_generation(self) -> int:
        """The number of a fresh, empty folder."""
        number = max(self.generations(), default=0) + 1
        try:
            self.generation(number).mkdir(parents=True, mode=0o700)
        except OSError as error:
            raise disk_error(error, self.path) from error
        return number

    def sweep(self) -> None:
        """Removes generations that are not in force, and what an interrupted deletion left."""
        current = self.current()
        for number in self.generations():
            if number != current:
                shutil.rmtree(self.generation(number), ignore_errors=True)
        for trash in self.indexes.glob(f".{self.path.name}.deleted-*"):
            self._discard(trash)

    def write_config_once(self, text: str) -> None:
        try:
            with self.config.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            pass
        except OSError as error:
            raise disk_error(error, self.path) from error

    def delete(self) -> None:
        """All of it, config included, but neither memories nor documents: nothing on disk could make them again.

        The rename makes it atomic: a killed deletion leaves only rubbish to sweep, and what is kept to bring back.
        """
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
        """Brings back the memories and documents that a killed deletion left in the rubbish."""
        for trash in self.indexes.glob(f".{self.path.name}.deleted-*"):
            self._rescue(trash)

    def _discard(self, trash: Path) -> None:
        if self._rescue(trash):
            shutil.rmtree(trash, ignore_errors=True)

    def _rescue(self, trash: Path) -> bool:
        """False when there is something that could not be brought back."""
        return all([self._bring_back(trash / name, self.path / name) for name in _KEPT])

    def _bring_back(self, kept: Path, home: Path) -> bool:
        if not kept.exists():
            return True
        try:
            self.make()
            # Refused when there are others by now; the rubbish then stays for a person to look at.
            kept.rename(home)
        except (OSError, SidecarError):
            return not kept.exists()
        return True

    def size(self) -> int:
        """Bytes on disk."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                with contextlib.suppress(OSError):
                    total += (Path(folder) / name).stat().st_size
        return total


def disk_error(error: OSError, path: Path) -> SidecarError:
    """An OSError of our own storage in our words."""
    if error.errno in {28, 122}:
        return DiskFull(f"Free some space on the disk that holds {path} and try again.")
    return PermissionDenied(f"{path} cannot be written: {error.strerror or error}. Set SIDECAR_HOME to another folder.")
