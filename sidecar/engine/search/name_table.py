"""Many names in little memory, and those among them that few edits can make of another name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 50_000
_LETTERS = 63
_PER_EDIT = 2
"""Replacing a letter takes one out of the set of letters and puts another in, at most. No other edit changes more."""


@dataclass(frozen=True, slots=True)
class _Block:
    """Names as UTF-8 without separators: name i is `text[ends[i - 1]:ends[i]]`. `lengths` are in letters, and `letters`
    has a bit for each letter that occurs in the name; 63 letters share a bit."""

    text: bytes
    ends: NDArray[np.uint32]
    lengths: NDArray[np.uint16]
    letters: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.ends)

    def near(self, length: int, letters: np.uint64, edits: int) -> Iterator[str]:
        """See `NameTable.near`; `length` and `letters` are those of the name."""
        near = (self.lengths >= max(0, length - edits)) & (self.lengths <= length + edits)
        places = np.flatnonzero(near)
        places = places[np.bitwise_count(self.letters[places] ^ letters) <= _PER_EDIT * edits]
        starts = np.where(places > 0, self.ends[places - 1], 0)
        pieces = zip(starts.tolist(), self.ends[places].tolist(), strict=True)
        return (self.text[start:end].decode() for start, end in pieces)


@dataclass(frozen=True, slots=True)
class NameTable:
    """Names in blocks, each at least twice as long as the next. Takes 14 bytes for each name beside its text; a Python
    string takes 60.

    A name may occur more than once.
    """

    blocks: tuple[_Block, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def with_more(self, names: Iterable[str]) -> NameTable:
        """These names, followed by others. Copies about as much as is added: a block is joined with later ones when
        they have become half as long."""
        added = list(_blocks(names))
        count, kept = sum(map(len, added)), len(self.blocks)
        if not count:
            return self
        while kept and len(self.blocks[kept - 1]) < 2 * count:
            kept -= 1
            count += len(self.blocks[kept])
        return NameTable((*self.blocks[:kept], _joined([*self.blocks[kept:], *added])))

    def near(self, name: str, edits: int) -> list[str]:
        """The distinct names that as many edits may make of `name`, in order of the alphabet: all that they do make of
        it, and others. An edit adds, drops or replaces a letter, or swaps two neighbours."""
        letters = _letters_of([name], np.array([len(name)]))[0]
        return sorted({near for block in self.blocks for near in block.near(len(name), letters, edits)})


def name_table(names: Iterable[str]) -> NameTable:
    """A table of these names, none of which is empty."""
    return NameTable().with_more(names)


def _joined(blocks: Sequence[_Block]) -> _Block:
    sizes = [len(block.text) for block in blocks]
    starts = np.cumsum([0, *sizes[:-1]])
    return _Block(
        b"".join(block.text for block in blocks),
        np.concatenate([block.ends + np.uint32(start) for block, start in zip(blocks, starts, strict=True)]),
        np.concatenate([block.lengths for block in blocks]),
        np.concatenate([block.letters for block in blocks]),
    )


def _blocks(names: Iterable[str]) -> Iterator[_Block]:
    """Blocks of so many names at a time as may be Python strings at once."""
    left = iter(names)
    while some := list(islice(left, _AT_ONCE)):
        encoded = [name.encode() for name in some]
        lengths = np.fromiter(map(len, some), np.int64, len(some))
        ends = np.cumsum(np.fromiter(map(len, encoded), np.uint32, len(some)), dtype=np.uint32)
        longest = np.iinfo(np.uint16).max
        yield _Block(
            b"".join(encoded), ends, np.minimum(lengths, longest).astype(np.uint16), _letters_of(some, lengths)
        )


def _letters_of(names: list[str], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The set of letters of each name, in bits."""
    codes = np.frombuffer("".join(names).encode("utf-32-le"), "<u4")
    bits = np.uint64(1) << (codes % _LETTERS).astype(np.uint64)
    starts = np.cumsum(lengths) - lengths
    return np.asarray(np.bitwise_or.reduceat(bits, starts), np.uint64)
