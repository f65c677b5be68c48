"""A generation of the same files for another model: a copy of the manifest whose texts name that model's vectors.

No file is read and no text is parsed or embedded; a text whose vector is not kept has none until it is embedded.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from sidecar.engine.ports import Kept
from sidecar.parts.manifest import Manifest

_TEXTS = (("chunks", "vector_id", "body_hash"), ("files", "path_vector", "path_hash"))


def link_by_hash(manifest: Manifest, kept: Kept, **facts: Any) -> None:
    """Names the vectors of `kept` in place of those that were named; with it the meta `facts`, all or nothing."""
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
        manifest.set_meta(kept_uuid=kept.store_uuid, **facts)


def changed_paths(old: Manifest, new: Manifest) -> list[str]:
    """Files that are not the same in both."""
    before, after = ({(f.path, f.sha256, f.buffered) for f in m.known_files().values()} for m in (new, old))
    return sorted({path for path, _, _ in before ^ after})


def carry_over(old: Manifest, new: Manifest) -> None:
    """What waits for the next search, waits on."""
    new.settle_dirty()
    new.remember_dirty(old.dirty())


def missing_vectors(connection: sqlite3.Connection) -> int:
    """How many chunks and files name none."""
    (chunks,) = connection.execute("SELECT count(*) FROM chunks WHERE vector_id = 0").fetchone()
    (files,) = connection.execute("SELECT count(*) FROM files WHERE path_vector = 0").fetchone()
    return int(chunks + files)
