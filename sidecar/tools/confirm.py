"""Calls a tool for a session and brings its question to a person. How a person is asked is the surface's `ask`.

Not here: who is attached (`sessions.py`) and what the log keeps of it (`activity.py`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sidecar.errors import Cancelled, Internal, SidecarError
from sidecar.model import IsCancelled, Progress, never_cancelled, no_progress
from sidecar.tools.activity import asked_of, outcome_of
from sidecar.tools.service import Done, Service
from sidecar.tools.sessions import Answered, Session, Sessions, shared_progress
from sidecar.tools.spec import Answer, Question, ToolSpec

ASKED_BY_EDITORS_THEMSELVES = frozenset({"get_index_status", "get_config"})


def nothing_given(question: Question) -> Answer | None:
    """The caller has brought no answer along."""
    return None


async def call_with_questions(
    service: Service,
    name: str,
    arguments: Mapping[str, object],
    *,
    workspace: str,
    ask: Callable[[Question], Awaitable[Answer]],
    given: Callable[[Question], Answer | None] = nothing_given,
    progress: Progress = no_progress,
    cancelled: IsCancelled = never_cancelled,
    asked_by: str = "",
    session: Session | None = None,
) -> dict[str, object]:
    """The tool's result. Raises `SidecarError` only, and what `ask` raises.

    `session`: whom the call comes from; its registry knows which editors are asked and shown the work. `ask` asks the
    caller itself and returns `nobody` where it cannot; `given` is the answer that a call brings along which was asked
    before. `asked_by`: the name for a person to read, where it is not the session's.
    """
    caller = session or Sessions(0).attach("shell", asked_by)
    tool = service.tool(name)
    with _noted(caller, tool, arguments, workspace, asked_by or caller.name) as note:
        title = f"sidecar: {tool.title.lower()} (for {note.agent or 'a caller'})"
        jobs = [] if tool.read_only else caller.home.begin(workspace, title, caller, note.stop)
        try:
            answers: dict[str, Answer] = {}
            while True:
                outcome = await service.acall(
                    name,
                    arguments,
                    workspace=workspace,
                    answers=answers,
                    progress=shared_progress(progress, jobs),
                    cancelled=lambda: note.stopped() or cancelled(),
                    asked_by=note.agent,
                )
                if isinstance(outcome, Done):
                    note.got(outcome.value)
                    return outcome.value
                _not_twice(outcome, answers)
                answers[outcome.id] = await note.answer(outcome, workspace, given, ask)
        finally:
            for job in jobs:
                job.finish(note.state)


def call_with_questions_sync(
    service: Service,
    name: str,
    arguments: Mapping[str, object],
    *,
    workspace: str,
    ask: Callable[[Question], Answer],
    progress: Progress = no_progress,
    cancelled: IsCancelled = never_cancelled,
    asked_by: str = "",
) -> dict[str, object]:
    """As `call_with_questions`, in the calling thread, for a process with no other door than this one."""
    answers: dict[str, Answer] = {}
    while True:
        outcome = service.call(
            name,
            arguments,
            workspace=workspace,
            answers=answers,
            progress=progress,
            cancelled=cancelled,
            asked_by=asked_by,
        )
        if isinstance(outcome, Done):
            return outcome.value
        _not_twice(outcome, answers)
        answers[outcome.id] = ask(outcome)


def _not_twice(question: Question, answers: Mapping[str, Answer]) -> None:
    if question.id in answers:
        raise Internal(f"{question.tool} asked the same question twice.")


@dataclass
class _Note:
    """One call in the log, and what ends it from elsewhere."""

    caller: Session
    agent: str
    entry: int
    state: str = "failed"
    stopped_in: str = ""
    ended: bool = False

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._started = time.monotonic()

    def stop(self, where: str) -> None:
        """A person wants the work to end, in the client of this name."""
        self.stopped_in = where
        self._stop.set()

    def stopped(self) -> bool:
        return self._stop.is_set()

    def got(self, value: Mapping[str, object]) -> None:
        facts = outcome_of(value)
        self.end(**facts)

    def end(self, **facts: object) -> None:
        if not self.ended:
            self.ended = True
            self.state = str(facts["state"])
            took = (time.monotonic() - self._started) * 1000
            self.caller.home.log.update(self.entry, took_ms=took, **facts)

    async def answer(
        self,
        question: Question,
        workspace: str,
        given: Callable[[Question], Answer | None],
        ask: Callable[[Question], Awaitable[Answer]],
    ) -> Answer:
        brought = given(question)
        if brought is not None:
            answered = Answered(brought, self.caller.name)
        else:
            self.caller.home.log.update(self.entry, state="asking")
            answered = await self.caller.home.ask(question, workspace, self.caller, ask)
        somebody = answered.answer in ("accept", "decline", "cancel")
        self.caller.home.log.update(self.entry, state="running", answered_by=answered.by if somebody else "")
        return answered.answer


@contextmanager
def _noted(
    caller: Session, tool: ToolSpec, arguments: Mapping[str, object], workspace: str, agent: str
) -> Iterator[_Note]:
    """Logs the call, its end, and an end by any exception."""
    caller.calls += 1
    entry = 0
    if caller.door != "lsp" or tool.name not in ASKED_BY_EDITORS_THEMSELVES:
        entry = caller.home.log.begin(caller.id, agent, caller.door, tool.name, workspace, asked_of(arguments))
    note = _Note(caller, agent, entry)
    try:
        yield note
    except Cancelled as error:
        note.end(state="cancelled", message=f"Cancelled in {note.stopped_in}." if note.stopped_in else error.message)
        if note.stopped_in:
            raise Cancelled(f"A person has cancelled it in {note.stopped_in}.") from None
        raise
    except SidecarError as error:
        note.end(state="failed", message=f"{error.code}: {error.message}")
        raise
    except asyncio.CancelledError:
        note.end(state="cancelled", message="The caller has given up.")
        raise
    except BaseException:
        # A surface whose protocol cannot ask in mid-call hands the question over and is called again.
        note.end(state="refused", message="The question was handed to the caller, who may call again with an answer.")
        raise
