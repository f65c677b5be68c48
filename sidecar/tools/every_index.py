"""All indexes of this user, for surfaces: the list, and the removal of those that are no longer needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sidecar import shown
from sidecar.tools.assemble import own_environment
from sidecar.tools.lines import ASIDE, BAD, PLACE, Line
from sidecar.tools.models import megabytes

if TYPE_CHECKING:
    from sidecar.engine.every_index import IndexFolder, Removed

_DAYS_APART = 2


@dataclass(frozen=True, slots=True)
class IndexList:
    """The list that `sidecar indexes` shows, the last used index first."""

    folders: tuple[IndexFolder, ...]

    @property
    def value(self) -> dict[str, Any]:
        """The list as JSON-ready values."""
        return {"indexes": [_value(one) for one in self.folders]}

    def as_lines(self) -> Iterator[Line]:
        """Yields two lines for each index: its workspace, then its contents."""
        for one in self.folders:
            yield ((PLACE, shown.path(one.root) if one.root else shown.path(str(one.path))), *_gone(one))
            yield ((ASIDE, f"  {_about(one)}"),)
        total = sum(one.size for one in self.folders)
        yield f"{shown.count(len(self.folders), 'index', 'indexes')}, {_size(total)}"


@dataclass(frozen=True, slots=True)
class Pruned:
    """The outcome of `sidecar prune`."""

    done: Removed

    @property
    def value(self) -> dict[str, Any]:
        """The outcome as JSON-ready values."""
        return {
            "removed": [_value(one) for one in self.done.removed],
            "kept": [{**_value(one), "reason": reason} for one, reason in self.done.kept],
            "bytesFreed": self.done.bytes_freed,
            "vectorsReleased": self.done.vectors_released,
        }

    def as_lines(self) -> Iterator[str]:
        """Yields a line for each index, then what was freed."""
        for one in self.done.removed:
            yield f"removed {shown.path(one.root or str(one.path))}"
        for one, reason in self.done.kept:
            yield f"kept    {shown.path(one.root or str(one.path))}: {reason}"
        vectors = shown.count(self.done.vectors_released, "cached vector")
        yield f"{_size(self.done.bytes_freed)} freed, {vectors} released"


class EveryIndexTool:
    """Lists and removes the indexes in the data folder that `env` names; the default is this process's environment."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        from sidecar.engine.wiring import every_index

        self._indexes = every_index(own_environment() if env is None else env)

    def every(self) -> IndexList:
        """Returns all indexes, the last used one first."""
        return IndexList(tuple(self._indexes.every()))

    def unneeded(self, unused_days: int | None, now: datetime | None = None) -> IndexList:
        """Returns the indexes whose workspace no longer exists, and those not used for `unused_days` (None: only the
        former)."""
        before = None if unused_days is None else (now or datetime.now(UTC)) - timedelta(days=unused_days)
        return IndexList(
            tuple(one for one in self._indexes.every() if one.is_gone or (before is not None and one.used < before))
        )

    def what_stays(self, root: str) -> IndexFolder | None:
        """Returns the data of this workspace, which names what stays if its index is deleted; None if there is none."""
        return self._indexes.of(root)

    def above(self, root: str) -> str:
        """Returns the nearest folder above this workspace that has an index; empty if none has one."""
        return self._indexes.above(root)

    def remove(self, which: tuple[IndexFolder, ...], all_data: bool) -> Pruned:
        """Removes indexes; with `all_data` also the data that cannot be made again."""
        return Pruned(self._indexes.remove(which, all_data))


def _value(one: IndexFolder) -> dict[str, Any]:
    return {
        "folder": str(one.path),
        "workspace": one.root,
        "exists": bool(one.root) and not one.is_gone,
        "bytes": one.size,
        "lastUsed": one.used.isoformat(timespec="seconds"),
        "files": one.files,
        "chunks": one.chunks,
        "keeps": list(one.keeps),
    }


def _gone(one: IndexFolder) -> tuple[tuple[str, str], ...]:
    if one.is_gone:
        return ((BAD, "  does not exist any more"),)
    return () if one.root else ((BAD, "  no index"),)


def _about(one: IndexFolder) -> str:
    counts = f"{shown.count(one.files, 'file')}, {shown.count(one.chunks, 'chunk')}, " if one.root else ""
    keeps = f"; {', '.join(one.keeps)}" if one.keeps else ""
    return f"{counts}{_size(one.size)}, last used {_ago(one.used)}{keeps}"


def _size(size: int) -> str:
    return megabytes(size) if size else "0 MB"


def _ago(then: datetime) -> str:
    """Returns how long ago that was, in words."""
    days = (datetime.now(UTC) - then).days
    if days < 1:
        return "today"
    return "yesterday" if days < _DAYS_APART else f"{shown.count(days, 'day')} ago"
