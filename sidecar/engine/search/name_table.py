"""Many names in little memory, and those among them that few edits can make of another name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 50_000
_LETTERS = 63
_PER_EDIT = 2
"""Replacing a letter takes one out of the set of letters and puts another in, at most. No other edit changes more."""


@dataclass(frozen=True, slots=True)
class NameTable:
    """Names as UTF-8 without separators: name i is `text[ends[i - 1]:ends[i]]`. `lengths` are in letters, and `letters`
    has a bit for each letter that occurs in the name; 63 letters share a bit. Takes 14 bytes for each name beside its
    text; a Python string takes 60.

    A name may occur more than once.
    """

    text: bytes
    ends: NDArray[np.uint32]
    lengths: NDArray[np.uint16]
    letters: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.ends)

    def with_more(self, names: Iterable[str]) -> NameTable:
        """These names, followed by others."""
        parts = [self, *_tables(names)]
        sizes = [len(part.text) for part in parts]
        starts = np.cumsum([0, *sizes[:-1]])
        return NameTable(
            b"".join(part.text for part in parts),
            np.concatenate([part.ends + np.uint32(start) for part, start in zip(parts, starts, strict=True)]),
            np.concatenate([part.lengths for part in parts]),
            np.concatenate([part.letters for part in parts]),
        )

    def near(self, name: str, edits: int) -> list[str]:
        """The distinct names that as many edits may make of `name`, in order of the alphabet: all that they do make of
        it, and others. An edit adds, drops or replaces a letter, or swaps two neighbours."""
        length, letters = len(name), _letters_of([name], np.array([len(name)]))[0]
        near = (self.lengths >= max(0, length - edits)) & (self.lengths <= length + edits)
        places = np.flatnonzero(near)
        places = places[np.bitwise_count(self.letters[places] ^ letters) <= _PER_EDIT * edits]
        starts = np.where(places > 0, self.ends[places - 1], 0)
        pieces = zip(starts.tolist(), self.ends[places].tolist(), strict=True)
        return sorted({self.text[start:end].decode() for start, end in pieces})


def name_table(names: Iterable[str]) -> NameTable:
    """A table of these names, none of which is empty."""
    empty = NameTable(b"", np.zeros(0, np.uint32), np.zeros(0, np.uint16), np.zeros(0, np.uint64))
    return empty.with_more(names)


def _tables(names: Iterable[str]) -> Iterator[NameTable]:
    """Tables of so many names at a time as may be Python strings at once."""
    left = iter(names)
    while some := list(islice(left, _AT_ONCE)):
        encoded = [name.encode() for name in some]
        lengths = np.fromiter(map(len, some), np.int64, len(some))
        ends = np.cumsum(np.fromiter(map(len, encoded), np.uint32, len(some)), dtype=np.uint32)
        longest = np.iinfo(np.uint16).max
        yield NameTable(
            b"".join(encoded), ends, np.minimum(lengths, longest).astype(np.uint16), _letters_of(some, lengths)
        )


def _letters_of(names: list[str], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The set of letters of each name, in bits."""
    codes = np.frombuffer("".join(names).encode("utf-32-le"), "<u4")
    bits = np.uint64(1) << (codes % _LETTERS).astype(np.uint64)
    starts = np.cumsum(lengths) - lengths
    return np.asarray(np.bitwise_or.reduceat(bits, starts), np.uint64)
