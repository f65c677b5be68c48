"""At whatever moment a process is killed, the next one finds an index equal to one that was never interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.engine.models.loader import Models
from tests.engine.kills import Killer
from tests.engine.projects import SLOW

pytestmark = pytest.mark.process


@pytest.mark.slow
def test_thirty_kills_lose_nothing_and_embed_nothing_twice(tmp_path: Path, models: Models) -> None:
    outcome = Killer(tmp_path, seed=20_26, models=models, store_every=3).run(range(30))
    assert outcome.kills == 30
    assert outcome.finished < 30, "some kills must hit in the middle"


@pytest.mark.slow
def test_kills_in_the_second_stage_lose_nothing_and_embed_nothing_twice(tmp_path: Path, models: Models) -> None:
    outcome = Killer(tmp_path, seed=8, models=models, files=30, flags={"model": SLOW}, store_every=3).run(range(6))
    assert outcome.kills == 6
    assert outcome.finished < 6, "some kills must hit in the middle"
