"""Listeners get the states of an index in the order in which they were read, so the last one they get is the current
one."""

from __future__ import annotations

import json
import queue
import threading
from pathlib import Path

import pytest

from sidecar.engine.models.facts import ModelFacts
from sidecar.engine.models.loader import Models
from sidecar.engine.update.activity import Activity
from sidecar.model.answers import StatusAnswer
from sidecar.model.terms import Embedder, never_cancelled, no_progress
from sidecar.settings.load import Settings
from tests.engine.projects import Project, index
from tests.patience import first_that

LONGEST_S = 60


class HeldWhileRead:
    """Models that stop one thread while it reads the status, after it has read the settings."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self.whom: threading.Thread | None = None
        self.holds = threading.Event()
        self.released = threading.Event()

    def embedder(self, settings: Settings) -> Embedder:
        return self._models.embedder(settings)

    def facts(self, settings: Settings) -> ModelFacts:
        return self._models.facts(settings)

    def loaded(self, settings: Settings) -> Embedder | None:
        if threading.current_thread() is self.whom:
            self.holds.set()
            assert self.released.wait(LONGEST_S)
        return self._models.loaded(settings)


@pytest.mark.process
def test_a_status_that_was_read_before_a_change_is_not_heard_after_the_change(project: Project) -> None:
    models = HeldWhileRead(project.models)
    workspace = project.open(models=models, stay=3600.0)
    index(workspace)
    heard: list[str] = []
    workspace.on_change(lambda status: heard.append(status.strategy))
    models.whom = threading.Thread(target=workspace.activity.changed)
    models.whom.start()
    assert models.holds.wait(LONGEST_S)
    Path(workspace.config().config_path).write_text(json.dumps({"indexingStrategy": "lazy"}))
    workspace.reload_settings()
    models.released.set()
    models.whom.join(LONGEST_S)
    assert heard[-1] == "lazy"


def test_a_change_during_a_call_has_one_more_call_made_even_if_that_call_fails() -> None:
    calls: list[int] = []

    def on_change() -> None:
        calls.append(len(calls))
        if len(calls) == 1:
            for _ in range(3):
                activity.changed()
            raise ValueError("this listener fails")

    activity = Activity(on_change)
    with pytest.raises(ValueError, match="this listener fails"):
        activity.changed()
    assert len(calls) == 2
    activity.changed()
    assert len(calls) == 3


def test_a_workspace_whose_folder_is_renamed_is_said_to_be_gone_and_to_be_back(project: Project) -> None:
    project.prepares_here = True
    workspace = project.open(turn=0.01)
    workspace.create(no_progress, never_cancelled)
    announced: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(announced.put)
    elsewhere = project.root.rename(project.root.with_name("elsewhere"))
    first_that(lambda status: status.gone, announced)
    elsewhere.rename(project.root)
    first_that(lambda status: not status.gone, announced)
