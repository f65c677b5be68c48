"""Encodes postings as bytes: ascending keys as differences, of the smallest width that fits, then counts.

Coding keys as differences (gaps) is the usual compression of postings: Manning, Raghavan and Schütze, "Introduction to
Information Retrieval" (2008), section 5.3. Layout, little endian: 1 byte width w (1, 2, 4 or 8), 7 bytes first key, n
differences of w bytes (the first is 0), n counts of 1 byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Ids

Tfs = NDArray[np.uint8]

_HEADER = 8
_WIDTHS = (1, 2, 4, 8)
_TYPES = {width: np.dtype(f"<u{width}") for width in _WIDTHS}


def encode_runs(keys: Ids, tfs: Tfs, starts: Ids) -> Iterator[bytes]:
    """Yields one blob per run. Run i is the slice `[starts[i], starts[i+1])` of `keys` and `tfs`, which have the same
    length.

    The keys of a run ascend, and every run has at least one.
    """
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


def decode_all(blobs: Sequence[bytes]) -> tuple[Ids, Tfs, Ids]:
    """Returns the keys and counts of many blobs, one blob after the other, and how many postings each blob holds.

    Fast for thousands of short blobs; `decode_few` is faster for a few long ones.
    """
    sizes = np.array([count(blob) for blob in blobs], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    firsts = np.array([int.from_bytes(blob[1:8], "little") for blob in blobs], np.int64)
    deltas = np.empty(starts[-1], np.int64)
    tfs = np.empty(starts[-1], np.uint8)
    widths = np.array([blob[0] for blob in blobs], np.int64)
    for width in np.unique(widths).tolist():
        chosen = np.flatnonzero(widths == width).tolist()
        places = _places(starts, chosen)
        lengths = [(blobs[i], int(sizes[i]) * width) for i in chosen]
        deltas[places] = np.frombuffer(b"".join(b[_HEADER : _HEADER + n] for b, n in lengths), f"<u{width}")
        tfs[places] = np.frombuffer(b"".join(b[_HEADER + n :] for b, n in lengths), np.uint8)
    running = deltas.cumsum()
    # Each blob's first delta is 0, so the running sum at its start is the total of the blobs before it.
    return running + np.repeat(firsts - running[starts[:-1]], sizes), tfs, sizes


def decode_few(blobs: Sequence[bytes]) -> tuple[Ids, Tfs, Ids]:
    """Returns the same as `decode_all`, faster for a few long blobs."""
    if not blobs:
        return np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int64)
    counts = [count(blob) for blob in blobs]
    sized = list(zip(blobs, counts, strict=True))
    sizes = np.array(counts, np.int64)
    deltas = [np.frombuffer(blob, _TYPES[blob[0]], size, _HEADER) for blob, size in sized]
    keys = np.concatenate(deltas, dtype=np.int64, casting="same_kind").cumsum()
    firsts = np.array([int.from_bytes(blob[1:8], "little") for blob in blobs], np.int64)
    # The first difference of a blob is 0, see `decode_all`.
    keys += np.repeat(firsts - keys[np.cumsum(sizes) - sizes], sizes)
    return keys, np.concatenate([np.frombuffer(blob, np.uint8, size, len(blob) - size) for blob, size in sized]), sizes


def _places(starts: Ids, chosen: list[int]) -> Ids | slice:
    """Returns the positions of the chosen blobs' postings in the result; a slice if all blobs are chosen, which is
    usual."""
    if len(chosen) == len(starts) - 1:
        return slice(None)
    begin = starts[chosen]
    sizes = starts[np.array(chosen) + 1] - begin
    offsets = np.repeat(begin - (np.cumsum(sizes) - sizes), sizes)
    return np.asarray(offsets + np.arange(int(sizes.sum())), np.int64)


def count(blob: bytes) -> int:
    """Returns how many postings a blob holds; at least one."""
    return (len(blob) - _HEADER) // (blob[0] + 1)
