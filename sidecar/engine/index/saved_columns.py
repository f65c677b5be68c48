"""The arrays of a revision in a file beside the manifest, so that opening a large index does not read each of its rows.

The content of the file is derived. It is used only if it belongs to the same manifest and the same embedding cache, in
a state that the manifest has had; later changes are then read from the manifest. Otherwise everything is read from the
manifest, and the file is written again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.background import beside
from sidecar.engine.index.array_file import ArrayFile, read_arrays, write_arrays
from sidecar.engine.index.arrays import Arrays, array_names

SAVED_FROM = 20_000
"""With fewer chunks, reading the manifest takes a twentieth of a second."""
_FORMAT = 1
_END = "\0"

Identity = Mapping[str, object]
"""The facts that must be equal for the arrays of an earlier revision to be usable: values of JSON."""


class SavedColumns:
    """The file of one manifest. Not thread-safe."""

    def __init__(self, manifest: Path, saved_from: int = SAVED_FROM) -> None:
        """Indexes of fewer than `saved_from` chunks have no such file."""
        self._path = manifest.with_name("columns")
        self._saved_from = saved_from
        self._revision = -1
        self._writing: Future[bool] | None = None

    def read(self, identity: Identity, revision: int) -> Arrays | None:
        """Returns the saved arrays, of this revision or an earlier one; None if none can be trusted."""
        found = read_arrays(self._path)
        if found is None or found.facts["identity"] != _wanted(identity) or found.facts["revision"] > revision:
            return None
        self._revision = found.facts["revision"]
        return _arrays_of(found)

    def write_beside(self, arrays: Arrays, identity: Identity) -> None:
        """Starts to save the arrays of a large index, and returns before they are saved."""
        if len(arrays.chunk_ids) >= self._saved_from:
            self._revision = arrays.revision
            self._writing = beside(lambda: write_arrays(self._path, _content_of(arrays, identity)))

    def finish(self, arrays: Arrays | None, identity: Identity, *, keep: bool) -> None:
        """Waits for the write in progress; then, if `keep` is set, saves these arrays if they are newer."""
        if self._writing is not None:
            self._writing.result()
        if keep and arrays is not None and arrays.revision != self._revision:
            self.write_beside(arrays, identity)
            self.finish(None, identity, keep=False)


def _wanted(identity: Identity) -> dict[str, object]:
    return {"format": _FORMAT, **identity}


def _content_of(arrays: Arrays, identity: Identity) -> ArrayFile:
    languages, codes = _numbered(arrays.languages)
    facts = {
        "identity": _wanted(identity),
        "revision": arrays.revision,
        "kinds": arrays.kinds,
        "languages": languages,
    }
    columns: dict[str, NDArray[Any]] = {name: getattr(arrays, name) for name in array_names()}
    text = _END.join(arrays.paths).encode("utf-8", "surrogatepass")
    return ArrayFile(facts, {**columns, "language": codes, "paths": np.frombuffer(text, np.uint8)})


def _arrays_of(found: ArrayFile) -> Arrays:
    text = found.arrays["paths"].tobytes().decode("utf-8", "surrogatepass")
    languages = found.facts["languages"]
    columns: dict[str, Any] = {name: found.arrays[name] for name in array_names()}
    return Arrays(
        revision=found.facts["revision"],
        paths=text.split(_END) if len(found.arrays["file_ids"]) else [],
        languages=[languages[code] for code in found.arrays["language"].tolist()],
        kinds=list(found.facts["kinds"]),
        **columns,
    )


def _numbered(names: Sequence[str]) -> tuple[list[str], NDArray[np.int16]]:
    """Returns the distinct names, and the number of each name among them."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(name, len(numbers)) for name in names]
    return list(numbers), np.array(codes, np.int16)
