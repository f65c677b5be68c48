"""What the modules of the lexical index hand to each other: decoded postings, and lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Ids
from sidecar.parts.lexical.codec import Tfs


@dataclass(frozen=True, slots=True)
class Flat:
    """Postings of many terms: parallel arrays of term number, key and count."""

    terms: Ids
    keys: Ids
    tfs: Tfs


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths in terms, in ascending order of ids, some of which may be dead. `bodies` has shape [chunks], `fields`
    shape [files, FIELDS].
    """

    chunk_ids: Ids
    bodies: NDArray[np.uint32]
    file_ids: Ids
    fields: NDArray[np.uint32]
