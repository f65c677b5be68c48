"""Prepares files in the test's own process, for tests that are not about worker processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sidecar.engine.ingest.prepare import Job, Judgement, Look, Outcome, Preparer, Recall, Recalled
from sidecar.engine.ports import Parts
from sidecar.settings.load import Settings


class PreparersHere:
    """`ports.Preparers` without worker processes and without limits on parsers."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def prepare(self, root: str, settings: Settings, jobs: Sequence[Job]) -> Sequence[Outcome]:
        preparer = Preparer(root, self._parts, settings)
        return [preparer.prepare(job) for job in jobs]

    def prepare_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Job]]
    ) -> Iterator[tuple[Sequence[Job], Sequence[Outcome]]]:
        for piece in pieces:
            yield piece, self.prepare(root, settings, piece)

    def recall_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Recall]]
    ) -> Iterator[tuple[Sequence[Recall], Sequence[Recalled | None]]]:
        preparer = Preparer(root, self._parts, settings)
        for piece in pieces:
            yield piece, [preparer.recall(one) for one in piece]

    def judge(self, root: str, settings: Settings, look: Look) -> Judgement:
        return Preparer(root, self._parts, settings).judge(look)

    def warm(self) -> None:
        pass

    def rest(self) -> None:
        pass
