"""Finds the files of a working tree that git considers unmodified, by reading its index. Does not run git.

An index may be damaged, out of date, or written by a stranger. So an entry counts only for the very file that it was
made from: size, modification time, change time and inode must be those on disk, to the nanosecond. Whoever ships a
prepared index cannot foresee these. An entry that git itself did not compare with the file does not count either: one
that it was told to assume unchanged, one of a merge in progress, and one of a file that is as young as the index. The
format is described in git's documentation, `gitformat-index(5)`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from sidecar.model.files import IndexedBlob, Stat
from sidecar.parts.git_attributes import Conversions
from sidecar.parts.git_places import git_folder, repository_above
from sidecar.parts.paths import normalise_root
from sidecar.small_files import TooLarge, read_small_file

MAX_INDEX_BYTES = 128 * 1024 * 1024
MAX_ENTRIES = 1_000_000
"""An index with more is not believed: reading them takes Python a second or two. Chromium's has 450,000."""
_MAX_NAME = 4096
"""Bytes of a path, as many as the system takes. Each entry of version 4 may add to the name before it: 100,000 of them
have names of 5 GB.
"""
_HEADER = struct.Struct(">4sLL")
_ENTRY = struct.Struct(">10L20sH")
_CHECKSUM = 20
_WITHOUT_CHECKSUM = bytes(_CHECKSUM)
_LOW = 0xFFFFFFFF
_NS = 1_000_000_000
_REGULAR = 0o100000
_ASSUMED, _EXTENDED, _STAGE = 0x8000, 0x4000, 0x3000
_NOT_COMPARED = 0x6000
"""Bits of the second flags: deliberately not in the working tree (`skip-worktree`), or to be added later
(`intent-to-add`)."""
_PREFIXES_SHARED = 4
"""The version whose paths leave out the beginning that they share with the path before."""

_Entry = tuple[bytes, tuple[int, ...], bytes]
"""A path, what git noted of its stat (the first ten numbers of an entry), and its blob id."""


def unmodified(root: str, files: Mapping[str, IndexedBlob]) -> set[str]:
    """Returns those of these files, as paths relative to the root, whose content has the given blob id, according to
    git's index.

    Never raises: if git's index or attributes cannot be read or trusted, the result is empty.
    """
    with contextlib.suppress(OSError, TooLarge, struct.error, ValueError, IndexError):
        return _unmodified(normalise_root(root), files)
    return set()


def _unmodified(root: str, files: Mapping[str, IndexedBlob]) -> set[str]:
    tree = repository_above(root)
    folder = git_folder(Path(tree)) if tree else None
    if folder is None:
        return set()
    below = os.path.relpath(root, tree).replace(os.sep, "/")
    prefix = "" if below == "." else below + "/"
    wanted = {os.fsencode(prefix + path): path for path in files}
    place = folder / "index"
    written = place.stat().st_mtime_ns
    same = set()
    for name, noted, blob in _entries(read_small_file(place, MAX_INDEX_BYTES) or b"", wanted):
        path = wanted[name]
        if files[path].blob == blob and _is_of(noted, files[path].stat, written):
            same.add(path)
    conversions = Conversions(tree, folder)
    return {path for path in same if not conversions.may_convert(prefix + path)}


def _is_of(noted: tuple[int, ...], stat: Stat, written: int) -> bool:
    """Whether git noted this very stat, of a regular file, before it wrote the index."""
    changed_s, changed_ns, mtime_s, mtime_ns, _, inode, mode, _, _, size = noted
    return (
        mode & 0o170000 == _REGULAR
        and (size, inode) == (stat.size & _LOW, stat.inode & _LOW)
        and (mtime_s, mtime_ns) == ((stat.mtime_ns // _NS) & _LOW, stat.mtime_ns % _NS)
        and (changed_s, changed_ns) == ((stat.ctime_ns // _NS) & _LOW, stat.ctime_ns % _NS)
        # A file that changed in the moment when the index was written may have changed after git had read it.
        and max(stat.mtime_ns, stat.ctime_ns) < written
    )


def _entries(raw: bytes, wanted: Container[bytes]) -> Iterator[_Entry]:
    """Returns the entries of the wanted paths that git compared with the working tree. Raises ValueError, IndexError or
    struct.error if the bytes are not a whole index; all of it is checked before the first entry is returned."""
    signature, version, count = _HEADER.unpack_from(raw)
    if signature != b"DIRC" or version not in (2, 3, _PREFIXES_SHARED):
        raise ValueError("no index of a known version")
    if count > MAX_ENTRIES:
        raise ValueError(f"more than {MAX_ENTRIES:,} entries")
    stated = raw[-_CHECKSUM:]
    if stated not in (_WITHOUT_CHECKSUM, hashlib.sha1(memoryview(raw)[:-_CHECKSUM], usedforsecurity=False).digest()):
        raise ValueError("torn, damaged, or with ids of another kind")
    entries, end = _parse(raw, version, count, wanted)
    if _is_split(raw, end):
        raise ValueError("most of its entries are in another file")
    return iter(entries)


def _parse(raw: bytes, version: int, count: int, wanted: Container[bytes]) -> tuple[list[_Entry], int]:
    """Returns the entries of the wanted paths, and the position after the last entry of all."""
    entries: list[_Entry] = []
    at, name = _HEADER.size, b""
    for _ in range(count):
        *noted, blob, flags = _ENTRY.unpack_from(raw, at)
        start = at + _ENTRY.size
        more = 0
        if flags & _EXTENDED:
            (more,) = struct.unpack_from(">H", raw, start)
            start += 2
        if version == _PREFIXES_SHARED:
            dropped, start = _number(raw, start)
            stop = raw.index(0, start)
            name, at = name[: len(name) - dropped] + raw[start:stop], stop + 1
        else:
            stop = raw.index(0, start)
            name, at = raw[start:stop], at + (stop - at + 8) // 8 * 8
        if len(name) > _MAX_NAME:
            raise ValueError(f"a path of more than {_MAX_NAME:,} bytes")
        if name in wanted and not flags & (_ASSUMED | _STAGE) and not more & _NOT_COMPARED:
            entries.append((name, tuple(noted), blob))
    return entries, at


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Returns a number of variable length (git's offset encoding), and the position after it."""
    byte = raw[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = raw[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


def _is_split(raw: bytes, at: int) -> bool:
    """Whether the index only lists differences from a shared one. `at` is the position where its extensions begin."""
    while at < len(raw) - _CHECKSUM:
        kind, size = struct.unpack_from(">4sL", raw, at)
        if kind == b"link":
            return True
        at += 8 + size
    return False
