"""Makes an index anew beside the one in force, of which it needs nothing: neither its manifest nor what that names of
the kept vectors. So a damaged one has a way out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from sidecar.engine.index.generation import Generation
from sidecar.engine.index.handle import IndexHandle
from sidecar.errors import IndexCorrupt
from sidecar.model import BuildReport

Build: TypeAlias = Callable[[Generation], BuildReport]
"""Brings a generation up to the files."""


def up_to_date_or_anew(index: IndexHandle, build: Build, end_upkeep: Callable[[], None]) -> BuildReport:
    """The generation in force; another one in its place where it is damaged, and then the report says so."""
    try:
        return build(index.ready())
    except IndexCorrupt as damage:
        if index.generation is not None:
            index.check_model(index.generation)  # one that is whole, and not of the wanted model: a person decides
        notice = f"{damage.message} The index was made anew; nothing but time is lost."
        return replace(make_anew(index, build, end_upkeep), notice=notice)


def make_anew(index: IndexHandle, build: Build, end_upkeep: Callable[[], None]) -> BuildReport:
    """A fresh generation in place of the one in force, which answers until then as far as it can."""
    try:
        return _make(index, build, end_upkeep)
    except IndexCorrupt:
        # Of the kept vectors: whoever opens them next begins a new file.
        return _make(index, build, end_upkeep)


def _make(index: IndexHandle, build: Build, end_upkeep: Callable[[], None]) -> BuildReport:
    fresh = index.aside()
    try:
        report = build(fresh)
    except BaseException:
        index.drop(fresh)
        raise
    with index.gate:
        end_upkeep()
        index.swap(fresh)
    return report
