"""The clients attached to this process: which of them are asked a question, and which are notified.

There is one `Sessions` per process. Each door attaches a `Session` for each of its clients and calls tools through it
(`confirm.py`). `surfaces/lsp` shows questions and progress bars in an editor; `activity.py` logs the calls.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from sidecar import shown
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import Progress
from sidecar.tools.activity import (
    DEFAULT_CAPACITY,
    ActivityChanged,
    ActivityLog,
    ActivityParams,
    ActivityResult,
    AttachedSession,
    iso,
)
from sidecar.tools.spec import Answer, Question
from sidecar.tools.word import Confirm, strictest
from sidecar.tools.wording import Door

T = TypeVar("T")

Beside: TypeAlias = "Callable[[Question, Sequence[str], Closing], Awaitable[Answer]]"
"""Asks the caller while the clients with these names are asked too; `nobody` if it cannot be asked. If it is cancelled,
`Closing` says which of them has answered."""


class WorkDisplay(Protocol):
    """Shows work to a person: call it to report progress, then call `finish`. Callable from any thread."""

    def __call__(self, done: int, total: int, message: str) -> None:
        """Reports progress, as a `Progress` does."""

    def finish(self, message: str) -> None:
        """Ends the display; `message` says how the work ended."""


@dataclass
class Closing:
    """The reason why a question shown in an editor is withdrawn. Set before the task that asks it is cancelled."""

    reason: Literal["answered", "cancelled"] = "cancelled"
    by: str = ""


class Editor(Protocol):
    """The methods of a session with a person in front of it. They are called on the event loop on which it was
    attached."""

    def can_ask(self) -> bool:
        """Whether a question can be shown to the person now."""

    async def ask(self, question: Question, closing: Closing) -> Answer:
        """Returns the person's answer; `nobody` if the client has gone or cannot show a question, `timeout` if no
        answer comes in time.

        Cancelling the task withdraws the question, for the reason that `closing` then holds.
        """

    def begin(self, title: str, cancel: Callable[[], None]) -> WorkDisplay:
        """Shows work that another client has started. `cancel` is called if the person cancels it."""

    def activity_changed(self) -> None:
        """Called, possibly often, when the answer of `Sessions.activity` has changed."""


@dataclass(eq=False)
class Work:
    """A running call that may change an index. `asking`: it waits for an answer and has changed nothing yet."""

    session: Session
    workspace: str
    task: asyncio.Task[Any]
    asking: bool = False

    def cancel(self) -> None:
        """Cancels the call; may be called from any thread."""
        _call_on(self.task.get_loop(), self.task.cancel)


@dataclass(frozen=True, slots=True)
class Introduction:
    """A client's description of itself.

    `name` and `version` are safe to show to a person; both are empty until the client has sent them. `workspaces` are
    real paths.
    """

    name: str
    version: str
    workspaces: tuple[str, ...]

    @classmethod
    def of(cls, name: str, version: str, workspaces: Iterable[str]) -> Introduction:
        """Makes the introduction from the client's own words, which are made safe to show."""
        return cls(shown.short(name), shown.short(version), _normal(workspaces))


@dataclass(eq=False)
class Session:
    """One attached client. Its introduction may change."""

    id: int
    door: Door
    introduction: Introduction
    since: float
    editor: Editor | None
    loop: asyncio.AbstractEventLoop | None
    home: Sessions = field(repr=False)
    word: Callable[[str], Confirm] = field(default=lambda _: "auto", init=False, repr=False)
    calls: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        """See `Introduction`."""
        return self.introduction.name

    @property
    def version(self) -> str:
        """See `Introduction`."""
        return self.introduction.version

    @property
    def workspaces(self) -> tuple[str, ...]:
        """See `Introduction`."""
        return self.introduction.workspaces

    def introduce(self, name: str, version: str, workspaces: Iterable[str]) -> None:
        """Replaces the name, version and workspaces that the client gives."""
        introduction = Introduction.of(name, version, workspaces)
        if introduction != self.introduction:
            self.introduction = introduction
            self.home.changed()
            self.home.end_unwanted()

    def covers(self, workspace: str) -> bool:
        """Whether the workspace is one of the session's folders or lies in one, with symbolic links resolved."""
        root = os.path.realpath(workspace)
        return any(Path(root).is_relative_to(folder) for folder in self.workspaces)

    def can_ask(self) -> bool:
        """Whether a question can be shown to a person at this client."""
        return self.editor is not None and self.editor.can_ask()

    def detach(self) -> None:
        """Removes the session when its client has gone. Calling it again does nothing."""
        self.home.detach(self)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer and the name of the client that gave it; `by` is empty if nobody answered."""

    answer: Answer
    by: str = ""


class Sessions:
    """Every client of this process. Thread-safe, except that questions are asked on an event loop."""

    def __init__(
        self, log_capacity: Callable[[], int] = lambda: DEFAULT_CAPACITY, now: Callable[[], float] = time.time
    ) -> None:
        """`log_capacity` returns how many calls the activity log keeps; 0 turns the log off."""
        self.log = ActivityLog(log_capacity, changed=self.changed, now=now)
        self._now = now
        self._ids = itertools.count(1)
        self._attached: dict[int, Session] = {}
        self._works: set[Work] = set()
        self._lock = make_lock(Rank.SESSIONS)

    # ------------------------------------------------------------ who is there

    def attach(
        self,
        door: Door,
        name: str = "",
        version: str = "",
        *,
        workspaces: Iterable[str] = (),
        editor: Editor | None = None,
        word: Callable[[str], Confirm] = lambda _: "auto",
    ) -> Session:
        """Adds a client. With `editor`, it must be called on that editor's event loop.

        `word` is the editor's setting `confirm` for a workspace.
        """
        loop = asyncio.get_running_loop() if editor is not None else None
        introduction = Introduction.of(name, version, workspaces)
        session = Session(next(self._ids), door, introduction, self._now(), editor, loop, self)
        session.word = word
        with self._lock:
            self._attached[session.id] = session
        self.changed()
        return session

    def detach(self, session: Session) -> None:
        """Removes a client. Does nothing if it is not attached."""
        with self._lock:
            there = self._attached.pop(session.id, None)
        if there is not None:
            self.changed()
            self.end_unwanted()

    def attached(self) -> list[Session]:
        """Returns the attached clients, oldest first."""
        with self._lock:
            return list(self._attached.values())

    def activity(self, params: ActivityParams, asker: Session | None = None) -> ActivityResult:
        """Returns the attached clients and their calls. Unless `params.everywhere` is set or `asker` is None, only
        those that concern the asker's folders."""
        near = set(asker.workspaces) if asker else set()
        everywhere = params.everywhere or asker is None
        seen = [s for s in self.attached() if everywhere or s is asker or near & set(s.workspaces)]
        return ActivityResult(
            sessions=[
                AttachedSession(
                    id=s.id,
                    door=s.door,
                    name=s.name,
                    version=s.version,
                    workspaces=list(s.workspaces),
                    since=iso(s.since),
                    asks=s.can_ask(),
                    calls=s.calls,
                    you=s is asker,
                )
                for s in seen
            ],
            entries=self.log.select(params.model_copy(update={"everywhere": everywhere}), near),
            revision=self.log.revision,
            capacity=self.log.capacity,
            forgotten=self.log.forgotten,
        )

    # ------------------------------------------------------------ work that outlasts its client

    @contextmanager
    def working(self, session: Session, workspace: str) -> Iterator[Work]:
        """Within the block, the current task is a call of the session that may change the workspace's index."""
        task = asyncio.current_task()
        assert task is not None
        work = Work(session, workspace, task)
        with self._lock:
            self._works.add(work)
        try:
            yield work
        finally:
            with self._lock:
                self._works.discard(work)

    def outlasting(self, session: Session) -> set[asyncio.Task[Any]]:
        """Returns the calls of a client that has left which go on without it, because another client is on their
        workspace. When the last of those leaves, they are cancelled."""
        return {work.task for work in self._running() if work.session is session and self._is_wanted(work)}

    def end_unwanted(self) -> None:
        """Cancels the calls of clients that have left on whose workspace no client is."""
        attached = self.attached()
        for work in self._running():
            if work.session not in attached and not self._is_wanted(work):
                work.cancel()

    def _running(self) -> list[Work]:
        with self._lock:
            return list(self._works)

    def _is_wanted(self, work: Work) -> bool:
        return not work.asking and any(session.covers(work.workspace) for session in self.attached())

    # ------------------------------------------------------------ asking

    def word(self, workspace: str, asker: Session | None) -> Confirm:
        """Returns the strictest `confirm` among the workspace's editors other than the asker. An editor that cannot
        show a question counts only if its setting is `always`."""
        others = [(s, s.word(workspace)) for s in self.editors(workspace) if s is not asker]
        return strictest(word for session, word in others if word == "always" or session.can_ask())

    async def ask(
        self,
        question: Question,
        workspace: str,
        asker: Session | None,
        own: Callable[[Question], Awaitable[Answer]],
        beside: Beside | None = None,
    ) -> Answered:
        """Asks a person a question.

        If the asker is itself an editor that can ask, it alone is asked, through `own`. Otherwise every editor of the
        workspace is asked at once and the first answer counts. If none answers, the asker is asked through `own`. With
        `beside`, the asker is asked at the same time as the editors. Cancelling the task withdraws every question.
        """
        if asker is not None and asker.can_ask():
            return Answered(await own(question), asker.name)
        unanswered = False
        editors = [s for s in self.editors(workspace) if s is not asker and s.can_ask()]
        if editors:
            answered = await self._first_answer(question, editors, asker, beside)
            if beside is not None or answered.answer not in ("nobody", "timeout"):
                return answered
            unanswered = answered.answer == "timeout"
        answer = await own(question)
        # An editor was asked and did not answer. That counts as a no, while a call about which nobody can be asked may
        # continue.
        return Answered("timeout" if answer == "nobody" and unanswered else answer, asker.name if asker else "")

    def editors(self, workspace: str) -> list[Session]:
        """Returns the editors that have the workspace open; if none has, those that have a folder around it open."""
        root = os.path.realpath(workspace)
        editors = [s for s in self.attached() if s.editor is not None]
        return [s for s in editors if root in s.workspaces] or [s for s in editors if s.covers(root)]

    async def _first_answer(
        self, question: Question, editors: list[Session], asker: Session | None, beside: Beside | None
    ) -> Answered:
        closing = Closing()
        asked: dict[asyncio.Future[Answer], Session] = {
            asyncio.ensure_future(_on_its_loop(s, s.editor.ask(question, closing))): s for s in editors if s.editor
        }
        if beside is not None and asker is not None:
            asked[asyncio.ensure_future(beside(question, [s.name for s in editors], closing))] = asker
        answer: Answer = "nobody"
        try:
            waiting = set(asked)
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                # If two answers arrive together, a no counts before a yes.
                for future in sorted(done, key=lambda one: _answer_of(one) == "accept"):
                    said = _answer_of(future)
                    if said not in ("nobody", "timeout"):
                        closing.reason, closing.by = "answered", asked[future].name
                        return Answered(said, asked[future].name)
                    answer = "timeout" if said == "timeout" else answer
            return Answered(answer)
        finally:
            for future in asked:
                future.cancel()
            await asyncio.gather(*asked, return_exceptions=True)

    # ------------------------------------------------------------ announcements

    def begin(
        self, workspace: str, title: str, asker: Session | None, cancel: Callable[[str], None]
    ) -> list[WorkDisplay]:
        """Shows work in every editor of the workspace except the asker, which shows it itself.

        `cancel` is called with the name of the editor in which a person cancels the work.
        """
        displays: list[WorkDisplay] = []
        for session in self.editors(workspace):
            if session is not asker and session.editor is not None and session.loop is not None:
                displays.append(_RemoteDisplay(session.loop, session.editor, title, partial(cancel, session.name)))
        return displays

    def changed(self) -> None:
        """Notifies the editors that the answer of `activity` has changed."""
        for session in self.attached():
            if session.editor is not None and session.loop is not None:
                _call_on(session.loop, session.editor.activity_changed)

    def summary(self) -> ActivityChanged:
        """Returns the counts that `sidecar/activityChanged` sends."""
        return ActivityChanged(
            revision=self.log.revision,
            sessions=len(self.attached()),
            running=self.log.count("running", "asking"),
            asking=self.log.count("asking"),
        )


class _RemoteDisplay:
    """A display in an editor whose event loop is not the caller's."""

    def __init__(self, loop: asyncio.AbstractEventLoop, editor: Editor, title: str, cancel: Callable[[], None]) -> None:
        self._loop = loop
        self._display: WorkDisplay | None = None

        def begin() -> None:
            self._display = editor.begin(title, cancel)

        _call_on(loop, begin)

    def __call__(self, done: int, total: int, message: str) -> None:
        def report() -> None:
            if self._display is not None:
                self._display(done, total, message)

        _call_on(self._loop, report)

    def finish(self, message: str) -> None:
        def end() -> None:
            if self._display is not None:
                self._display.finish(message)

        _call_on(self._loop, end)


def _normal(paths: Iterable[str]) -> tuple[str, ...]:
    """Returns real paths without repetitions, the form in which the engine names workspaces, so that two doors name a
    folder alike."""
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths))


def shared_progress(progress: Progress, displays: list[WorkDisplay]) -> Progress:
    """Returns a `Progress` that reports to the caller and to every display."""
    if not displays:
        return progress

    def report(done: int, total: int, message: str) -> None:
        progress(done, total, message)
        for display in displays:
            display(done, total, message)

    return report


async def _on_its_loop(session: Session, work: Coroutine[Any, Any, T]) -> T:
    if session.loop is None or session.loop is asyncio.get_running_loop():
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, session.loop))


def _answer_of(future: asyncio.Future[Answer]) -> Answer:
    """Returns the answer of a finished task; `nobody` if asking failed or was cancelled."""
    if future.cancelled() or future.exception() is not None:
        return "nobody"
    return future.result()


def _call_on(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *arguments: Any) -> None:
    try:
        loop.call_soon_threadsafe(call, *arguments)
    except RuntimeError:
        return  # the loop is closed, so its client has gone
