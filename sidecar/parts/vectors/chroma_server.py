"""The vector store on a Chroma server, for vectors that do not fit into this machine (docs/team.md).

One collection of the server has the rows of one repository, model and kind of text (code or docs), for all checkouts. A
row is named by a hash of its content. So no row is ever overwritten, and a row that another checkout has sent is not
sent again. No row is removed from the server, because another checkout may need it. Only names and vectors are sent, no
text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import StoreFailed
from sidecar.model.terms import Collection, Ids, Vectors

from .sent_rows import Names, SentRows
from .server_link import CLOUD_RESULTS, USUAL, ChromaServer, ServerLimits, ServerLink

_COLLECTIONS: tuple[Collection, ...] = ("code", "docs")
_SAMPLE = 200
"""The number of rows of each collection that the server is asked for when it is opened, to notice losses."""
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class MadeFor:
    """The repository of a store, and the model that made its vectors."""

    repository: str
    model_id: str
    dimension: int

    def name(self, collection: Collection) -> str:
        """Returns the collection's name on the server: a hash, so that it does not reveal the repository."""
        facts = (str(_FORMAT), self.repository, self.model_id, str(self.dimension))
        return f"sidecar-{hashlib.sha256(chr(0).join(facts).encode()).hexdigest()[:32]}-{collection}"


class ServerStore:
    """A `ports.VectorStore` on a server. `folder` records what was sent. Thread-safe.

    Calls that concern vectors connect to the server if necessary, except `query`, which fails at once while there is no
    connection.
    """

    elsewhere = True

    def __init__(self, folder: Path, made_for: MadeFor, server: ChromaServer, limits: ServerLimits = USUAL) -> None:
        self._folder = folder
        self._dimension = made_for.dimension
        self._limits = limits
        self._most = CLOUD_RESULTS if server.address.is_cloud else limits.results
        names: dict[str, str] = {collection: made_for.name(collection) for collection in _COLLECTIONS}
        self._link = ServerLink(server, names, made_for.dimension, limits)
        self._sent: SentRows | None = None

    @property
    def worker_pid(self) -> int | None:
        """The id of the process that asks the server, for diagnosis; None while none runs."""
        return self._link.worker_pid

    def is_fresh(self) -> bool:
        """Whether nothing has been sent since the store was created or discarded."""
        return self._sent is None and not SentRows.exist(self._folder)

    def discard(self) -> None:
        """Forgets what was sent. The server keeps its collections for others. A collection that cannot be read or used
        any more is replaced at the next connection."""
        sent, self._sent = self._sent, None
        if sent is not None:
            sent.close()
        SentRows.forget(self._folder)

    def add(self, collection: Collection, ids: Ids, vectors: Vectors, texts: Sequence[bytes] = ()) -> None:
        """Sends those rows that the server lacks. `texts` has the hash of the text of each row; equal texts have one
        row."""
        if vectors.shape != (len(ids), self._dimension) or len(texts) != len(ids):
            raise StoreFailed(
                f"Got vectors of shape {vectors.shape} and {len(texts)} texts for {len(ids)} ids; this index has"
                f" dimension {self._dimension}."
            )
        sent = self._opened()
        names = _names_of(texts)
        # In the order of the names, which is random, because a search then finds more in the graph.
        _, first = np.unique(names, axis=0, return_index=True)
        for start in range(0, len(first), self._limits.rows):
            part = first[start : start + self._limits.rows]
            self._link.ask("add", collection, [names[part], vectors[part].astype(np.float32, copy=False)])
        sent.put(collection, ids, names)

    def remove(self, collection: Collection, ids: Ids) -> None:
        """Forgets these slots; unknown slots are ignored."""
        self._opened().remove(collection, ids)

    def query(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> tuple[Ids, NDArray[np.float32]]:
        """Returns the slots and cosine similarities of rows close to `vector`, best first. Rows that only other
        checkouts have are left out. The server returns at most `limit` rows, or fewer if its own limit is lower."""
        if vector.shape != (self._dimension,):
            raise StoreFailed(
                f"Got a query vector of shape {vector.shape}; this index has dimension {self._dimension}."
            )
        if limit < 1:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        sent, arrays = self._sent, [vector.astype(np.float32, copy=False)]
        _, (names, distances) = self._link.search("query", collection, arrays, limit=min(limit, self._most))
        slots = sent.slots_of(collection, names) if sent is not None else {}
        found = [
            (slot, 1.0 - far)
            for name, far in zip(names, distances.tolist(), strict=True)
            for slot in slots.get(name.tobytes(), ())
        ]
        similarities = np.array([near for _, near in found], np.float32)
        return np.array([slot for slot, _ in found], np.int64), np.clip(similarities, -1.0, 1.0)

    def count(self, collection: Collection) -> int:
        """Returns how many slots have a row."""
        return self._opened().count(collection)

    def ids(self, collection: Collection) -> Ids:
        """Returns the slots whose rows the server has, ascending."""
        pages = [np.empty(0, np.int64)]
        for slots, names in self._opened().pages(collection, self._limits.rows):
            _, (lacking,) = self._link.ask("lacking", collection, [names])
            pages.append(np.delete(slots, lacking))
        return np.concatenate(pages)

    def close(self) -> None:
        """Ends the process that asks the server. Later calls raise StoreFailed."""
        self._link.close()
        sent, self._sent = self._sent, None
        if sent is not None:
            sent.close()

    def _opened(self) -> SentRows:
        """Connects to the server if necessary and returns the rows sent. Raises StoreFailed, also if the server no
        longer has them."""
        if self._sent is not None and self._link.is_open:
            return self._sent
        made = self._link.open()
        sent = self._sent = self._sent or SentRows(self._folder, made)
        if sent.identities() != made:
            raise self._link.refilled("has lost what it held for this index")
        for collection in _COLLECTIONS:
            names = sent.some(collection, _SAMPLE)
            if len(names) and len(self._link.ask("lacking", collection, [names])[1][0]):
                raise self._link.refilled("has lost a part of what it held for this index")
        return sent


def _names_of(texts: Sequence[bytes]) -> Names:
    digests = b"".join(hashlib.sha256(b"row\0" + text).digest()[:16] for text in texts)
    return np.frombuffer(digests, np.int64).reshape(len(texts), 2)
