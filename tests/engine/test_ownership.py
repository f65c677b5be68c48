"""No object of an open workspace refers back to an object that holds it, not even through others or a function."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator

import pytest

from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.ingest.worker_pool import WorkerPool
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.live import LiveUpdate
from sidecar.engine.workspace import IndexedWorkspace
from tests.engine.projects import Project
from tests.test_layers import circles

_NOT_HELD = (type, types.ModuleType, types.FrameType, types.BuiltinFunctionType)


def is_ours(thing: object) -> bool:
    return type(thing).__module__.startswith("sidecar.engine.")


def referents(thing: object) -> Iterator[object]:
    """Yields what an object holds; for a function, the values of its closure, and not its module."""
    if isinstance(thing, types.FunctionType):
        closed_over = [cell.cell_contents for cell in thing.__closure__ or () if cell != types.CellType()]
        found = [*closed_over, *(thing.__defaults__ or ())]
    else:
        found = gc.get_referents(thing)
    yield from (held for held in found if not isinstance(held, _NOT_HELD))


def held_by(thing: object) -> list[object]:
    """Returns the engine's objects that an object holds directly, in containers, or through functions and other
    libraries. `Activity` passes a status up to listeners; these do not count as held.
    """
    found: list[object] = []
    seen = {id(thing)}
    left = [] if isinstance(thing, Activity) else list(referents(thing))
    while left:
        held = left.pop()
        if id(held) in seen:
            continue
        seen.add(id(held))
        if is_ours(held):
            found.append(held)
        else:
            left.extend(referents(held))
    return found


def ownership(first: object) -> tuple[dict[str, set[str]], dict[str, object]]:
    """Returns, by name, which of the engine's objects below `first` hold which others."""
    left, named, edges = [first], {}, {}
    while left:
        thing = left.pop()
        name = _name(thing)
        if name not in named:
            named[name] = thing
            held = held_by(thing)
            edges[name] = {_name(each) for each in held}
            left.extend(held)
    return edges, named


def _name(thing: object) -> str:
    return f"{type(thing).__module__}:{type(thing).__name__} {id(thing):x}"


def circles_of_modules(edges: dict[str, set[str]]) -> list[str]:
    """Returns the cycles through more than one module. A class may hold a helper of its own that refers back to it."""
    found = [[name.split()[0] for name in circle] for circle in circles(edges)]
    return [" -> ".join(circle) for circle in found if len({name.split(":")[0] for name in circle}) > 1]


@pytest.fixture
def workspace(project: Project) -> IndexedWorkspace:
    """Uses worker processes of its own, because the shared ones hold objects of other tests."""
    project.preparers = WorkerPool(1)
    return project.open()


def test_no_object_of_an_open_workspace_holds_its_holder(workspace: IndexedWorkspace) -> None:
    edges, named = ownership(workspace)
    assert {IndexHandle, LiveUpdate, Activity} <= {type(thing) for thing in named.values()}
    assert circles_of_modules(edges) == []


def test_a_callback_to_the_holder_is_seen(workspace: IndexedWorkspace) -> None:
    workspace.index.on_open = lambda: workspace.live_update.start(reconcile=True)  # type: ignore[attr-defined]
    edges, _ = ownership(workspace)
    assert any("IndexHandle" in circle for circle in circles_of_modules(edges))
