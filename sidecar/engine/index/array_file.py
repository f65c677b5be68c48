"""Arrays in one file that can always be made again. It is written and read as a whole, and refused if a single bit has
changed.

It is read into memory instead of mapped: a mapped file that another process truncates would end this process, and
reading 60 MB takes 30 ms. Each array has memory of its own, so that it can outlive the others. The layout: 64
hexadecimal digits of SHA-256 over all that follows, a line of JSON, then the arrays. Each begins at a multiple of 64
bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

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


def read_arrays(path: Path, into: Mapping[str, NDArray[Any]] | None = None) -> ArrayFile | None:
    """Returns the content of the file; None if it is missing, cannot be read, or differs from what was written.

    An array whose name is in `into` is read into that one, which must be contiguous, if type and shape are the same. If
    None is returned, that one has any content.
    """
    with contextlib.suppress(OSError, ValueError, TypeError, LookupError, EOFError), open_to_read(path) as file:
        digest, head = file.read(_DIGITS), file.readline(_LONGEST_HEAD)
        described = parse_json(head)
        pieces = [_Piece(name, np.dtype(kind), tuple(shape)) for name, kind, shape in described["arrays"]]
        # Nothing is read whose size is another one: memory for it might not exist.
        if _DIGITS + len(head) + sum(piece.size + piece.padding for piece in pieces) != os.fstat(file.fileno()).st_size:
            return None
        actual, arrays = hashlib.sha256(head), {}
        for piece in pieces:
            arrays[piece.name] = piece.read(file, actual, (into or {}).get(piece.name))
        if actual.hexdigest().encode() == digest:
            return ArrayFile(described["facts"], arrays)
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

    def read(self, file: BinaryIO, digest: Any, into: NDArray[Any] | None) -> NDArray[Any]:
        """Reads the array, from where the file is, and its padding, and adds both to the digest."""
        if into is None or (into.dtype, into.shape) != (self.kind, self.shape):
            into = None
        array = np.empty(self.shape, self.kind) if into is None else into
        if self.size:
            memory = memoryview(array).cast("B")  # type: ignore[arg-type]
            if file.readinto(memory) != self.size:  # type: ignore[attr-defined]
                raise EOFError
            digest.update(memory)
        digest.update(file.read(self.padding))
        if into is None:
            array.flags.writeable = False
        return array


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest().encode()
