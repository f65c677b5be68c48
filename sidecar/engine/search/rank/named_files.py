"""Finds the files that a long question means when it names paths, frames of tracebacks and dotted modules."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from sidecar.engine.search.long_text import FileMention
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.parts.lexical.analyse import file_stem
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.lexical.definitions import find_stems
from sidecar.parts.lexical.tokens import fold_name

_NAME_ALONE = 0.6
"""The certainty if the name agrees, but the folders differ or are not given."""
_MODULE = 0.5
"""The certainty of a dotted module, because other things with dots, such as methods, may look like one."""
_SHALLOWEST = 0.3


def add_named_files(
    named: Floats, snapshot: SearchedSnapshot, columns: IndexColumns, mentions: Sequence[FileMention]
) -> None:
    """Raises `named`, shape [files], in place, to the certainty that a mention means the file: 1 if its name and a
    folder agree. In a traceback, the place of the failure counts most."""
    wanted: dict[str, list[FileMention]] = defaultdict(list)
    for mention in mentions:
        stems = mention.path.split("/")[1:] if mention.dotted else [file_stem(mention.path)]
        for stem in dict.fromkeys(map(fold_name, stems)):
            wanted[stem].append(mention)
    found = find_stems(snapshot.connection, tuple(wanted))
    files = columns.files.rows(np.array([file_id for _, file_id in found], np.int64))
    for (stem, _), file in zip(found, files.tolist(), strict=True):
        if file >= 0:
            path = snapshot.paths[file]
            named[file] = max(named[file], *(_agreement(mention, path) for mention in wanted[stem]))


def _agreement(mention: FileMention, path: str) -> float:
    """Returns the certainty that the mention means the file of this path, 0-1."""
    if mention.dotted:
        return _MODULE if _is_module(mention.path.split("/"), path) else 0.0
    given, there = mention.path.casefold().split("/"), path.casefold().split("/")
    same = _common(given, there)
    if not same:
        return 0.0
    sure = 1.0 if same > 1 or same == len(given) == len(there) else _NAME_ALONE
    return sure * max(_SHALLOWEST, 1 / math.sqrt(max(1, mention.depth)))


def _is_module(parts: Sequence[str], path: str) -> bool:
    """Whether two or more of the first parts end the path: `net.urls.parse` is in `src/net/urls.py`."""
    there = path.casefold().rpartition(".")[0].removesuffix("/__init__").split("/")
    given = [part.casefold() for part in parts]
    return any(_common(given[:end], there) > 1 for end in range(2, len(given) + 1))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns how many parts agree, counted from the end."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
