"""Links a manifest to the vectors of another model or another embedding cache.

No file is read, and no text is parsed or embedded. A text whose vector the cache lacks has none until it is embedded.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from sidecar.engine.ports import EmbeddingCache
from sidecar.parts.manifest import Manifest

_TEXTS = (("chunks", "vector_id", "body_hash"), ("files", "path_vector", "path_hash"))


def link_by_hash(manifest: Manifest, kept: EmbeddingCache, **facts: Any) -> None:
    """Replaces the vector ids of a manifest by those that `kept`, the embedding cache, has for the same text hashes,
    and by 0 for the others.

    Every chunk becomes pending for the vector store. Writes `facts` into the meta table, all in one transaction.
    """
    releases = kept.releases()
    with manifest.transaction() as connection:
        connection.execute("CREATE TEMP TABLE known(hash BLOB PRIMARY KEY, id INTEGER) WITHOUT ROWID")
        for table, column, digest in _TEXTS:
            found = kept.find([row[0] for row in connection.execute(f"SELECT DISTINCT {digest} FROM {table}")])
            connection.executemany("INSERT OR IGNORE INTO known VALUES (?, ?)", found.items())
            connection.execute(
                f"UPDATE {table} SET {column} = coalesce((SELECT id FROM known WHERE hash = {digest}), 0)"
            )
        connection.execute("DROP TABLE known")
        connection.execute(
            "INSERT OR REPLACE INTO pending_slots SELECT c.slot, f.collection FROM chunks c"
            " JOIN files f ON f.id = c.file_id"
        )
        manifest.set_meta(kept_uuid=kept.store_uuid, kept_releases=releases, **facts)


def changed_paths(old: Manifest, new: Manifest) -> list[str]:
    """Returns the paths whose content differs between two manifests, or that only one of them has, sorted."""
    before, after = ({(f.path, f.sha256, f.buffered) for f in m.known_files().values()} for m in (new, old))
    return sorted({path for path, _, _ in before ^ after})


def carry_over(old: Manifest, new: Manifest) -> None:
    """Copies the list of changes that wait for the next search from `old` to `new`."""
    new.settle_dirty()
    new.remember_dirty(old.dirty())


def missing_vectors(connection: sqlite3.Connection) -> int:
    """Returns how many chunks and paths have no vector yet."""
    (chunks,) = connection.execute("SELECT count(*) FROM chunks WHERE vector_id = 0").fetchone()
    (files,) = connection.execute("SELECT count(*) FROM files WHERE path_vector = 0").fetchone()
    return int(chunks + files)
