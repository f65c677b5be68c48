"""Reads and writes the file of a team snapshot: a zstd stream of a header and parts, with limits on the unpacked size.

The unpacked stream is `MAGIC`, the length of the header (4 bytes, little endian), the header as JSON, and the parts one
after the other. The header lists the parts with sizes and SHA-256. The file is named after its own SHA-256. Nothing in
it is ever executed or opened as a database: parts are plain bytes, and the code that reads them checks them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from sidecar import shown
from sidecar.errors import SnapshotUnusable
from sidecar.parts.data_folder import UNFINISHED
from sidecar.small_files import open_new, open_to_read, parse_json

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"sidecar snapshot\n"
MAX_HEADER_BYTES = 1024**2
MOST_TIMES = 20
"""The maximum ratio of the unpacked size to the file's size. Postings and rows shrink to a third, vectors hardly at
all."""
SPARE_BYTES = 16 * 1024**2
"""The number of bytes that a file may unpack to in addition to that."""
MAX_FILE_BYTES = 8 * 1024**3
_LEVEL = 9
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Packed:
    """A file that was written: its path, its SHA-256, its size and its unpacked size, both in bytes."""

    path: Path
    sha256: str
    size: int
    unpacked: int


def pack(facts: Mapping[str, Any], parts: Mapping[str, Path], folder: Path) -> Packed:
    """Writes the parts into one file in `folder`, with a header of `facts`. Raises OSError."""
    listed: list[dict[str, Any]] = [
        {"name": name, "size": path.stat().st_size, "sha256": sha256_of(path)} for name, path in parts.items()
    ]
    header = json.dumps({**facts, "parts": listed}, separators=(",", ":")).encode()
    fresh = folder / f"{UNFINISHED}{hashlib.sha256(header).hexdigest()[:16]}"
    try:
        with zstd.ZstdFile(fresh, "wb", level=_LEVEL) as out:
            out.write(MAGIC + len(header).to_bytes(4, "little") + header)
            for path in parts.values():
                for block in _blocks(path):
                    out.write(block)
        sha256, size = sha256_of(fresh), fresh.stat().st_size
        target = folder / name_of(sha256)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    unpacked = len(MAGIC) + 4 + len(header) + sum(part["size"] for part in listed)
    return Packed(target, sha256, size, unpacked)


def name_of(sha256: str) -> str:
    """Returns the name of the file with this hash."""
    return f"{sha256}.zst"


def unpack(file: Path, folder: Path, wanted: Mapping[str, bool]) -> dict[str, Any]:
    """Writes each part into `folder` under its name and returns the header.

    `wanted` has the names that parts may have, and whether they must exist. Raises SnapshotUnusable for anything that
    is wrong with the file, and OSError.
    """
    most = file.stat().st_size * MOST_TIMES + SPARE_BYTES
    try:
        with zstd.ZstdFile(file, "rb", options={zstd.DecompressionParameter.window_log_max: 27}) as stream:
            source = cast(BinaryIO, stream)
            header = _read_header(source)
            listed = _listed(header, wanted)
            if (total := sum(size for _, size, _ in listed)) > most:
                raise SnapshotUnusable(f"It would unpack to {total:,} bytes, more than {MOST_TIMES} times its size.")
            for name, size, sha256 in listed:
                _write_part(source, folder / name, size, sha256)
            if source.read(1):
                raise SnapshotUnusable("It holds more than its header lists.")
    except (zstd.ZstdError, EOFError) as error:
        raise SnapshotUnusable(f"It is damaged or cut off ({shown.reason(error)}).") from error
    return header


def _read_header(source: BinaryIO) -> dict[str, Any]:
    if source.read(len(MAGIC)) != MAGIC:
        raise SnapshotUnusable("It is not a snapshot of sidecar.")
    length = int.from_bytes(_exactly(source, 4), "little")
    if length > MAX_HEADER_BYTES:
        raise SnapshotUnusable("Its header is too long.")
    try:
        header = parse_json(_exactly(source, length))
    except ValueError as error:
        raise SnapshotUnusable("Its header is damaged.") from error
    if not isinstance(header, dict):
        raise SnapshotUnusable("Its header is damaged.")
    return header


def _listed(header: Mapping[str, Any], wanted: Mapping[str, bool]) -> list[tuple[str, int, str]]:
    """Returns the name, size and SHA-256 of each part. Raises SnapshotUnusable if the parts are not those of
    `wanted`."""
    try:
        listed = [(str(part["name"]), int(part["size"]), str(part["sha256"])) for part in header["parts"]]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SnapshotUnusable("Its header does not list its parts.") from error
    names = [name for name, _, _ in listed]
    needed = {name for name, must in wanted.items() if must}
    if len(set(names)) != len(names) or not set(names) <= set(wanted) or not needed <= set(names):
        raise SnapshotUnusable("Its header lists other parts than a snapshot has.")
    if any(size < 0 for _, size, _ in listed):
        raise SnapshotUnusable("Its header does not list its parts.")
    return listed


def _write_part(source: BinaryIO, target: Path, size: int, sha256: str) -> None:
    digest = hashlib.sha256()
    with open_new(target) as out:
        left = size
        while left:
            block = source.read(min(_BLOCK, left))
            if not block:
                raise SnapshotUnusable("It is damaged or cut off (it ends within a part).")
            left -= len(block)
            digest.update(block)
            out.write(block)
    if digest.hexdigest() != sha256:
        raise SnapshotUnusable(f"Its part {target.name} is not what its header says.")


def _exactly(source: BinaryIO, length: int) -> bytes:
    found = source.read(length)
    if len(found) != length:
        raise SnapshotUnusable("It is damaged or cut off (it ends within its header).")
    return found


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file, in hex. Raises OSError."""
    digest = hashlib.sha256()
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with open_to_read(path) as source:
        while block := source.read(_BLOCK):
            yield block
