"""Encodes postings as bytes: ascending keys as differences, of the smallest width that fits, then counts.

Coding keys as differences (gaps) is the usual compression of postings: Manning, Raghavan and Schütze, "Introduction to
Information Retrieval" (2008), section 5.3. Layout, little endian: 1 byte width w (1, 2, 4 or 8), 7 bytes first key, n
differences of w bytes (the first is 0), n counts of 1 byte.

A few large differences would make all others wide. A compact blob has these apart, as in patched frame-of-reference
codes: Zukowski, Héman, Nes and Boncz, "Super-Scalar RAM-CPU Cache Compression" (2006). Its first byte is w + 16 v, and
behind the first key it has the number j of large differences (4 bytes), j places among all differences (4 bytes each)
and j values of v bytes; in their places, the differences of w bytes are 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Ids

Tfs = NDArray[np.uint8]

_HEADER = 8
_JUMPS = np.dtype("<u4")
"""The number and the places of large differences."""
_MANY = 128
"""Runs of fewer postings are never compact: they take little room, and are decoded together."""
_AT_ONCE = 4096
"""Blobs that are encoded or decoded together: enough to be fast, and few enough to take little memory."""
_LONG = 1024
"""Blobs of so many postings on average are decoded one by one, which takes two thirds of the time; short ones are
decoded together."""
_WIDTHS = (1, 2, 4, 8)
_WIDTH_OF = np.array(_WIDTHS)
_TYPES = {width: np.dtype(f"<u{width}") for width in _WIDTHS}


def encode_runs(keys: Ids, tfs: Tfs, starts: Ids, *, compact: bool = False) -> Iterator[bytes]:
    """Yields one blob per run. Run i is the slice `[starts[i], starts[i+1])` of `keys` and `tfs`, which have the same
    length.

    The keys of a run ascend, and every run has at least one. `compact`: whether long runs become compact blobs if
    these are shorter.
    """
    for first in range(0, len(starts) - 1, _AT_ONCE):
        some = starts[first : first + _AT_ONCE + 1]
        here = slice(some[0], some[-1])
        yield from _encode(keys[here], tfs[here], some - some[0], compact)


def _encode(keys: Ids, tfs: Tfs, starts: Ids, compact: bool) -> Iterator[bytes]:
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
    blobs = [joined[begin:end] for begin, end in pairwise(bounds)]
    if compact:
        for run in ((counts >= _MANY) & (widths > 1)).nonzero()[0].tolist():
            blobs[run] = _compact(blobs[run], deltas[starts[run] : starts[run + 1]])
    yield from blobs


def _compact(blob: bytes, deltas: Ids) -> bytes:
    """Returns the compact form of a blob with these differences if it is shorter, otherwise the blob."""
    wide, count = blob[0], len(deltas)
    narrow, places, most = wide, np.zeros(0, np.int64), wide * count
    for width in _WIDTHS[: _WIDTHS.index(wide)]:
        large = (deltas >= 1 << 8 * width).nonzero()[0]
        if (size := _size_of_jumps(len(large), wide) + width * count) < most:
            narrow, places, most = width, large, size
    if narrow == wide:
        return blob
    rest = deltas.copy()
    rest[places] = 0
    jumps = (np.append(len(places), places).astype(_JUMPS), deltas[places].astype(_TYPES[wide]))
    parts = (*jumps, rest.astype(_TYPES[narrow]))
    return b"".join((bytes([narrow | wide << 4]), blob[1:_HEADER], *(part.tobytes() for part in parts), blob[-count:]))


def _size_of_jumps(count: int, wide: int) -> int:
    """Returns how many bytes so many large differences take in a compact blob."""
    return _JUMPS.itemsize * (1 + count) + wide * count


@dataclass(frozen=True, slots=True)
class _Heads:
    """What the beginnings of some blobs say, as parallel arrays: the width of a difference, the first key, where the
    differences begin, and how many there are. `compact` has the numbers of the compact blobs."""

    widths: Ids
    firsts: Ids
    begins: Ids
    sizes: Ids
    compact: list[int]

    @classmethod
    def of(cls, heads: NDArray[np.uint64], blobs: Sequence[bytes], lengths: Ids) -> _Heads:
        """Reads the beginnings of these blobs. `heads` are the first `_HEADER` bytes of each as a number."""
        widths, firsts = (heads & np.uint64(255)).astype(np.int64), (heads >> np.uint64(8)).astype(np.int64)
        begins = np.full(len(blobs), _HEADER, np.int64)
        compact = (widths > _WIDTHS[-1]).nonzero()[0].tolist()
        for number in compact:
            blob = blobs[number]
            (count,) = np.frombuffer(blob, _JUMPS, 1, _HEADER).tolist()
            begins[number] += _size_of_jumps(count, blob[0] >> 4)
            widths[number] = blob[0] & 15
        return cls(widths, firsts, begins, (lengths - begins) // (widths + 1), compact)


def _heads_of_few(blobs: Sequence[bytes]) -> _Heads:
    heads = np.frombuffer(b"".join([blob[:_HEADER] for blob in blobs]), "<u8")
    return _Heads.of(heads, blobs, np.fromiter(map(len, blobs), np.int64, len(blobs)))


def _put_jumps(blob: bytes, deltas: Ids) -> None:
    """Puts the large differences of a compact blob among its others."""
    (count,) = np.frombuffer(blob, _JUMPS, 1, _HEADER).tolist()
    at = _HEADER + _JUMPS.itemsize
    places = np.frombuffer(blob, _JUMPS, count, at)
    deltas[places] = np.frombuffer(blob, _TYPES[blob[0] >> 4], count, at + places.nbytes)


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
    # All at once, and not blob by blob: merges decode millions of short ones.
    heads = _Heads.of(whole[offsets[:, None] + np.arange(_HEADER)].view("<u8").ravel(), blobs, lengths)
    sizes = heads.sizes
    starts = np.cumsum(sizes) - sizes
    deltas = np.empty(int(sizes.sum()), np.int64)
    for width in _widths_among(heads.widths):
        chosen = np.flatnonzero(heads.widths == width)
        at = _ranges((offsets + heads.begins)[chosen], sizes[chosen], width)
        values = whole[at].astype(np.int64)
        for byte in range(1, width):
            values |= whole[at + byte].astype(np.int64) << (8 * byte)
        deltas[_ranges(starts[chosen], sizes[chosen])] = values
    for number in heads.compact:
        _put_jumps(blobs[number], deltas[starts[number] :])
    tfs = whole[_ranges(offsets + lengths - sizes, sizes)]
    running = deltas.cumsum()
    # Each blob's first delta is 0, so the running sum at its start is the total of the blobs before it.
    return running + np.repeat(heads.firsts - running[starts], sizes), tfs, sizes


def decode_few(blobs: Sequence[bytes]) -> tuple[Ids, Tfs, Ids]:
    """Returns the same as `decode_all`; also for no blobs, and faster unless there are thousands of short ones."""
    if not blobs:
        return np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int64)
    heads = _heads_of_few(blobs)
    sizes = heads.sizes
    tfs = np.frombuffer(b"".join([blob[-size:] for blob, size in zip(blobs, sizes.tolist(), strict=True)]), np.uint8)
    decode = _keys_one_by_one if len(tfs) >= _LONG * len(blobs) else _keys_together
    return decode(blobs, heads), tfs, sizes


def _keys_one_by_one(blobs: Sequence[bytes], heads: _Heads) -> Ids:
    """Decodes one blob after the other, in one pass over each that is not compact."""
    keys, begin, compact = np.empty(int(heads.sizes.sum()), np.int64), 0, frozenset(heads.compact)
    columns = (heads.widths, heads.firsts, heads.begins, heads.sizes)
    of_blobs = zip(*(column.tolist() for column in columns), strict=True)
    for number, (blob, (width, first, at, size)) in enumerate(zip(blobs, of_blobs, strict=True)):
        here = keys[begin : begin + size]
        deltas = np.frombuffer(blob, _TYPES[width], size, at)
        if number in compact:
            here[:] = deltas
            _put_jumps(blob, here)
            deltas = here
        deltas.cumsum(dtype=np.int64, out=here)
        here += first
        begin += size
    return keys


def _keys_together(blobs: Sequence[bytes], heads: _Heads) -> Ids:
    """Decodes the blobs of each width at once."""
    sizes = heads.sizes
    of_blobs = list(zip(blobs, heads.widths.tolist(), heads.begins.tolist(), sizes.tolist(), strict=True))
    starts, deltas = np.cumsum(sizes) - sizes, np.empty(int(sizes.sum()), np.int64)
    width_of_each = np.repeat(heads.widths, sizes)
    for width in _widths_among(heads.widths):
        joined = b"".join([blob[begin:-size] for blob, own, begin, size in of_blobs if own == width])
        deltas[width_of_each == width] = np.frombuffer(joined, _TYPES[width])
    for number in heads.compact:
        _put_jumps(blobs[number], deltas[starts[number] :])
    keys = deltas.cumsum()
    # The first difference of a blob is 0, see `decode_all`.
    keys += np.repeat(heads.firsts - keys[starts], sizes)
    return keys


def _widths_among(widths: Ids) -> list[int]:
    """Returns the distinct widths. `np.unique` would import numpy's masked arrays, which delays the first search."""
    return [width for width in _WIDTHS if (widths == width).any()]


def postings_in(blob: bytes) -> int:
    """Returns how many postings a blob has."""
    return int(_heads_of_few([blob]).sizes[0])


def _ranges(begins: Ids, counts: Ids, step: int = 1) -> Ids:
    """Returns the numbers of many ranges, one after the other: range i begins with `begins[i]` and has `counts[i]`
    numbers, `step` apart."""
    before = np.cumsum(counts) - counts
    return np.repeat(begins - step * before, counts) + step * np.arange(int(counts.sum()))
