"""Pseudo-relevance feedback: what resembles the likeliest answers is likelier (after Rocchio, 1971)."""

from __future__ import annotations

import numpy as np

from sidecar.engine.rank.columns import Rows, SearchedSnapshot
from sidecar.engine.rank.evidence import Groups
from sidecar.parts.lexical.bm25 import Floats

_LEADERS = 3


def resemblance(snapshot: SearchedSnapshot, groups: Groups, likely: Floats) -> Floats:
    """Cosine of each candidate's likeliest chunk to the mean of the leaders' (a leader's: of the other leaders').

    `likely` is over all chunk rows. 0 where a vector is missing.
    """
    if not len(groups.starts):
        return np.zeros(0, np.float32)
    values = likely[groups.rows]
    order = np.lexsort((groups.rows, -values, groups.position))
    firsts: Rows = groups.rows[order[groups.starts]]
    merits = likely[firsts]
    # As many as are level with the third: nothing depends on the order of rows.
    leaders = np.flatnonzero(merits >= np.sort(merits)[-_LEADERS:][0])
    vectors, _ = snapshot.vectors(firsts)
    total = vectors[leaders].sum(0)
    cosines = vectors @ _unit(total)
    for leader in leaders:
        cosines[leader] = vectors[leader] @ _unit(total - vectors[leader])
    return np.asarray(np.round(np.clip(cosines, 0, 1), 4), np.float32)


def _unit(vector: Floats) -> Floats:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)
