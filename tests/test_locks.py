"""Locks are made in one place, and taken in one order."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading

import pytest

from sidecar import locks
from sidecar.locks import LockOrderError, Rank, make_condition, make_lock, make_rlock
from tests.patience import PATIENCE_S
from tests.sources import PACKAGE, modules, nodes_of


def test_the_tests_check_the_order() -> None:
    assert locks.CHECKED


def test_a_lock_may_be_taken_after_those_above_it() -> None:
    with make_lock(Rank.JOB), make_rlock(Rank.INDEX_GATE), make_condition(Rank.CHANGE_QUEUE):
        pass


def test_a_lock_is_refused_while_one_below_it_or_beside_it_is_held() -> None:
    job, other = make_lock(Rank.JOB), make_lock(Rank.JOB)
    with make_condition(Rank.CHANGE_QUEUE), pytest.raises(LockOrderError, match="JOB was taken while CHANGE_QUEUE"):
        job.acquire()
    with job, pytest.raises(LockOrderError):
        other.acquire()
    with job:
        assert not job.acquire(blocking=False), "asking without waiting harms nobody"


def test_the_thread_that_holds_a_reentrant_lock_may_take_it_again_after_others() -> None:
    gate, queue = make_rlock(Rank.INDEX_GATE), make_condition(Rank.CHANGE_QUEUE)
    with gate, queue, gate:
        pass
    with gate:
        pass


def test_a_lock_is_not_held_while_its_condition_is_waited_for() -> None:
    changed, awake = make_condition(Rank.CHANGE_QUEUE), threading.Event()

    def tell() -> None:
        with changed:
            awake.set()
            changed.notify_all()

    with changed:
        teller = threading.Thread(target=tell)
        teller.start()
        assert changed.wait_for(awake.is_set, PATIENCE_S)
        with pytest.raises(LockOrderError):
            make_lock(Rank.JOB).acquire()
    teller.join()
    with make_lock(Rank.JOB):
        pass


@pytest.mark.process
def test_without_the_tests_the_locks_are_the_standard_librarys_own() -> None:
    code = "import threading; from sidecar.locks import *; print(type(make_lock(Rank.JOB)) is type(threading.Lock()))"
    env = {name: value for name, value in os.environ.items() if name != "SIDECAR_CHECK_LOCKS"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_no_module_makes_a_lock_of_its_own() -> None:
    made = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in modules()
        if path.name != "locks.py"
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute)
        and ast.unparse(node) in {"threading.Lock", "threading.RLock", "threading.Condition", "threading.Semaphore"}
    ]
    assert made == []
