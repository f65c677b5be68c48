"""Computes which chunks a search may return, as one flag per chunk row, before anything is ranked."""

from __future__ import annotations

import numpy as np

from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.source import Flags, SearchedSnapshot
from sidecar.model.answers import SearchRequest
from sidecar.parts.globs import compile_glob
from sidecar.parts.manifest_reads import chunks_containing


def allowed_chunks(snapshot: SearchedSnapshot, columns: IndexColumns, request: SearchRequest) -> Flags:
    """Returns flags of shape [chunks]: the chunks of the collection that match any of the request's path globs, any of
    its languages and any of its kinds, and contain each of its exact texts. An empty filter excludes nothing. Raises
    InvalidPattern."""
    flags = columns.in_collection
    if request.paths:
        globs = [compile_glob(pattern) for pattern in request.paths]
        files = np.fromiter(
            (any(matches(path) for matches in globs) for path in snapshot.paths), bool, len(snapshot.paths)
        )
        flags = flags & files[snapshot.chunk_file]
    if request.languages:
        wanted = {language.casefold() for language in request.languages}
        files = np.fromiter(
            (language.casefold() in wanted for language in snapshot.languages), bool, len(snapshot.languages)
        )
        flags = flags & files[snapshot.chunk_file]
    if request.kinds:
        wanted = {kind.casefold() for kind in request.kinds}
        codes = [code for code, kind in enumerate(snapshot.kinds) if kind.casefold() in wanted]
        flags = flags & np.isin(snapshot.chunk_kind, codes)
    for text in request.exact:
        rows = snapshot.chunk_rows(np.array(chunks_containing(snapshot.connection, text), np.int64))
        containing = np.zeros(len(flags), bool)
        containing[rows[rows >= 0]] = True
        flags = flags & containing
    return flags
