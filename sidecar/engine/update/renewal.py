"""Builds an index anew beside the current one.

It does not use the current generation, neither its manifest nor the vectors that this names, so it also repairs a
damaged index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from sidecar import shown
from sidecar.engine.concurrency.background import beside
from sidecar.engine.index.generation import Generation
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.index.snapshot import fault_of
from sidecar.engine.update.staleness import one_line
from sidecar.errors import IndexCorrupt
from sidecar.model.answers import BuildReport

Build: TypeAlias = Callable[[Generation], BuildReport]
"""Brings a generation up to date with the files."""


def up_to_date_or_anew(index: IndexHandle, build: Build, end_live_update: Callable[[], None]) -> BuildReport:
    """Brings the current generation up to date, or replaces it if it is damaged. The report's `notice` then says so.

    The whole manifest is checked while the build runs, because most damage is in parts that the build does not read.
    Raises IndexCorrupt if the index is intact but was made for another model than the wanted one.
    """
    try:
        generation = index.ready()
        checked = beside(lambda: _fault_of(generation))
        report = build(generation)
        if fault := checked.result():
            raise IndexCorrupt(f"Its manifest is damaged ({shown.reason(fault)}).")
        return report
    except IndexCorrupt as damage:
        if index.generation is not None:
            index.check_model(index.generation)  # raises for an unwanted model: a person has to decide
        notice = f"{damage.message} The index has been rebuilt; nothing is lost but time."
        report = make_anew(index, build, end_live_update)
        return replace(report, notice=one_line(notice, report.notice))


def _fault_of(generation: Generation) -> str:
    return fault_of(generation.writer.manifest.path) if generation.writer is not None else ""


def make_anew(index: IndexHandle, build: Build, end_live_update: Callable[[], None]) -> BuildReport:
    """Builds a generation, then replaces the current one by it. Until then the current one answers searches as well as
    it can."""
    try:
        return _make(index, build, end_live_update)
    except IndexCorrupt:
        # The embedding cache was damaged. The second attempt opens a new one.
        return _make(index, build, end_live_update)


def _make(index: IndexHandle, build: Build, end_live_update: Callable[[], None]) -> BuildReport:
    return build_and_swap(index, index.aside(), build, end_live_update)


def build_and_swap(
    index: IndexHandle, fresh: Generation, build: Build, end_live_update: Callable[[], None]
) -> BuildReport:
    """Builds a generation that exists beside the current one, then swaps them. Drops it if the build fails."""
    try:
        report = build(fresh)
    except BaseException:
        index.drop(fresh)
        raise
    with index.gate:
        end_live_update()
        index.swap(fresh)
    return report
