"""A pipeline: stages that run at the same time, each on its own thread of low priority, with short queues between
them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sidecar.engine.concurrency.right_of_way import step_back

_END = object()


class _Channel:
    """A bounded queue between two stages. Readers and writers give up when `stop` is set."""

    def __init__(self, depth: int, stop: threading.Event) -> None:
        self._queue: queue.Queue[Any] = queue.Queue(depth)
        self._stop = stop

    def put(self, item: Any) -> bool:
        """Waits for space in the queue. Returns False if stopped before."""
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def __iter__(self) -> Iterator[Any]:
        while not self._stop.is_set():
            try:
                item = self._queue.get(timeout=0.1)
            except queue.Empty:
                continue
            if item is _END:
                return
            yield item


class _Stage(threading.Thread):
    """The thread of one stage."""

    def __init__(
        self,
        work: Callable[[Any], Any],
        source: Iterable[Any],
        into: _Channel,
        stop: threading.Event,
        errors: list[BaseException],
    ) -> None:
        super().__init__(name=f"sidecar-{getattr(work, '__name__', 'stage')}", daemon=True)
        self._work, self._source, self._into, self._stop_all, self._errors = work, source, into, stop, errors

    def run(self) -> None:
        """Applies `work` to each item and passes the results on. An error stops all stages."""
        step_back()
        try:
            for item in self._source:
                if not self._into.put(self._work(item)):
                    return
            self._into.put(_END)
        except BaseException as error:
            self._errors.append(error)
            self._stop_all.set()


def run_stages(items: Iterable[Any], stages: Sequence[Callable[[Any], Any]], depth: int = 2) -> Iterator[Any]:
    """Yields the results of the last stage, in order. At most `depth` results wait between two stages.

    The first exception of a stage or of `items` stops all stages and is raised here. Leaving the iteration stops them
    too.
    """
    stop = threading.Event()
    errors: list[BaseException] = []
    source: Iterable[Any] = items
    threads: list[_Stage] = []
    for work in stages:
        into = _Channel(depth, stop)
        threads.append(_Stage(work, source, into, stop, errors))
        source = into
    for thread in threads:
        thread.start()
    try:
        yield from source
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
