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
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.small_files import open_new, open_to_read

_DIGITS = 64
_ALIGNED = 64


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
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    # All processes use one name: what a killed process has left is overwritten, and if two write at once, both files
    # are refused.
    new = path.with_suffix(".new")
    try:
        with open_new(new) as file:
            file.write(digest.hexdigest().encode())
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
    try:
        with open_to_read(path) as file:
            content = file.read()
    except OSError:
        return None
    whole = memoryview(content)
    if hashlib.sha256(whole[_DIGITS:]).hexdigest().encode() != content[:_DIGITS]:
        return None
    end = content.index(b"\n", _DIGITS) + 1
    described = json.loads(content[_DIGITS:end])
    arrays = {}
    for name, kind, shape in described["arrays"]:
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(content, kind, count, end).reshape(shape)
        end += arrays[name].nbytes + (-arrays[name].nbytes & _ALIGNED - 1)
    return ArrayFile(described["facts"], arrays)
