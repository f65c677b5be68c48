"""Postings as bytes: ascending keys as deltas of the narrowest width, then counts.

Layout, little endian: 1 byte width w (1, 2, 4 or 8), 7 bytes first key, n deltas of w bytes (the first is 0),
n counts of 1 byte.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sidecar.model import Ids

Tfs = NDArray[np.uint8]

_HEADER = 8
_WIDTHS = (1, 2, 4, 8)


def encode_runs(keys: Ids, tfs: Tfs, starts: Ids) -> Iterator[bytes]:
    """One blob per run; run i is `[starts[i], starts[i+1])`, its keys ascend. Every run holds at least one key."""
    if not len(starts) - 1:
        return
    deltas = np.diff(keys, prepend=0)
    deltas[starts[:-1]] = 0
    widest = np.maximum.reduceat(deltas, starts[:-1])
    widths = np.digitize(widest, (1 << 8, 1 << 16, 1 << 32))
    packed = {w: deltas.astype(f"<u{w}").tobytes() for i, w in enumerate(_WIDTHS) if (widths == i).any()}
    counts = tfs.tobytes()
    firsts = keys[starts[:-1]].tolist()
    bounds = starts.tolist()
    for i, (first, code) in enumerate(zip(firsts, widths.tolist(), strict=True)):
        a, b, w = bounds[i], bounds[i + 1], _WIDTHS[code]
        yield bytes((w,)) + first.to_bytes(7, "little") + packed[w][a * w : b * w] + counts[a:b]


def decode(blob: bytes) -> tuple[Ids, Tfs]:
    """Keys and counts of one blob."""
    width = blob[0]
    n = (len(blob) - _HEADER) // (width + 1)
    keys = np.frombuffer(blob, f"<u{width}", n, _HEADER).cumsum(dtype=np.int64)
    keys += int.from_bytes(blob[1:8], "little")
    return keys, np.frombuffer(blob, np.uint8, n, _HEADER + n * width)


def count(blob: bytes) -> int:
    """How many postings a blob holds."""
    return (len(blob) - _HEADER) // (blob[0] + 1)
