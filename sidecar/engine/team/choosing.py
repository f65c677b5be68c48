"""Chooses which of a place's team snapshots is taken: the nearest one that was made in the way in which this index
would be made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sidecar import shown
from sidecar.engine.models.facts import ModelFacts
from sidecar.errors import SnapshotUnusable
from sidecar.shown import count

if TYPE_CHECKING:
    from sidecar.parts.team.heads import Head
    from sidecar.parts.team.history import History


@dataclass(frozen=True, slots=True)
class Choice:
    """The snapshot to take, the model of its vectors, and how many commits HEAD is ahead of it."""

    head: Head
    model: ModelFacts
    ahead: int


class KeptFiles(Protocol):
    """Files of snapshots that need not be fetched."""

    def has(self, sha256: str) -> bool:
        """Whether the file with this hash is one of them."""


def choose(
    heads: Sequence[Head], where: str, history: History, kinds: Mapping[str, ModelFacts], kept: KeptFiles
) -> Choice:
    """Returns the snapshot of the nearest ancestor of HEAD that is of one of these kinds (as JSON, the best first).
    Among equal ones it is the one with the fewest bytes to fetch.

    `heads` are those that the place `where` lists. Raises SnapshotUnusable with the reason if there is none.
    """
    if not heads:
        raise SnapshotUnusable(f"There are no snapshots at {shown.reason(where)}.")
    order = list(kinds)
    here = [head for head in heads if head.folder == history.folder()]
    fitting = [head for head in here if _plain(head) in kinds]
    if not fitting:
        raise SnapshotUnusable(_why_none_fits(heads, here, json.loads(order[0])))
    commit, ahead = history.nearest_of({head.commit for head in fitting})
    if not commit:
        shallow = " This clone is shallow: git fetch --deepen=500 gets the commits before." * history.is_shallow()
        raise SnapshotUnusable(
            f"{_none(len(fitting), 'is', 'is not', where)} of a commit that HEAD comes from.{shallow}"
        )

    def cost(head: Head) -> tuple[int, int]:
        return order.index(_plain(head)), sum(file.size for file in head.needs if not kept.has(file.sha256))

    best = min((head for head in fitting if head.commit == commit), key=cost)
    return Choice(best, kinds[_plain(best)], ahead)


def check_signatures(head: Head, key: str) -> None:
    """Raises SnapshotUnusable unless the holder of the key has signed the snapshot, and its base if it has one. Raises
    ConfigInvalid if `key` is not a key. Without a key, every snapshot passes."""
    from sidecar.parts.team.signing import check

    for file in reversed(head.needs) if key else ():
        try:
            check(file.sha256, file.signature, key)
        except SnapshotUnusable as error:
            if file == head.base:
                raise error.worded(lambda said: f"Its base cannot be used: {said}") from error
            raise


def _plain(head: Head) -> str:
    """Returns the kind of a snapshot's rows as JSON, which is the same with and without a base."""
    from sidecar.engine.team.rows import without_base

    kind = head.kind if head.base is None else without_base(head.kind)
    return json.dumps(kind, sort_keys=True)


def _why_none_fits(heads: Sequence[Head], here: Sequence[Head], wanted: Mapping[str, str]) -> str:
    if not here:
        return f"{_none(len(heads), 'is', 'is not')} of this folder of the repository."
    theirs = json.loads(_plain(here[0]))
    differing = [name for name in wanted if theirs.get(name) != wanted[name]]
    name = differing[0] if differing else "format"
    said = {"model": "model", "chunking": "setting chunkingStrategy", "format": "format"}.get(name, f"{name} version")
    return (
        f"{_none(len(heads), 'fits', 'does not fit')}: {'it' if len(heads) == 1 else 'the newest'} was made with the"
        f" {said} {shown.reason(theirs.get(name, '?'))}, and this sidecar would use {wanted[name]}."
    )


def _none(number: int, does: str, does_not: str, where: str = "") -> str:
    """Returns how a sentence begins that denies something of every one of so many snapshots."""
    at = f" at {shown.reason(where)}" if where else ""
    if number == 1:
        return f"The only snapshot{at} {does_not}"
    return f"None of the {count(number, 'snapshot')}{at} {does}"
