"""Reads the texts of chunks in the form that results show: values whose name says password, token or key are hidden.

All texts in hits are read here. Only comparisons use the stored texts directly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot, StoredText
from sidecar.parts.manifest_reads import read_masked_files
from sidecar.parts.secrets.plain import without_plain_secrets

_STARS = re.compile(r"(?<![*/])\*{6,}(?![*/])")
"""The asterisks that the index has in place of a secret, which has at least six characters."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """A chunk's text, with its kind, the names that it defines and those of the definitions around it. `hidden`: a
    value in it is shown as asterisks."""

    text: str
    kind: str
    names: tuple[str, ...]
    enclosing: tuple[str, ...]
    hidden: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Harmless:
    """Which chunk rows of a revision are known to hold no value that has to be hidden, shape [chunks]."""

    rows: Flags


def shown_chunks(snapshot: SearchedSnapshot, rows: Sequence[int] | Rows) -> list[ShownText]:
    """Returns the texts of these chunk rows, in the same order. Raises IndexCorrupt if a stored text has been
    altered."""
    files = snapshot.chunk_file[np.asarray(rows, np.int64)].tolist()
    chunks = snapshot.stored_chunks(rows)
    starred = {int(snapshot.file_ids[file]) for file, stored in zip(files, chunks, strict=True) if _has_stars(stored)}
    masked = read_masked_files(snapshot.connection, list(starred)) if starred else set()
    harmless = snapshot.memo.get(_Harmless, lambda: _Harmless(np.zeros(len(snapshot.chunk_ids), bool))).rows
    found = []
    for row, file, stored in zip(rows, files, chunks, strict=True):
        text = stored.text if harmless[row] else without_plain_secrets(snapshot.paths[file], stored.text)
        harmless[row] = text == stored.text
        had = int(snapshot.file_ids[file]) in masked and _has_stars(stored)
        found.append(ShownText(text, stored.kind, stored.names, stored.enclosing, had or text != stored.text))
    return found


def _has_stars(stored: StoredText) -> bool:
    return "******" in stored.text and _STARS.search(stored.text) is not None
