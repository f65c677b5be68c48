"""The sealed blocks of a vector cache, with first looks at several blocks together.

Between two calls of the library that compares, a thread waits for the interpreter, which other threads use: with one
look for each block, that took as long as comparing (docs/decisions/0043).
"""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.engine.index.sealed_rows import FirstLook, Sealed, SealedRows
from sidecar.engine.ports import MakeCompare

TOGETHER = 4
"""The number of blocks that a first look looks at."""


@dataclass(frozen=True, slots=True)
class SealedBlocks:
    """Blocks of equal size in order, and first looks at all of them in the same order. The last looks are at one block
    each, which are in `apart`, until these are enough for one look."""

    rows: tuple[SealedRows, ...] = ()
    looks: tuple[FirstLook, ...] = ()
    apart: tuple[Sealed, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def followed_by(self, blocks: tuple[Sealed, ...], look: FirstLook) -> SealedBlocks:
        """Returns these blocks, and after them one other or `TOGETHER` others, at which `look` looks."""
        apart = self.apart + blocks if len(blocks) < TOGETHER else ()
        return SealedBlocks(self.rows + tuple(map(SealedRows, blocks)), (*self.looks, look), apart)

    def put_together(self, dimension: int, make: MakeCompare) -> SealedBlocks:
        """Returns the same blocks, with one look at those that are apart if these are enough for one."""
        if len(self.apart) < TOGETHER:
            return self
        look = FirstLook(self.apart, dimension, make)
        return SealedBlocks(self.rows, (*self.looks[: -len(self.apart)], look))
