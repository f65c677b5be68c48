"""The pending slots of a manifest: those still to be written to, or deleted from, the vector store.

`manifest` assigns slots to chunks, in the transaction that writes the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sidecar.model.terms import Ids
from sidecar.parts.database import translated
from sidecar.parts.manifest import Manifest


class PendingSlot(NamedTuple):
    """A pending slot. `vector` and `path_vector` are vector ids of the embedding cache; a `vector` of 0 means that the
    slot is to be deleted from the store. `text` consists of the hashes of the chunk's body and path text."""

    slot: int
    collection: int
    vector: int
    path_vector: int
    text: bytes


class Slots:
    """The slots of one manifest. Every change is a transaction of its own."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest

    def pending(self) -> Ids:
        """Returns all pending slots, in ascending order."""
        with self._manifest.lock, translated(self._manifest.path):
            rows = self._manifest.connection.execute("SELECT slot FROM pending_slots ORDER BY slot").fetchall()
        return np.fromiter((slot for (slot,) in rows), np.int64, len(rows))

    def take_pending(self, slots: Ids) -> list[PendingSlot]:
        """Returns those of `slots` that are pending, in ascending order. They stay pending until `settle_pending`."""
        with self._manifest.lock, translated(self._manifest.path):
            rows = self._manifest.connection.execute(
                "SELECT p.slot, p.collection, coalesce(c.vector_id, 0), coalesce(f.path_vector, 0),"
                " coalesce(c.body_hash, x''), coalesce(f.path_hash, x'')"
                " FROM pending_slots p LEFT JOIN chunks c ON c.slot = p.slot LEFT JOIN files f ON f.id = c.file_id"
                " WHERE p.slot IN (SELECT value FROM json_each(?)) ORDER BY p.slot",
                (json.dumps(slots.tolist()),),
            ).fetchall()
        return [PendingSlot(slot, kind, vector, path, body + text) for slot, kind, vector, path, body, text in rows]

    def any_pending(self) -> bool:
        """Whether any slot is pending."""
        return self.count_pending(1) > 0

    def count_pending(self, most: int) -> int:
        """Returns how many slots are pending, but at most `most`."""
        with self._manifest.lock, translated(self._manifest.path):
            (count,) = self._manifest.connection.execute(
                "SELECT count(*) FROM (SELECT 1 FROM pending_slots LIMIT ?)", (most,)
            ).fetchone()
        return int(count)

    def count_chunks(self) -> int:
        """Returns the number of chunks, with or without a vector."""
        return self._manifest.count_chunks()

    def settle_pending(self, rows: Sequence[PendingSlot]) -> None:
        """Marks slots as no longer pending, except those whose chunk or path has got another vector since
        `take_pending`."""
        with self._manifest.transaction() as connection:
            connection.executemany(
                "DELETE FROM pending_slots WHERE slot = ?1"
                " AND ?2 = coalesce((SELECT vector_id FROM chunks WHERE slot = ?1), 0)"
                " AND ?3 = coalesce((SELECT f.path_vector FROM chunks c JOIN files f ON f.id = c.file_id"
                " WHERE c.slot = ?1), 0)",
                [(row.slot, row.vector, row.path_vector) for row in rows],
            )

    def refill_pending(self) -> None:
        """Makes exactly the slots that have a vector pending, in order to fill an empty store."""
        with self._manifest.transaction() as connection:
            connection.execute("DELETE FROM pending_slots")
            connection.execute(
                "INSERT INTO pending_slots SELECT c.slot, f.collection FROM chunks c JOIN files f ON f.id = c.file_id"
                " WHERE c.vector_id <> 0"
            )

    def slots_in_store(self, collection: int) -> list[int]:
        """Returns the slots of a collection that the store must hold, without the pending ones."""
        with self._manifest.lock, translated(self._manifest.path):
            rows = self._manifest.connection.execute(
                "SELECT c.slot FROM chunks c JOIN files f ON f.id = c.file_id"
                " WHERE f.collection = ? AND c.vector_id <> 0 AND c.slot NOT IN (SELECT slot FROM pending_slots)",
                (collection,),
            ).fetchall()
        return [r[0] for r in rows]

    def mark_pending(self, slots: Iterable[int], collection: int) -> None:
        """Makes slots pending, so that they are written to the store or deleted from it again."""
        with self._manifest.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO pending_slots VALUES(?, ?)", [(s, collection) for s in slots]
            )
