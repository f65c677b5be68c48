"""Finds the cached vectors that the indexes of a data folder refer to. The embedding cache may drop all others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sidecar import shown
from sidecar.errors import IndexCorrupt
from sidecar.model.terms import Ids
from sidecar.parts.database import connect, translated


def named_vectors(indexes: Path, store_uuid: str) -> Ids:
    """Returns the ids of the vectors that the manifests below `indexes` refer to in the cache file `store_uuid`,
    ascending.

    A damaged manifest counts as referring to nothing: it cannot be searched, and a rebuild finds the vectors by their
    text hashes. Raises SidecarError if a manifest cannot be read for another reason, because its references are then
    unknown.
    """
    found = [np.zeros(0, np.int64)]
    for manifest in indexes.glob("*/generations/*/manifest.sqlite"):
        with contextlib.suppress(IndexCorrupt):
            found.append(vectors_in(manifest, store_uuid))
    return np.unique(np.concatenate(found))


def named_texts(indexes: Path, without: Path | None = None) -> Iterator[bytes]:
    """Yields the hashes of the texts of all indexes except the one in `without`, of any cache file and model, some more
    than once.

    A damaged manifest counts as having none. Raises SidecarError if one cannot be read for another reason.
    """
    for manifest in indexes.glob("*/generations/*/manifest.sqlite"):
        if without is None or not manifest.is_relative_to(without):
            with contextlib.suppress(IndexCorrupt):
                yield from _texts_in(manifest)


def _texts_in(manifest: Path) -> Iterator[bytes]:
    with translated(manifest), contextlib.closing(connect(manifest, readonly=True)) as connection:
        for (digest,) in connection.execute("SELECT body_hash FROM chunks UNION SELECT path_hash FROM files"):
            yield digest


def vectors_in(manifest: Path, store_uuid: str) -> Ids:
    """Returns the ids of the vectors that one manifest refers to in the cache file `store_uuid`; empty if it uses
    another one.

    Raises IndexCorrupt if the manifest is damaged.
    """
    with translated(manifest):
        connection = connect(manifest, readonly=True)
        try:
            meta = dict(connection.execute("SELECT key, value FROM meta WHERE key = 'kept_uuid'"))
            if meta.get("kept_uuid") != store_uuid:
                return np.zeros(0, np.int64)
            rows = connection.execute("SELECT vector_id FROM chunks UNION SELECT path_vector FROM files")
            return np.fromiter((row[0] for row in rows), np.int64)
        except (TypeError, ValueError, OverflowError) as error:
            raise IndexCorrupt(
                f"{shown.place(manifest)} refers to vectors by invalid numbers. Run `reindex_project` to rebuild it."
            ) from error
        finally:
            connection.close()
