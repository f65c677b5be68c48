"""The chunk vectors that searches have needed so far, in memory, so that none is read from disk twice.

They are float32 while all of them fit into 128 MiB. If they are many, a copy of four bits for each number is made in
the background, for a first look at all; those that may be close are then compared exactly. If they do not fit, they are
sealed block by block: converted to integers, which take a quarter of the memory and are compared faster, but roughly
(docs/decisions/0014 and 0036); the newest stay float32. A saved file adds rows to the newest, and sometimes causes a
block of them to be sealed; it changes nothing else, and no question waits for that. Full blocks are saved for the next
opening, sealed or not.

A chunk's id is never reused for another text, so entries never become wrong. Entries of deleted chunks stay until the
cache is full and misses accumulate; then everything is dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.background import beside
from sidecar.engine.concurrency.usage import give_memory_back
from sidecar.engine.index.held_rows import Compared, Flags, HeldRows, compared, is_faster, products_of
from sidecar.engine.index.sealed_blocks import TOGETHER, SealedBlocks
from sidecar.engine.index.sealed_rows import (
    Exact,
    FirstLook,
    Sealed,
    bytes_of_look,
    bytes_of_sealed,
    compare_with_numpy,
    packed_width,
    seal,
)
from sidecar.engine.ports import Floats, MakeCompare
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import Ids, Vectors

Load: TypeAlias = Callable[[NDArray[np.int64]], tuple[Vectors, Flags]]

BLOCK = 16_384
"""The number of rows that are sealed together."""
_PARTS = 4
"""A sealed block has the rows of so many exact ones. Rows that fill no exact block are read from the embedding cache at
the next opening, which takes ten times as long."""
MOST_BYTES = 280 * 1024 * 1024
"""Enough for a million vectors of 256 numbers."""
_MOST_EXACT_BYTES = 128 * 1024 * 1024
"""All vectors are float32 as long as they fit into this: 131,072 of 256 numbers."""
_MADE_AT_ONCE = 8
"""After this many new blocks, free memory is returned to the system; otherwise making all blocks would take twice their
memory."""
_MADE_BESIDE = 2
"""So many blocks are prepared for comparison beside the next one that is read."""
_MOST_WAITING = 2
"""So many full blocks may wait to be sealed; if there are more, they are sealed at once."""
LOOK = 8192
"""The number of float32 rows that are prepared for a first look together. To compare fewer exactly takes no longer."""
_READ = 2048
"""Vectors per read. A search can be cancelled between two reads."""
_MOST_ROWS_PER_CHUNK = 2
"""Exact blocks with more rows than this for each chunk of the index are not taken over: most are of chunks that no
longer exist, and every search would compare them."""
_MOSTLY_HELD = 8
"""If at most an eighth of some vectors must be read, choosing the others first would take longer than comparing all."""
_MOST_RUNS = 1000
"""Copying so many ranges takes less time than looking up rows one by one."""
_REMEMBERED = 2
"""How many lists of ids have their places remembered: those of code and of documentation."""
_NONE: Ids = np.zeros(0, np.int64)
_LARGEST_SPAN = 8_000_000
"""The maximum number of entries in the table from chunk id to row, four bytes each. If ids are further apart than this,
the cache is emptied."""


def _now(work: Callable[[], None]) -> None:
    work()


class SavedBlocks(Protocol):
    """The place where full blocks are saved for the next opening of the index; see `BlockFiles`."""

    def read(self) -> Generator[Sealed, None, None]:
        """Yields the sealed blocks in order."""

    def read_exact(self, into: Vectors, rows: int) -> Generator[Ids, None, None]:
        """Reads the exact blocks in order, each into the next so many `rows`, and yields their ids."""

    def write(self, number: int, block: Sealed) -> None:
        """Saves sealed block `number`, counted from 0."""

    def write_exact(self, number: int, block: Exact) -> None:
        """Saves exact block `number`, counted from 0."""

    def forget(self) -> None:
        """Deletes all blocks."""


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the vectors of some chunks are in the cache: `rows`, shape [n], 0 for those that it does not hold. `runs`
    are the same as ranges, or None if there would be many.

    `usable` flags those that it holds, and `coarse` those of them whose products are rough, or is None if there are
    none. It is true as long as the cache has this `state`.
    """

    ids: Ids
    state: tuple[int, ...]
    rows: NDArray[np.intp]
    runs: Sequence[slice] | None
    usable: Flags
    coarse: Flags | None


class VectorCache:
    """Chunk vectors in memory, by chunk id. Thread-safe. `load` is called without holding the lock, so two threads may
    load the same ids."""

    def __init__(
        self,
        most_bytes: int = MOST_BYTES,
        make_compare: MakeCompare = compare_with_numpy,
        block: int = BLOCK,
        saved: SavedBlocks | None = None,
        later: Callable[[Callable[[], None]], object] = _now,
        look: int = LOOK,
        pays: Callable[[FirstLook, Vectors], bool] = is_faster,
    ) -> None:
        """`later` runs what no question should wait for. Each `look` rows kept as float32 are prepared for a first look
        together, if it `pays`; each quarter of a `block` of them is saved together."""
        self._most_bytes = most_bytes
        self._later = later
        self._sealing = False
        self._looking = False
        self._make_compare = make_compare
        self._block = block
        self._look = look
        self._together = max(1, block // _PARTS)
        self._pays = pays
        self._saved = saved
        self._read_saved = saved is not None
        self._lock = make_lock(Rank.VECTOR_CACHE)
        self._emptied = 0
        self._remembered: tuple[_Places, ...] = ()
        self._forget()

    def has_room(self, count: int, dimension: int) -> bool:
        """Whether `count` vectors fit into the cache at the same time."""
        return count <= self._capacity(dimension)

    def save(self, ids: Ids, dimension: int, load: Load) -> None:
        """Saves the full blocks of these vectors for the next opening, and keeps none in memory: sealed, or exact if
        all vectors fit as float32. For `load` see `compare`.

        Does nothing if some are held or saved already, or without a place to save them.
        """
        saved = self._saved
        exact = len(ids) <= self._exact_room(dimension)
        if saved is None or self._used:
            return
        rows = self._together if exact else self._block
        vectors = np.empty((rows, dimension), np.float32)
        with closing(saved.read_exact(vectors, rows) if exact else saved.read()) as former:
            if any(True for _ in former):
                return
        for number in range(min(len(ids), self._capacity(dimension)) // rows):
            first = number * rows
            for start in range(0, rows, _READ):
                some = np.arange(start, min(start + _READ, rows))
                loaded, there = load(first + some)
                if not there.all():
                    return
                vectors[some] = loaded
            those = ids[first : first + rows]
            if exact:
                saved.write_exact(number, Exact(those, vectors))
            else:
                saved.write(number, seal(those, vectors))

    def compare(
        self,
        ids: Ids,
        vector: Floats,
        load: Load,
        *,
        rough: bool = False,
        threads: int = 2,
        passing: Ids = _NONE,
        chunks: int = 0,
    ) -> Compared:
        """Compares these chunks' vectors with `vector`. If `rough`, a first look suffices where that is faster; at very
        many rows, up to this many `threads` look, at most two. The vectors at the positions `passing`, which ascend,
        are not kept. The index has so many `chunks`; 0 if these are all.

        `load(positions)` returns the vectors of `ids[positions]` and flags those that exist; it is called block by
        block, and only flagged rows are cached. An error that it raises ends the comparison. Where the vectors of
        read-only `ids` are is remembered for the next call with the same array, which is then faster.
        """
        before = self._used
        with self._giving_back():
            places, held = self._opened(ids, len(vector), chunks)
            held = replace(held, threads=threads)
            found = self._compare(places, held, vector, load, rough, passing)
        # While vectors are being read, a question waits for more than them, and preparing would take its processor.
        if rough and self._used == before:
            self._look_later()
        return found

    def _compare(
        self, places: _Places, held: HeldRows, vector: Floats, load: Load, rough: bool, passing: Ids
    ) -> Compared:
        ids = places.ids
        if not held.sealed and not (rough and 4 * len(ids) > held.rough):
            held = replace(held, looks=())
        rows, coarse = places.rows, places.coarse if held.rough else None
        usable = places.usable if coarse is None or rough else places.usable & ~coarse
        missing = np.flatnonzero(~usable)
        if len(ids) and not len(missing):
            return compared(products_of(held, rows, vector, places.runs), usable, coarse, held, rows, vector)
        found = usable.copy()
        if _MOSTLY_HELD * len(missing) < len(ids):
            products = products_of(held, rows, vector, places.runs)
            products[missing] = 0
        else:
            products = np.zeros(len(ids), np.float32)
            if found.any():
                products[found] = products_of(held, rows[found], vector)
        for positions, vectors in self._loaded(ids, missing, places.usable, load, passing):
            products[positions], found[positions] = vectors @ vector, True
        return compared(products, found, coarse if rough else None, held, rows, vector)

    def read(self, ids: Ids, dimension: int, load: Load, *, passing: Ids = _NONE, chunks: int = 0) -> None:
        """Reads the vectors of these chunks that are not in memory yet. See `compare`."""
        with self._giving_back():
            usable = self._opened(ids, dimension, chunks)[0].usable
            for _ in self._loaded(ids, np.flatnonzero(~usable), usable, load, passing):
                pass

    def _opened(self, ids: Ids, dimension: int, chunks: int) -> tuple[_Places, HeldRows]:
        """Takes over the saved blocks if these are enough ids to need them, and returns where the vectors are then."""
        if self._read_saved and len(ids) >= self._together:
            self._take_saved(max(chunks, len(ids)), dimension)
        return self._places(ids)

    def _loaded(self, ids: Ids, missing: Ids, usable: Flags, load: Load, passing: Ids) -> Iterator[tuple[Ids, Vectors]]:
        """Yields positions and vectors of those `missing` that exist, block by block, and keeps those that are not
        `usable` already."""
        for start in range(0, len(missing), _READ):
            block = missing[start : start + _READ]
            loaded, there = load(block)
            if there.any():
                yield block[there], loaded[there]
                new = there & ~usable[block] & ~np.isin(block, passing)
                self._put(ids[block[new]], loaded[new])

    def _capacity(self, dimension: int) -> int:
        """Returns how many vectors fit, sealed if necessary."""
        for_sealed = self._most_bytes - 4 * dimension * self._block
        sealed = self._block + for_sealed // bytes_of_sealed(1, dimension) if for_sealed > 0 else 0
        return max(self._exact_room(dimension), sealed)

    def _exact_room(self, dimension: int) -> int:
        """Returns how many vectors fit as float32, with a first look at each."""
        with_look = 4 * dimension + bytes_of_look(1, dimension)
        return min(self._most_bytes // with_look, _MOST_EXACT_BYTES // (4 * dimension))

    def _forget(self) -> None:
        self._emptied += 1
        self._used = 0
        self._exact_saved = 0
        self._made = 0
        self._misses = 0
        self._first = 0
        self._table = np.full(0, -1, np.int32)
        self._overfull = False
        self._looks: tuple[FirstLook, ...] = ()
        self._sealed = SealedBlocks()
        self._tail: Vectors = np.zeros((0, 0), np.float32)
        self._tail_ids: Ids = np.zeros(0, np.int64)

    def _add_blocks(self, sealed: SealedBlocks) -> None:
        """Takes these blocks in place of the former ones, which they begin with."""
        self._made += len(sealed) - len(self._sealed)
        self._sealed, self._looks = sealed, ()
        if self._made >= _MADE_AT_ONCE:
            self._give_back()

    @contextmanager
    def _giving_back(self) -> Iterator[None]:
        """Gives memory back after the block, if blocks were made in it."""
        try:
            yield
        finally:
            if self._made:
                self._give_back()

    def _give_back(self) -> None:
        """Returns memory to the system: making blocks took more than they need, and the allocator would keep it."""
        self._made = 0
        give_memory_back()

    def _places(self, ids: Ids) -> tuple[_Places, HeldRows]:
        with self._lock:
            tail = self._tail[: self._used - len(self._sealed) * self._block]
            held = HeldRows(self._sealed.rows, self._block, tail, self._sealed.looks or self._looks)
            state = (self._emptied, self._used, len(self._sealed), held.rough)
            for known in self._remembered:
                if known.ids is ids and known.state == state:
                    return known, held
            rows = self._rows(ids)
            usable = rows >= 0
            coarse = usable & (rows < held.rough) if held.rough else None
            there = np.maximum(rows, 0, dtype=np.intp)
            runs = _as_runs(there) if len(ids) > _MOST_RUNS else None
            places = _Places(ids, state, there, runs, usable, coarse)
            if not ids.flags.writeable:
                others = [known for known in self._remembered if known.ids is not ids]
                self._remembered = (*others[-_REMEMBERED + 1 :], places)
            return places, held

    def _rows(self, ids: Ids) -> NDArray[np.int32]:
        if not len(self._table):
            return np.full(len(ids), -1, np.int32)
        at = ids - self._first
        inside = (at >= 0) & (at < len(self._table))
        if inside.all():
            return self._table[at]
        return np.where(inside, self._table[np.where(inside, at, 0)], np.int32(-1))

    def _put(self, ids: Ids, vectors: Vectors) -> None:
        if not len(ids):
            return
        with self._lock:
            capacity = self._capacity(vectors.shape[1])
            self._misses += max(0, len(ids) - (capacity - self._used))
            if self._misses > self._used:
                self._forget()
                if self._saved is not None:
                    self._saved.forget()
            room = max(0, capacity - self._used)
            ids, vectors = ids[:room], vectors[:room]
            if len(ids) and self._enter(ids):
                self._append(ids, vectors)
            # Reading all vectors passes here hundreds of times, and one thread is enough.
            begins = self._waits() and not self._sealing
            self._sealing = self._sealing or begins
        if begins:
            self._later(self._seal_waiting)

    def _take_saved(self, count: int, dimension: int) -> None:
        """Takes over the blocks that an earlier process has saved of an index of so many chunks, once, and only if the
        cache is empty."""
        with self._lock:
            saved, self._read_saved = self._saved if self._read_saved else None, False
            if saved is None or self._used:
                return
            if count <= self._exact_room(dimension):
                self._take_exact(saved, count, dimension)
                return
            try:
                self._take_sealed(saved, dimension)
            except BaseException:
                self._forget()
                raise

    def _take_exact(self, saved: SavedBlocks, count: int, dimension: int) -> None:
        """Takes over the exact blocks, or deletes them if most are of chunks that no longer exist."""
        most = min(self._exact_room(dimension), _MOST_ROWS_PER_CHUNK * count + self._together)
        tail = self._tail = np.empty((most, dimension), np.float32)
        with closing(saved.read_exact(tail, self._together)) as blocks:
            for ids in blocks:
                if not self._enter(ids):
                    break
                if self._tail is not tail:  # these ids are too far from the former ones, which are forgotten
                    self._forget()
                    break
                self._exact_saved += 1
                self._tail_ids = np.concatenate([self._tail_ids, ids])
                self._used += len(ids)
        if self._used > _MOST_ROWS_PER_CHUNK * count:
            self._forget()
            saved.forget()

    def _take_sealed(self, saved: SavedBlocks, dimension: int) -> None:
        """Takes over the sealed blocks. Several looks are prepared at the same time."""
        self._tail = np.zeros((0, dimension), np.float32)
        making: deque[tuple[tuple[Sealed, ...], Future[FirstLook]]] = deque()
        with closing(saved.read()) as blocks:
            for lot in self._lots(blocks, dimension):
                making.append((lot, beside(partial(FirstLook, lot, dimension, self._make_compare))))
                if len(making) > _MADE_BESIDE:
                    done, look = making.popleft()
                    self._add_blocks(self._sealed.followed_by(done, look.result()))
        for done, look in making:
            self._add_blocks(self._sealed.followed_by(done, look.result()))

    def _lots(self, blocks: Iterable[Sealed], dimension: int) -> Iterator[tuple[Sealed, ...]]:
        """Gives rows to the blocks, up to the first that does not fit, and yields `TOGETHER` at a time, and the last
        ones alone."""
        lot: tuple[Sealed, ...] = ()
        for block in blocks:
            if not self._place(block, dimension):
                break
            lot = (*lot, block)
            if len(lot) == TOGETHER:
                yield lot
                lot = ()
        yield from ((block,) for block in lot)

    def _place(self, block: Sealed, dimension: int) -> bool:
        """Gives a sealed block the next rows; returns False if it has another shape, does not fit, or has ids that are
        too far from those of the others."""
        rows = self._block
        if block.upper.shape != (rows, packed_width(dimension)) or self._used + rows > self._capacity(dimension):
            return False
        first, last = self._span(int(block.ids.min()), int(block.ids.max()))
        if last - first >= _LARGEST_SPAN or not self._enter(block.ids):
            return False
        self._used += rows
        return True

    def _append(self, ids: Ids, vectors: Vectors) -> None:
        in_tail, added = self._used - len(self._sealed) * self._block, len(vectors)
        too_many = bool(self._sealed) or in_tail + added > self._exact_room(vectors.shape[1])
        at_once = too_many and in_tail + added >= _MOST_WAITING * self._block
        if too_many and not self._sealed and self._saved is not None:
            self._saved.forget()
        if at_once:
            in_tail = self._seal(in_tail)
        self._grow(in_tail, in_tail + added, vectors.shape[1])
        self._tail[in_tail : in_tail + added] = vectors
        self._tail_ids = np.concatenate([self._tail_ids[:in_tail], ids])
        self._used += added
        self._overfull = too_many
        if at_once:
            self._seal(in_tail + added)
        elif not too_many:
            self._save_exact(in_tail + added)

    def _save_exact(self, in_tail: int) -> None:
        """Saves the full blocks of the tail that are not saved yet."""
        rows = self._together
        while self._saved is not None and (self._exact_saved + 1) * rows <= in_tail:
            some = slice(self._exact_saved * rows, (self._exact_saved + 1) * rows)
            self._saved.write_exact(self._exact_saved, Exact(self._tail_ids[some], self._tail[some]))
            self._exact_saved += 1

    def _waits(self) -> bool:
        """Whether a full block of the tail should be sealed."""
        return self._overfull and self._used - len(self._sealed) * self._block >= self._block

    def _seal_waiting(self) -> None:
        """Seals the full blocks that wait. Comparisons go on meanwhile."""
        try:
            while self._seal_one():
                pass
        finally:
            self._sealing = False
        give_memory_back()

    def _seal_one(self) -> bool:
        """Seals one block that waits; returns False if there is none."""
        with self._lock:
            if not self._waits():
                return False
            former, number = self._sealed, len(self._sealed)
            ids, vectors = self._tail_ids[: self._block], self._tail[: self._block]
        block = seal(ids, vectors)
        sealed = self._followed_by(former, block, vectors.shape[1])
        with self._lock:
            if self._sealed is not former:
                return True  # it has been sealed at once, or forgotten
            self._sealed, self._looks = sealed, ()
            in_tail = self._used - number * self._block
            self._tail, self._tail_ids = self._tail[self._block : in_tail].copy(), self._tail_ids[self._block :]
        if self._saved is not None:
            self._saved.write(number, block)
        return True

    def _seal(self, in_tail: int) -> int:
        """Seals the full blocks of the tail at once and returns how many rows are left in it. A comparison that runs at
        this moment keeps using the former arrays."""
        full = in_tail - in_tail % self._block
        if full:
            for start in range(0, full, self._block):
                some = slice(start, start + self._block)
                block = seal(self._tail_ids[some], self._tail[some])
                if self._saved is not None:
                    self._saved.write(len(self._sealed), block)
                self._add_blocks(self._followed_by(self._sealed, block, self._tail.shape[1]))
            self._tail, self._tail_ids = self._tail[full:in_tail].copy(), self._tail_ids[full:in_tail]
        return in_tail - full

    def _followed_by(self, sealed: SealedBlocks, block: Sealed, dimension: int) -> SealedBlocks:
        """Returns these blocks and another one, ready for comparison."""
        look = FirstLook((block,), dimension, self._make_compare)
        return sealed.followed_by((block,), look).put_together(dimension, self._make_compare)

    def _look_later(self) -> None:
        """Has full blocks of the tail prepared for a first look, if there are many rows and all are float32."""
        with self._lock:
            if self._looking or self._next_look() is None:
                return
            self._looking = True
        self._later(self._make_looks)

    def _next_look(self) -> Vectors | None:
        """Returns the next rows to prepare; None if there are none."""
        begin = len(self._looks) * self._look
        if self._sealed or self._overfull or self._used < begin + self._look:
            return None
        return self._tail[begin : begin + self._look]

    def _make_looks(self) -> None:
        """Prepares full blocks of the tail for a first look. Comparisons go on meanwhile. If this fails, or does not
        pay on this machine, it is not tried again: everything is then compared exactly."""
        while self._make_look():
            pass
        give_memory_back()

    def _make_look(self) -> bool:
        """Prepares one block; returns False if that was the last one."""
        with self._lock:
            emptied, number, rows = self._emptied, len(self._looks), self._next_look()
            if rows is None:
                self._looking = False
                return False
        look = FirstLook((seal(np.arange(len(rows)), rows),), rows.shape[1], self._make_compare)
        if not number and not self._pays(look, rows):
            return False
        with self._lock:
            if not self._sealed and (self._emptied, len(self._looks)) == (emptied, number):
                self._looks = (*self._looks, look)
        return True

    def _enter(self, ids: Ids) -> bool:
        """Gives these ids, of which there is at least one, the next rows; returns False if they are too far apart."""
        if not self._reach(int(ids.min()), int(ids.max())):
            return False
        self._table[ids - self._first] = np.arange(self._used, self._used + len(ids), dtype=np.int32)
        return True

    def _reach(self, lowest: int, highest: int) -> bool:
        """Extends the table to the ids from `lowest` to `highest`; returns False if they are too far apart."""
        first, last = self._span(lowest, highest)
        if last - first >= _LARGEST_SPAN:
            self._forget()
            first, last = lowest, highest
        if last - first >= _LARGEST_SPAN:
            return False
        if first == self._first and highest < first + len(self._table):
            return True
        size = last - first + 1
        table = np.full(min(_LARGEST_SPAN, size + size // 2), -1, np.int32)
        if len(self._table):
            table[self._first - first : self._first - first + len(self._table)] = self._table
        self._first, self._table = first, table
        return True

    def _span(self, lowest: int, highest: int) -> tuple[int, int]:
        """Returns the lowest and the highest id of the table and of these."""
        if not len(self._table):
            return lowest, highest
        return min(self._first, lowest), max(self._first + len(self._table) - 1, highest)

    def _grow(self, used: int, needed: int, dimension: int) -> None:
        if needed <= len(self._tail):
            return
        usual = min(max(1024, len(self._tail) * 2), self._exact_room(dimension))
        tail = np.empty((max(needed, usual), dimension), np.float32)
        if used:
            tail[:used] = self._tail[:used]
        self._tail = tail


def _as_runs(rows: NDArray[np.intp]) -> Sequence[slice] | None:
    """Returns ranges that have these rows in their order; None if there would be many."""
    ends = np.flatnonzero(np.diff(rows) != 1) + 1
    if not len(rows) or len(ends) > _MOST_RUNS:
        return None
    return [slice(int(rows[a]), int(rows[b - 1]) + 1) for a, b in pairwise([0, *ends.tolist(), len(rows)])]
