"""The counters of a server for a group, in Prometheus' text format. They never contain a workspace, path or query."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The numbers of one server since its start. Lives on the event loop.

    Names of callers consist of letters, digits, dots, hyphens and underscores, so labels need no escaping.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._started = now()
        self._answered: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._running: Counter[str] = Counter()
        self._refused: Counter[int] = Counter()

    def refused(self, status: int) -> None:
        """Counts a request that was refused before its caller was known."""
        self._refused[status] += 1

    def begin(self, caller: str) -> Callable[[int], None]:
        """Counts a request as running. The result must be called with the response's status when the request ends."""
        began = self._now()
        self._running[caller] += 1

        def end(status: int) -> None:
            self._running[caller] -= 1
            self._answered[caller, status] += 1
            self._seconds[caller] += self._now() - began

        return end

    def text(self, only: str | None = None) -> str:
        """Returns all numbers as text; with `only`, those of this caller alone."""
        return "\n".join(self._lines(only)) + "\n"

    def _lines(self, only: str | None) -> Iterator[str]:
        def shown(caller: str) -> bool:
            return only in (None, caller)

        yield from _head("sidecar_requests_total", "counter", "Requests that were answered.")
        for (caller, status), number in sorted((key, n) for key, n in self._answered.items() if shown(key[0])):
            yield f'sidecar_requests_total{{caller="{caller}",status="{status}"}} {number}'
        yield from _head("sidecar_request_seconds_total", "counter", "Seconds until they were answered.")
        for caller, seconds in sorted((caller, n) for caller, n in self._seconds.items() if shown(caller)):
            yield f'sidecar_request_seconds_total{{caller="{caller}"}} {seconds:.6f}'
        yield from _head("sidecar_requests_running", "gauge", "Requests that are being answered.")
        for caller, running in sorted((caller, n) for caller, n in self._running.items() if shown(caller)):
            yield f'sidecar_requests_running{{caller="{caller}"}} {running}'
        if only is None:
            yield from self._of_the_server()

    def _of_the_server(self) -> Iterator[str]:
        yield from _head("sidecar_refused_total", "counter", "Requests without a valid token, or to another host.")
        for status, number in sorted(self._refused.items()):
            yield f'sidecar_refused_total{{status="{status}"}} {number}'
        yield from _head("sidecar_uptime_seconds", "gauge", "Seconds since the server was started.")
        yield f"sidecar_uptime_seconds {self._now() - self._started:.0f}"


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
