"""The activity log: a bounded, in-memory record of the calls made through every door of this process.

It records what each call asked for, how many results it got and why it was refused or failed. Nothing is written to
disk. `sessions.py` keeps the attached clients and the questions they are asked.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, TypeAlias

from pydantic import Field, ValidationError

from sidecar import shown
from sidecar.errors import InvalidParams
from sidecar.locks import Lock, Rank, make_lock
from sidecar.settings.values import DEFAULTS
from sidecar.tools.dialect import CamelResult
from sidecar.tools.result import Result
from sidecar.tools.spec import Params
from sidecar.tools.status_result import IndexStatus
from sidecar.tools.wording import Door

State: TypeAlias = Literal["running", "asking", "done", "refused", "failed", "cancelled"]

DEFAULT_CAPACITY: int = DEFAULTS["activityLog"]
MOST_PATHS = 5
_MOST_TEXT = 300


class ActivityParams(Params):
    """Parameters of `sidecar/activity`; each of them narrows the list of calls."""

    agent: str = Field("", max_length=200, description="Only calls of the client with this name.", examples=["Claude"])
    tool: str = Field("", max_length=100, description="Only calls of this tool.", examples=["search_code"])
    since: str = Field(
        "", max_length=40, description="Only calls begun at or after this time (ISO 8601).", examples=["2026-01-02"]
    )
    after: int = Field(
        0, ge=0, description="Only calls that changed after this revision, from an earlier answer.", examples=[12]
    )
    limit: int = Field(100, ge=1, le=10_000, description="At most this many calls, the latest.", examples=[100])
    everywhere: bool = Field(
        False, description="Also calls for folders that this editor does not have open.", examples=[True]
    )


class AttachedSession(CamelResult):
    """A client that is attached now.

    `name` and `version` are what the client calls itself. `asks`: a question can reach a person through it. `calls`:
    how many calls it has made. `you`: it is the client that asked for this list.
    """

    id: int
    door: Door
    name: str
    version: str
    workspaces: list[str]
    since: str
    asks: bool
    calls: int
    you: bool


class ActivityEntry(CamelResult):
    """One call.

    `asked` is its query, name or path. `results` is how many rows it returned and `paths` are the first five distinct
    paths among them; both are null if the result is not a list. `state` is `asking` while a person is being asked, and
    `refused` if the answer was no or nobody could be asked. `answered_by` names the client through which a person
    answered. `message` says why the call failed or was refused, or repeats the notice of its result.
    """

    id: int
    revision: int
    session: int
    agent: str
    door: Door
    tool: str
    workspace: str
    asked: str
    started: str
    state: State
    took_ms: float | None = None
    results: int | None = None
    paths: list[str] | None = None
    message: str | None = None
    answered_by: str | None = None


class ActivityResult(CamelResult):
    """What `sidecar/activity` returns: sessions oldest first, entries latest first.

    Send `revision` as `after` next time to get only what has changed since. `capacity`: how many calls the log keeps; 0
    means that it is off. `forgotten`: how many calls have dropped out of the log.
    """

    sessions: list[AttachedSession]
    entries: list[ActivityEntry]
    revision: int
    capacity: int
    forgotten: int


class ActivityChanged(CamelResult):
    """`sidecar/activityChanged`: the answer of `sidecar/activity` has changed. `running`: calls in progress; `asking`:
    those among them that wait for a person."""

    revision: int
    sessions: int
    running: int
    asking: int


class QuestionClosed(CamelResult):
    """`sidecar/questionClosed`: the `window/showMessageRequest` with this id and message no longer needs an answer.
    `question` is the id in its field `question`. `answered_by` names the client through which a person has answered it,
    if one has."""

    request: str
    question: str
    message: str
    reason: Literal["answered", "timeout", "cancelled"]
    answered_by: str | None = None


class FolderStatus(IndexStatus):
    """`sidecar/status`: the state of one folder's index.

    `elsewhere`: another process builds it, which this one cannot stop. `gone`: the folder is not there now.
    """

    workspace: str
    uri: str
    elsewhere: bool | None = None
    gone: bool | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One call as the log keeps it. `started` is in seconds since the epoch, `took_ms` in milliseconds."""

    id: int
    revision: int
    session: int
    agent: str
    door: Door
    tool: str
    workspace: str
    asked: str
    started: float
    state: State = "running"
    took_ms: float | None = None
    results: int | None = None
    paths: tuple[str, ...] = ()
    message: str = ""
    answered_by: str = ""

    def entry(self) -> ActivityEntry:
        """Returns the call as `sidecar/activity` reports it."""
        return ActivityEntry(
            id=self.id,
            revision=self.revision,
            session=self.session,
            agent=self.agent,
            door=self.door,
            tool=self.tool,
            workspace=self.workspace,
            asked=self.asked,
            started=iso(self.started),
            state=self.state,
            took_ms=None if self.took_ms is None else round(self.took_ms, 1),
            results=self.results,
            paths=list(self.paths) if self.results is not None else None,
            message=self.message or None,
            answered_by=self.answered_by or None,
        )


@dataclass
class ActivityLog:
    """The latest calls, at most `most()` of them; 0 turns the log off. Thread-safe. `changed` is called after every
    change, outside the lock."""

    most: Callable[[], int] = lambda: DEFAULT_CAPACITY
    changed: Callable[[], None] = lambda: None
    now: Callable[[], float] = time.time
    revision: int = field(default=0, init=False)
    forgotten: int = field(default=0, init=False)
    _calls: OrderedDict[int, Call] = field(default_factory=OrderedDict, init=False)
    _made: int = field(default=0, init=False)
    _lock: Lock = field(default_factory=partial(make_lock, Rank.CALL_LOG), init=False)

    @property
    def capacity(self) -> int:
        """How many calls the log keeps at present."""
        return self.most()

    def begin(self, session: int, agent: str, door: Door, tool: str, workspace: str, asked: str) -> int:
        """Records a call and returns its id, for `update`. Returns 0 if the log is off."""
        capacity = self.capacity
        if not capacity:
            return 0
        with self._lock:
            self._made += 1
            self.revision += 1
            made = Call(self._made, self.revision, session, agent, door, tool, workspace, asked, self.now())
            self._calls[made.id] = made
            while len(self._calls) > capacity:
                self._calls.popitem(last=False)
                self.forgotten += 1
        self.changed()
        return made.id

    def update(self, call: int, **facts: Any) -> None:
        """Replaces fields of a recorded `Call`. Does nothing if the call is no longer in the log."""
        with self._lock:
            known = self._calls.get(call)
            if known is None:
                return
            self.revision += 1
            self._calls[call] = replace(known, revision=self.revision, **facts)
        self.changed()

    def count(self, *states: State) -> int:
        """Returns the number of recorded calls in any of these states."""
        with self._lock:
            return sum(call.state in states for call in self._calls.values())

    def select(self, params: ActivityParams, workspaces: Iterable[str]) -> list[ActivityEntry]:
        """Returns the recorded calls that match `params`, latest first, at most `params.limit`. `workspaces`: real
        paths of the folders whose calls are wanted; ignored if `params.everywhere` is set."""
        since = _seconds(params.since)
        near = set(workspaces)
        with self._lock:
            calls = list(self._calls.values())
        found = [
            call.entry()
            for call in reversed(calls)
            if call.revision > params.after
            and call.started >= since
            and params.agent in ("", call.agent)
            and params.tool in ("", call.tool)
            and (params.everywhere or os.path.realpath(call.workspace) in near)
        ]
        return found[: params.limit]


def activity_params(arguments: Mapping[str, object]) -> ActivityParams:
    """Validates the parameters of `sidecar/activity`; null counts as not given. Raises `InvalidParams`, which names the
    field."""
    try:
        params = ActivityParams.model_validate({k: v for k, v in arguments.items() if v is not None})
        _seconds(params.since)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, f['loc'])) or 'parameters'}: {f['msg']}." for f in error.errors()]
        raise InvalidParams(" ".join(faults)) from None
    except ValueError:
        raise InvalidParams("since: must be a time such as 2026-01-02T03:04:05Z.") from None
    return params


def asked_of(arguments: Mapping[str, object]) -> str:
    """Returns what a call asks for, on one line of at most 300 characters. It never contains what a call stores, such
    as the text of a memory."""
    for name in ("query", "name", "pattern", "path", "file_path", "patterns", "keywords", "key"):
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return shown.short(" ".join(value.split()), _MOST_TEXT)
        if isinstance(value, list) and value:
            return shown.short(", ".join(map(str, value)), _MOST_TEXT)
    return ""


def outcome_of(result: Result, declined: bool = False) -> dict[str, Any]:
    """Returns the `Call` fields that follow from a tool's result: state, number of rows, first paths and notice.

    `declined`: the answer to the tool's question was no, so the tool has not run.
    """
    facts: dict[str, Any] = {"state": "refused" if declined else "done"}
    rows = result.row_paths()
    if rows is not None:
        facts |= {"results": len(rows), "paths": tuple(dict.fromkeys(filter(None, rows)))[:MOST_PATHS]}
    return {**facts, "message": shown.short(result.remark(), _MOST_TEXT)}


def iso(seconds: float) -> str:
    """Formats a time as ISO 8601 in UTC with milliseconds, such as `2026-01-02T03:04:05.678Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seconds(text: str) -> float:
    """Returns seconds since the epoch; 0 for an empty text. A time without a zone is UTC. Raises ValueError."""
    if not text:
        return 0.0
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
