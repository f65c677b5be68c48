"""Reads and writes the list of team snapshots that is stored beside them: `heads.json`, newest first, one entry for
each commit and kind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sidecar import shown
from sidecar.errors import SnapshotUnusable
from sidecar.small_files import parse_json

NAME = "heads.json"
MAX_BYTES = 4 * 1024**2
MOST_HEADS = 200
_FORMAT = 1
_SHA256 = re.compile("[0-9a-f]{64}")
_COMMIT = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_TEXT = 500


@dataclass(frozen=True, slots=True)
class Stored:
    """A file beside the list: the SHA-256 that names it, its size in bytes, and its signature if it has one."""

    sha256: str
    size: int
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """One snapshot, as the list describes it. The facts are checked again in the file itself.

    `commit` was checked out when the snapshot was made, `folder` is the workspace's place in the repository, `sha256`
    names the file, `size` is in bytes. `made` is the time by the maker's clock (ISO 8601), for people only. `kind` says
    how the rows were made: the versions of the format, the chunker and the analysis, the way of chunking, and the
    model. `base` is the whole snapshot to which this one adds; None if this one is whole. `files` and `chunks` count
    the content of both together.
    """

    commit: str
    folder: str
    sha256: str
    size: int
    made: str
    files: int
    chunks: int
    kind: Mapping[str, str]
    signature: str = ""
    base: Stored | None = None

    @property
    def needs(self) -> tuple[Stored, ...]:
        """All files that this snapshot needs, its base first and its own last."""
        own = Stored(self.sha256, self.size, self.signature)
        return (own,) if self.base is None else (self.base, own)

    def replaces(self, other: Head) -> bool:
        """Whether the list no longer needs the other one, because this one is of the same commit, folder and kind."""
        return (self.commit, self.folder, self.kind) == (other.commit, other.folder, other.kind)


def parse(content: bytes, where: str) -> list[Head]:
    """Returns the entries of a list that was read from `where`. Raises SnapshotUnusable if it is not a valid list."""
    try:
        read = parse_json(content)
        number, listed = read["format"], read["heads"]
        if number == _FORMAT:
            return [_head(one) for one in listed[:MOST_HEADS]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SnapshotUnusable(f"{where} is no list of snapshots.") from error
    raise SnapshotUnusable(
        f"{where} was written by a newer sidecar (format {shown.short(str(number))}); this one reads format {_FORMAT}."
    )


def written(heads: Iterable[Head]) -> bytes:
    """Returns the content of the file with this list."""
    listed = [{name: value for name, value in asdict(head).items() if value is not None} for head in heads]
    return (json.dumps({"format": _FORMAT, "heads": listed}, indent=1) + "\n").encode()


def with_head(heads: Iterable[Head], new: Head) -> list[Head]:
    """Returns the list with a new first entry, without the entries that it replaces, and cut to `MOST_HEADS`."""
    return [new, *(head for head in heads if not new.replaces(head))][:MOST_HEADS]


def _head(one: Mapping[str, Any]) -> Head:
    """Reads one entry. Raises ValueError, KeyError or TypeError if it is not valid."""
    kind = one["kind"]
    head = Head(
        commit=_matching(_COMMIT, one["commit"]),
        folder=_text(one["folder"]),
        sha256=_matching(_SHA256, one["sha256"]),
        size=_count(one["size"]),
        made=_text(one["made"]),
        files=_count(one["files"]),
        chunks=_count(one["chunks"]),
        kind={_text(name): _text(value) for name, value in kind.items()},
        signature=_text(one.get("signature", "")),
        base=_stored(one["base"]) if "base" in one else None,
    )
    if len(kind) > 20:
        raise ValueError("kind")
    return head


def _stored(one: Mapping[str, Any]) -> Stored:
    return Stored(_matching(_SHA256, one["sha256"]), _count(one["size"]), _text(one.get("signature", "")))


def _matching(pattern: re.Pattern[str], value: object) -> str:
    if isinstance(value, str) and pattern.fullmatch(value):
        return value
    raise ValueError("not a hash")


def _text(value: object) -> str:
    if isinstance(value, str) and len(value) <= _MOST_TEXT and value.isprintable():
        return value
    raise ValueError("not a text")


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53:
        return value
    raise ValueError("not a number")
