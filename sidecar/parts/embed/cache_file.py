"""Handles the file of the embedding cache: whether it can be written, and how it is replaced when it is damaged.

A damaged file is set aside, and the vectors that can still be read from it are copied into a new one.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np

from sidecar.errors import IndexCorrupt
from sidecar.parts import database
from sidecar.parts.database import open_file, readable_rows
from sidecar.small_files import open_new, remove

HASH_BYTES = 16
_RESCUE_S = 10.0
_ROUNDING = 0.002
"""How much the length of a vector may differ from 1 after rounding to float16."""
_JOURNALS = ("-wal", "-shm", "")
_PUT = "INSERT INTO vectors(model, hash, vector) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
ADVICE = "Run `reindex_project`: it makes the vectors again, and nothing is lost but time."


def is_readonly(path: Path) -> bool:
    """Whether the file exists and cannot be written, or its folder cannot."""
    writable = os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    return path.exists() and not writable


def _mark_of(path: Path) -> Path:
    """Returns the empty file that marks the cache as damaged."""
    return path.with_suffix(".damaged")


def is_damage(error: IndexCorrupt) -> bool:
    """Whether the file itself is damaged. False if it was asked for the wrong dimension, or if the disk cannot be read
    now.
    """
    code = getattr(error.__cause__, "sqlite_errorcode", 0)
    unread = code & 0xFF == sqlite3.SQLITE_IOERR and code != sqlite3.SQLITE_IOERR_SHORT_READ
    return not (unread or error.facts.get("asked_wrongly"))


def mark_damaged(path: Path, inode: int | None) -> None:
    """Marks the file as damaged, so that it is replaced by a new one when it is opened next.

    Does nothing if the file at this path no longer has this inode, because it has already been replaced. `inode` None
    means whatever file is there.
    """
    if inode is None or inode == inode_of(path):
        with contextlib.suppress(OSError):
            open_new(_mark_of(path)).close()


def inode_of(path: Path) -> int | None:
    """Returns the inode of the file at a path; None if there is none."""
    with contextlib.suppress(OSError):
        return path.stat().st_ino
    return None


def set_damaged_aside(path: Path) -> None:
    """Renames the file, with its journal, if it is marked as damaged. `rescue` reads it later."""
    mark = _mark_of(path)
    if os.path.lexists(mark):
        with contextlib.suppress(OSError):
            aside = _aside_of(path)
            for ending in _JOURNALS:
                remove(Path(f"{aside}{ending}"))
                with contextlib.suppress(FileNotFoundError):
                    Path(f"{path}{ending}").rename(f"{aside}{ending}")
            remove(mark)


def _aside_of(path: Path) -> Path:
    return path.with_name(f"{path.stem}.aside.sqlite")


def rescue(path: Path, into: sqlite3.Connection, day: int, seconds: float = _RESCUE_S) -> int:
    """Copies every vector that can still be read from the file set aside for `path`. Returns how many.

    Runs inside a transaction of `into` and stops after `seconds`; the remaining vectors are computed again when they
    are needed. The vectors get new ids and count as used on `day` (days since the epoch).
    """
    end = time.monotonic() + seconds
    count = 0
    with _opened_for_rescue(_aside_of(path)) as old:
        models = _rescued_models(old, into)
        for _, model, key, blob in readable_rows(old, "vectors", "id", "model, hash, vector"):
            if model in models and _is_vector(key, blob, models[model][1]):
                count += into.execute(_PUT, (models[model][0], key, blob)).rowcount
            if time.monotonic() > end:
                break
    into.execute("INSERT OR IGNORE INTO uses SELECT id, ? FROM vectors", (day,))
    return count


def is_aside(path: Path) -> bool:
    """Whether a damaged file is set aside for this path."""
    return _aside_of(path).exists()


def drop_aside(path: Path) -> None:
    """Deletes the file that is set aside, with its journal."""
    with contextlib.suppress(OSError):
        for ending in reversed(_JOURNALS):
            remove(Path(f"{_aside_of(path)}{ending}"))


@contextmanager
def _opened_for_rescue(aside: Path) -> Iterator[sqlite3.Connection]:
    """Yields a connection that reads as much of a damaged file as possible; an empty one if the file cannot be opened
    at all."""
    try:
        connection = open_file(aside, "mode=ro")
    except sqlite3.Error:
        connection = sqlite3.connect("")
    with contextlib.closing(connection):
        connection.execute("PRAGMA writable_schema = ON")  # reads even a truncated file
        yield connection


def _rescued_models(old: sqlite3.Connection, into: sqlite3.Connection) -> dict[int, tuple[int, int]]:
    """Copies the models. Returns (new number, dimension) of each by its number in the old file."""
    models: dict[int, tuple[int, int]] = {}
    for number, model_id, dimension in readable_rows(old, "models", "id", "model_id, dimension"):
        if isinstance(model_id, str) and isinstance(dimension, int) and dimension > 0:
            into.execute(
                "INSERT INTO models(model_id, dimension) VALUES (?, ?) ON CONFLICT DO NOTHING", (model_id, dimension)
            )
            found = into.execute("SELECT id FROM models WHERE model_id = ? AND dimension = ?", (model_id, dimension))
            for (new,) in found:
                models[number] = new, dimension
    return models


def _is_vector(key: object, blob: object, dimension: int) -> bool:
    """Whether a row has a valid hash and vector. A vector has length 1; bytes of a damaged page do not."""
    if not (isinstance(key, bytes) and isinstance(blob, bytes)) or len(key) != HASH_BYTES or len(blob) != 2 * dimension:
        return False
    length = np.linalg.norm(np.frombuffer(blob, "<f2").astype(np.float32))
    return bool(abs(length - 1) < _ROUNDING)


def translated(path: Path) -> AbstractContextManager[None]:
    """Turns SQLite's errors about this file into sidecar's."""
    return database.translated(path, f"{{path}} cannot be read ({{error}}). {ADVICE}")
