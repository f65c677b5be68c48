"""Questions go first: background work pauses for them, and no search waits for a long pass over the workspace."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from sidecar.engine.concurrency.right_of_way import NICENESS, QUESTIONS, RightOfWay
from sidecar.engine.concurrency.stages import run_stages
from sidecar.engine.ingest import indexer
from sidecar.engine.search.searcher import Searcher
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled
from sidecar.parts.coverage import put_awaited
from sidecar.parts.embed.cache import EmbeddingCacheFile
from sidecar.parts.manifest import Manifest
from tests.engine.projects import Project, find, index
from tests.engine.test_workspace_opening import SlowWatcher
from tests.patience import PATIENCE_S, until


def _pauses(way: RightOfWay) -> threading.Event:
    """Starts a step of background work, and returns what is set once it goes on."""
    goes_on = threading.Event()

    def work() -> None:
        way.give_way()
        goes_on.set()

    threading.Thread(target=work, daemon=True).start()
    return goes_on


def test_threads_take_turns_more_often_until_the_last_question_is_answered() -> None:
    questions, usual = RightOfWay(), sys.getswitchinterval()
    with questions.answering():
        with questions.answering():
            often = sys.getswitchinterval()
        assert sys.getswitchinterval() == often < usual
    with suppress(InterruptedError), questions.answering():
        raise InterruptedError
    assert sys.getswitchinterval() == usual


@pytest.mark.parametrize("interval", [0.0001, 0.000999, 0.005])
def test_thousands_of_questions_leave_turns_as_long_as_they_were(interval: float) -> None:
    former = sys.getswitchinterval()
    sys.setswitchinterval(interval)
    try:
        usual = sys.getswitchinterval()
        for _ in range(2000):
            with RightOfWay().answering():
                assert sys.getswitchinterval() <= usual
        assert sys.getswitchinterval() == usual
    finally:
        sys.setswitchinterval(former)


def test_background_work_pauses_until_the_last_question_is_answered() -> None:
    way = RightOfWay(most_s=PATIENCE_S)
    with way.answering():
        with way.answering():
            goes_on = _pauses(way)
        assert not goes_on.wait(0.02)
    assert goes_on.wait(PATIENCE_S)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lowers the priority of a single thread")
def test_the_stages_of_indexing_have_a_lower_priority_than_the_thread_that_waits_for_them() -> None:
    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    own = niceness()
    assert list(run_stages([0, 1], [lambda _: niceness()])) == 2 * [max(own, NICENESS)]
    assert niceness() == own


def test_indexing_goes_on_where_no_priority_may_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(os, "setpriority", refused, raising=False)
    assert list(run_stages([0, 1], [lambda item: item + 1])) == [1, 2]


def test_background_work_costs_nothing_while_nobody_asks() -> None:
    assert _pauses(RightOfWay(most_s=PATIENCE_S)).wait(PATIENCE_S)


def test_a_question_that_never_ends_does_not_stop_background_work() -> None:
    way = RightOfWay(most_s=0.01)
    with way.answering():
        assert _pauses(way).wait(PATIENCE_S)


def test_constant_questions_take_at_most_a_quarter_more_of_the_time_of_background_work() -> None:
    times = iter([100.0, 100.01, 100.018, 100.5])  # a pause begins and ends, then the thread works
    way = RightOfWay(most_s=0.01, now=lambda: next(times))
    assert way.may_pause() == 0.01
    with way.answering():
        way.give_way()
    assert way.may_pause() == pytest.approx(0.002)
    assert way.may_pause() == 0.01


def test_a_step_that_was_cancelled_during_its_pause_sees_it() -> None:
    way, cancelled = RightOfWay(most_s=0.01), threading.Event()
    check = way.giving_way(cancelled.is_set)
    assert check() is False
    with way.answering():
        cancelled.set()
        assert check() is True
    assert way.giving_way(never_cancelled)() is False


def test_a_search_in_a_large_workspace_does_not_wait_for_the_pass_that_follows_opening(project: Project) -> None:
    project.prepares_here = True
    small = project.open()
    index(small)
    small.close()
    project.write("src/later.py", "def came_later():\n    return 1\n")
    watcher = SlowWatcher()
    project.make_watcher = lambda *_: watcher
    large = project.open(stay=0.0, in_time=2, freshness=PATIENCE_S)
    try:
        answer = large.search(SearchRequest("set cookie"), never_cancelled)
        assert watcher.starting.wait(PATIENCE_S)
        assert answer.hits[0].path == "src/cookies.py"
        assert "still being checked for changes" in answer.notice
        assert find(large, "came_later")[:1] != ["src/later.py"]
    finally:
        watcher.may_go_on.set()
    until(lambda: find(large, "came_later")[:1] == ["src/later.py"])


def test_a_search_does_not_wait_for_the_pass_that_goes_on_with_a_large_index_whose_building_was_interrupted(
    project: Project,
) -> None:
    project.prepares_here = True
    begun = project.open()
    index(begun)
    writer = begun.index.readable().writer
    assert writer is not None
    with writer.manifest.transaction() as connection:
        put_awaited(connection, [f"src/not_read_{number}.py" for number in range(100)], all_of_them=True)
    begun.close()
    watcher = SlowWatcher()
    project.make_watcher = lambda *_: watcher
    again = project.open(stay=0.0, in_time=50, freshness=PATIENCE_S)
    try:
        answer = again.search(SearchRequest("set cookie"), never_cancelled)
        assert watcher.starting.wait(PATIENCE_S)
        assert answer.hits[0].path == "src/cookies.py"
        assert again.live_update.shortfall().looks_over
    finally:
        watcher.may_go_on.set()


@pytest.mark.parametrize("in_time", [2, 20_000])
def test_the_first_question_lets_the_pass_go_on_only_if_it_waits_for_it_too(
    project: Project, monkeypatch: pytest.MonkeyPatch, in_time: int
) -> None:
    project.prepares_here = True
    before = project.open()
    index(before)
    before.close()
    turns, preload, usual = list[float](), Searcher.preload, sys.getswitchinterval()

    def noted(*given: Any) -> None:
        turns.append(sys.getswitchinterval())
        preload(*given)

    monkeypatch.setattr(Searcher, "preload", noted)
    opened = project.open(in_time=in_time)
    assert find(opened, "set cookie")[0] == "src/cookies.py"
    assert [turn < usual for turn in turns] == [in_time == 2], (
        "threads take turns more often while background work pauses"
    )


def test_the_listing_of_folders_to_watch_keeps_no_question_waiting(project: Project) -> None:
    project.prepares_here, watcher = True, SlowWatcher()
    project.make_watcher = lambda *_: watcher
    workspace = project.open(stay=0.0)
    try:
        index(workspace)
        assert watcher.starting.wait(PATIENCE_S)
        assert find(workspace, "set cookie")[0] == "src/cookies.py"
        assert watcher.deeds == []
    finally:
        watcher.may_go_on.set()


def test_a_question_takes_no_lock_that_the_writer_of_the_index_holds_while_it_pauses(project: Project) -> None:
    project.prepares_here = True
    workspace = project.open(freshness=0.0)
    index(workspace)
    assert find(workspace, "set cookie")
    writer = workspace.index.readable().writer
    assert writer is not None
    with ThreadPoolExecutor(1) as asking, writer.manifest.transaction():
        for question in ("expire", "wait for the call", "where is the query string parsed"):
            assert asking.submit(find, workspace, question).result(PATIENCE_S)


def test_a_question_during_a_job_does_not_wait_for_a_pass_that_cannot_begin_beside_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.prepares_here = True
    workspace = project.open(freshness=PATIENCE_S)
    index(workspace)
    project.write("src/later.py", "def came_later():\n    return 1\n")
    writes, may_write, put_file = threading.Event(), threading.Event(), Manifest.put_file

    def put_later(*given: Any) -> Any:
        writes.set()
        assert may_write.wait(2 * PATIENCE_S)
        return put_file(*given)

    monkeypatch.setattr(Manifest, "put_file", put_later)
    with ThreadPoolExecutor(2) as pool:
        try:
            job = pool.submit(index, workspace)
            assert writes.wait(PATIENCE_S)
            asked = pool.submit(find, workspace, "set cookie")
            assert asked.result(PATIENCE_S / 2)[0] == "src/cookies.py"
            assert not job.done()
        finally:
            may_write.set()
        job.result(PATIENCE_S)
    assert find(workspace, "came_later")[0] == "src/later.py"


def test_every_part_of_a_batch_that_is_embedded_or_written_gives_way_first(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.prepares_here = True
    for number in range(30):
        project.write(f"src/more_{number}.py", f"def more_{number}():\n    return {number}\n")
    monkeypatch.setattr(indexer, "_EMBED_BATCH", 4)
    done: dict[int, list[str]] = defaultdict(list)

    def note(what: str) -> None:
        done[threading.get_ident()].append(what)

    def noted(what: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*given: Any) -> Any:
            note(what)
            return work(*given)

        return noting

    monkeypatch.setattr(QUESTIONS, "give_way", lambda: note("pause"))
    monkeypatch.setattr(EmbeddingCacheFile, "add", noted("embed", EmbeddingCacheFile.add))
    monkeypatch.setattr(Manifest, "put_file", noted("write", Manifest.put_file))
    index(project.open())
    for part, least in (("embed", 5), ("write", 30)):
        before = [first for deeds in done.values() for first, then in pairwise(deeds) if then == part]
        assert len(before) >= least
        assert set(before) == {"pause"}


@pytest.mark.process
def test_a_file_saved_in_a_large_workspace_is_found_once_the_watcher_is_running(project: Project) -> None:
    project.prepares_here = project.watcher = True
    workspace = project.open(in_time=2)
    index(workspace)
    until(lambda: workspace.live_update.watching and not workspace.live_update.shortfall().looks_over)
    for number in range(3):
        project.write("src/cookies.py", f"def saved_just_now_{number}():\n    return 1\n")
        assert find(workspace, f"saved_just_now_{number}")[0] == "src/cookies.py"
    workspace.close()
    again = project.open(in_time=2)
    find(again, "set cookie")
    until(lambda: again.live_update.watching and not again.live_update.shortfall().looks_over)
    for number in range(3):
        project.write("src/cookies.py", f"def saved_later_{number}():\n    return 1\n")
        assert find(again, f"saved_later_{number}")[0] == "src/cookies.py"
