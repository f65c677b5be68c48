"""Encodes postings as bytes: ascending keys as differences, of the smallest width that fits, then counts.

Coding keys as differences (gaps) is the usual compression of postings: Manning, Raghavan and Schütze, "Introduction to
Information Retrieval" (2008), section 5.3. Layout, little endian: 1 byte width w (1, 2, 4 or 8), 7 bytes first key, n
differences of w bytes (the first is 0), n counts of 1 byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Ids

Tfs = NDArray[np.uint8]

_HEADER = 8
_AT_ONCE = 4096
"""Blobs that are encoded or decoded together: enough to be fast, and few enough to take little memory."""
_LONG = 1024
"""Blobs of so many postings on average are decoded one by one, which takes two thirds of the time; short ones are
decoded together."""
_WIDTHS = (1, 2, 4, 8)
_WIDTH_OF = np.array(_WIDTHS)
_TYPES = {width: np.dtype(f"<u{width}") for width in _WIDTHS}


def encode_runs(keys: Ids, tfs: Tfs, starts: Ids) -> Iterator[bytes]:
    """Yields one blob per run. Run i is the slice `[starts[i], starts[i+1])` of `keys` and `tfs`, which have the same
    length.

    The keys of a run ascend, and every run has at least one.
    """
    for first in range(0, len(starts) - 1, _AT_ONCE):
        some = starts[first : first + _AT_ONCE + 1]
        here = slice(some[0], some[-1])
        yield from _encode(keys[here], tfs[here], some - some[0])


def _encode(keys: Ids, tfs: Tfs, starts: Ids) -> Iterator[bytes]:
    deltas = np.diff(keys, prepend=0)
    begins = starts[:-1]
    deltas[begins] = 0
    widths = _WIDTH_OF[np.digitize(np.maximum.reduceat(deltas, begins), (1 << 8, 1 << 16, 1 << 32))]
    counts = np.diff(starts)
    ends = np.cumsum(_HEADER + counts * (widths + 1))
    offsets = np.concatenate([[0], ends[:-1]])
    whole = np.empty(int(ends[-1]), np.uint8)
    # The first key is less than 2^56, so its highest byte leaves room for the width.
    heads = (keys[begins].astype("<u8") << np.uint64(8)) | widths.astype("<u8")
    whole[offsets[:, None] + np.arange(_HEADER)] = heads.view(np.uint8).reshape(-1, _HEADER)
    for width in _widths_among(widths):
        chosen = np.flatnonzero(widths == width)
        of_chosen = _ranges(begins[chosen], counts[chosen])
        at = _ranges(offsets[chosen] + _HEADER, counts[chosen], width)
        parts = deltas[of_chosen].astype(_TYPES[width]).view(np.uint8).reshape(-1, width)
        for byte in range(width):
            whole[at + byte] = parts[:, byte]
    whole[_ranges(ends - counts, counts)] = tfs
    joined, bounds = whole.tobytes(), [0, *ends.tolist()]
    yield from (joined[begin:end] for begin, end in pairwise(bounds))


def decode_all(blobs: Sequence[bytes]) -> tuple[Ids, Tfs, Ids]:
    """Returns the keys and counts of many blobs, one blob after the other, and how many postings each blob holds.

    There must be at least one. Fast for thousands of short blobs; `decode_few` is faster for others.
    """
    parts = [_decode(blobs[first : first + _AT_ONCE]) for first in range(0, len(blobs), _AT_ONCE)]
    keys, tfs, sizes = zip(*parts, strict=True)
    return np.concatenate(keys), np.concatenate(tfs), np.concatenate(sizes)


def _decode(blobs: Sequence[bytes]) -> tuple[Ids, Tfs, Ids]:
    lengths = np.fromiter(map(len, blobs), np.int64, len(blobs))
    offsets = np.cumsum(lengths) - lengths
    whole = np.frombuffer(b"".join(blobs), np.uint8)
    heads = whole[offsets[:, None] + np.arange(_HEADER)].view("<u8").ravel()
    widths, firsts = (heads & np.uint64(255)).astype(np.int64), (heads >> np.uint64(8)).astype(np.int64)
    sizes = (lengths - _HEADER) // (widths + 1)
    starts = np.cumsum(sizes) - sizes
    deltas = np.empty(int(sizes.sum()), np.int64)
    for width in _widths_among(widths):
        chosen = np.flatnonzero(widths == width)
        at = _ranges(offsets[chosen] + _HEADER, sizes[chosen], width)
        values = whole[at].astype(np.int64)
        for byte in range(1, width):
            values |= whole[at + byte].astype(np.int64) << (8 * byte)
        deltas[_ranges(starts[chosen], sizes[chosen])] = values
    tfs = whole[_ranges(offsets + lengths - sizes, sizes)]
    running = deltas.cumsum()
    # Each blob's first delta is 0, so the running sum at its start is the total of the blobs before it.
    return running + np.repeat(firsts - running[starts], sizes), tfs, sizes


def decode_few(blobs: Sequence[bytes]) -> tuple[Ids, Tfs, Ids]:
    """Returns the same as `decode_all`; also for no blobs, and faster unless there are thousands of short ones."""
    if not blobs:
        return np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int64)
    heads = np.frombuffer(b"".join([blob[:_HEADER] for blob in blobs]), "<u8")
    widths, firsts = (heads & np.uint64(255)).astype(np.int64), (heads >> np.uint64(8)).astype(np.int64)
    sizes = (np.fromiter(map(len, blobs), np.int64, len(blobs)) - _HEADER) // (widths + 1)
    tfs = np.frombuffer(b"".join([blob[-size:] for blob, size in zip(blobs, sizes.tolist(), strict=True)]), np.uint8)
    decode = _keys_one_by_one if len(tfs) >= _LONG * len(blobs) else _keys_together
    return decode(blobs, widths, firsts, sizes), tfs, sizes


def _keys_one_by_one(blobs: Sequence[bytes], widths: Ids, firsts: Ids, sizes: Ids) -> Ids:
    """Decodes one blob after the other, in one pass over each."""
    keys, begin = np.empty(int(sizes.sum()), np.int64), 0
    for blob, width, first, size in zip(blobs, widths.tolist(), firsts.tolist(), sizes.tolist(), strict=True):
        here = keys[begin : begin + size]
        np.frombuffer(blob, _TYPES[width], size, _HEADER).cumsum(dtype=np.int64, out=here)
        here += first
        begin += size
    return keys


def _keys_together(blobs: Sequence[bytes], widths: Ids, firsts: Ids, sizes: Ids) -> Ids:
    """Decodes the blobs of each width at once."""
    sized = list(zip(blobs, sizes.tolist(), strict=True))
    deltas, width_of_each = np.empty(int(sizes.sum()), np.int64), np.repeat(widths, sizes)
    for width in _widths_among(widths):
        joined = b"".join([blob[_HEADER:-size] for blob, size in sized if blob[0] == width])
        deltas[width_of_each == width] = np.frombuffer(joined, _TYPES[width])
    keys = deltas.cumsum()
    # The first difference of a blob is 0, see `decode_all`.
    keys += np.repeat(firsts - keys[np.cumsum(sizes) - sizes], sizes)
    return keys


def _widths_among(widths: Ids) -> list[int]:
    """Returns the distinct widths. `np.unique` would import numpy's masked arrays, which delays the first search."""
    return [width for width in _WIDTHS if (widths == width).any()]


def postings_in(length: int, width: int) -> int:
    """Returns how many postings a blob of this length has, whose first byte is `width`."""
    return (length - _HEADER) // (width + 1)


def _ranges(begins: Ids, counts: Ids, step: int = 1) -> Ids:
    """Returns the numbers of many ranges, one after the other: range i begins with `begins[i]` and has `counts[i]`
    numbers, `step` apart."""
    before = np.cumsum(counts) - counts
    return np.repeat(begins - step * before, counts) + step * np.arange(int(counts.sum()))
