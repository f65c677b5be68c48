"""Arrays in one file that can always be made again. It is written and read as a whole, and refused if a single bit has
changed.

It is read into memory instead of mapped: a mapped file that another process truncates would end this process, and
reading 60 MB takes 30 ms. The layout: 64 hexadecimal digits of SHA-256 over all that follows, a line of JSON, then the
arrays. Each array begins at a multiple of 64 bytes, because numpy copies unaligned arrays before it computes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.small_files import open_new, open_to_read, parse_json

_DIGITS = 64
_ALIGNED = 64
_LONGEST_HEAD = 16 << 20


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """The content of a file: `facts`, values of JSON, and `arrays` by name, read-only."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]


def write_arrays(path: Path, content: ArrayFile) -> bool:
    """Replaces the file atomically. Returns False if that fails; the former file may then still exist."""
    shapes = [(name, array.dtype.str, array.shape) for name, array in content.arrays.items()]
    head = json.dumps({"facts": content.facts, "arrays": shapes}).encode()
    parts = [head + b" " * (-len(head) - 1 & _ALIGNED - 1) + b"\n"]
    for array in content.arrays.values():
        parts += [array.tobytes(), bytes(-array.nbytes & _ALIGNED - 1)]
    # All processes use one name: what a killed process has left is overwritten, and if two write at once, both files
    # are refused.
    new = path.with_suffix(".new")
    try:
        with open_new(new) as file:
            file.write(_digest(*parts))
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        return False
    return True


def read_arrays(path: Path) -> ArrayFile | None:
    """Returns the content of the file; None if it is missing, cannot be read, or differs from what was written."""
    with contextlib.suppress(OSError, ValueError, TypeError, LookupError), open_to_read(path) as file:
        digest, head = file.read(_DIGITS), file.readline(_LONGEST_HEAD)
        described = parse_json(head)
        pieces = [_Piece(name, np.dtype(kind), tuple(shape)) for name, kind, shape in described["arrays"]]
        # Nothing is read whose size is another one: memory for it might not exist.
        if _DIGITS + len(head) + sum(piece.size + piece.padding for piece in pieces) != os.fstat(file.fileno()).st_size:
            return None
        content = file.read()
        if _digest(head, content) == digest:
            return ArrayFile(described["facts"], dict(_arrays(content, pieces)))
    return None


@dataclass(frozen=True)
class _Piece:
    """One array in the file."""

    name: str
    kind: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        return self.count * self.kind.itemsize

    @property
    def padding(self) -> int:
        return -self.size & _ALIGNED - 1


def _arrays(content: bytes, pieces: Iterable[_Piece]) -> Iterator[tuple[str, NDArray[Any]]]:
    at = 0
    for piece in pieces:
        yield piece.name, np.frombuffer(content, piece.kind, piece.count, at).reshape(piece.shape)
        at += piece.size + piece.padding


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest().encode()
