"""Runs a tool for a session and puts its questions to a person. The surface's `ask` asks the surface's own client.

`sessions.py` keeps the attached clients; `activity.py` says what the log records of a call.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from sidecar import shown
from sidecar.errors import Cancelled, Internal, SidecarError
from sidecar.model.terms import IsCancelled, Progress, never_cancelled, no_progress
from sidecar.tools.activity import asked_of, outcome_of
from sidecar.tools.service import Done, Service
from sidecar.tools.sessions import Answered, Beside, Session, Sessions, Work, shared_progress
from sidecar.tools.spec import Answer, Question, ToolSpec
from sidecar.tools.word import PERSON, Caller

_LOOK_S = 0.05
"""Interval between checks whether a call that waits for an answer has been cancelled."""
ASKED_BY_EDITORS_THEMSELVES = frozenset({"get_index_status", "get_config", "find_snapshot"})


def nothing_given(question: Question) -> Answer | None:
    """Returns None: the call carries no answer."""
    return None


async def call_with_questions(
    service: Service,
    name: str | ToolSpec,
    arguments: Mapping[str, object],
    *,
    workspace: str,
    ask: Callable[[Question], Awaitable[Answer]],
    by: Caller = PERSON,
    given: Callable[[Question], Answer | None] = nothing_given,
    beside: Beside | None = None,
    progress: Progress = no_progress,
    cancelled: IsCancelled = never_cancelled,
    asked_by: str = "",
    session: Session | None = None,
) -> Done:
    """Runs a tool, asks its questions and returns the tool's result.

    Raises only `SidecarError` and what `ask` raises. `session` is the caller's; its `Sessions` decides which editors
    are asked and which are shown the progress. `ask` asks the caller itself and returns `nobody` if it cannot. `by`:
    the kind of caller, which decides whose setting `confirm` counts. `beside` asks the caller while editors are asked
    too. `given` returns the answer that a repeated call carries, or None. `asked_by`: the caller's name as shown to a
    person, if it differs from the session's name.
    """
    caller = session or Sessions(lambda: 0).attach("shell", asked_by)
    tool = service.tool(name)
    note = _CallRecord(caller, shown.short(asked_by) or caller.name)
    title = f"sidecar: {tool.title.lower()} (for {shown.named(note.agent) if note.agent else 'a caller'})"
    displays = [] if tool.read_only else caller.home.begin(workspace, title, caller, note.stop)
    try:
        with note.taking(tool, arguments, workspace):
            answers: dict[str, Answer] = {}
            while True:
                outcome = await service.acall(
                    name,
                    arguments,
                    workspace=workspace,
                    answers=answers,
                    progress=shared_progress(progress, displays),
                    cancelled=lambda: note.stopped() or cancelled(),
                    asked_by=note.agent,
                    door=caller.door,
                    by=by,
                    at_least=caller.home.word(workspace, caller) if tool.question else "never",
                )
                if isinstance(outcome, Done):
                    note.end(**outcome_of(outcome.result, outcome.declined))
                    return outcome
                _not_twice(outcome, answers)
                asking = note.answer(outcome, workspace, given, ask, beside)
                answers[outcome.id] = await _unless(lambda: note.stopped() or cancelled(), asking)
    except Cancelled:
        if note.stopped() and not tool.read_only:
            service.stays_cancelled(workspace)
        raise
    finally:
        for display in displays:
            display.finish(note.state)


def call_with_questions_sync(
    service: Service,
    name: str | ToolSpec,
    arguments: Mapping[str, object],
    *,
    workspace: str,
    ask: Callable[[Question], Answer],
    by: Caller = PERSON,
    progress: Progress = no_progress,
    cancelled: IsCancelled = never_cancelled,
    asked_by: str = "",
) -> Done:
    """Like `call_with_questions`, in the calling thread, for a process that has only one door and keeps no activity
    log."""
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
            door="shell",
            by=by,
        )
        if isinstance(outcome, Done):
            return outcome
        _not_twice(outcome, answers)
        answers[outcome.id] = ask(outcome)


async def _unless(cancelled: IsCancelled, asking: Coroutine[Any, Any, Answer]) -> Answer:
    """Returns the answer. If the call is cancelled first, withdraws the question and raises `Cancelled`."""
    task = asyncio.ensure_future(asking)
    try:
        while not (await asyncio.wait({task}, timeout=_LOOK_S))[0]:
            if cancelled():
                raise Cancelled("The question is withdrawn, and nothing has changed.")
        return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _not_twice(question: Question, answers: Mapping[str, Answer]) -> None:
    if question.id in answers:
        raise Internal(f"{question.tool} asked the same question twice.")


class _CallRecord:
    """One call's entry in the activity log, and the flag that lets a person in another client cancel it."""

    def __init__(self, caller: Session, agent: str) -> None:
        self.agent = agent
        self.state = ""
        self._caller = caller
        self._log = caller.home.log
        self._entry = 0
        self._stop = threading.Event()
        self._stopped_in = ""
        self._work: Work | None = None

    def stop(self, where: str) -> None:
        """Cancels the call. `where` is the name of the client in which a person cancelled it."""
        self._stopped_in = where
        self._stop.set()

    def stopped(self) -> bool:
        """Whether a person has cancelled the call in another client."""
        return self._stop.is_set()

    @contextmanager
    def taking(self, tool: ToolSpec, arguments: Mapping[str, object], workspace: str) -> Iterator[None]:
        """Records the call when it begins, and its end when it raises."""
        self._caller.calls += 1
        self._started = time.monotonic()
        if self._caller.door != "lsp" or tool.name not in ASKED_BY_EDITORS_THEMSELVES:
            asked = asked_of(arguments)
            self._entry = self._log.begin(self._caller.id, self.agent, self._caller.door, tool.name, workspace, asked)
        try:
            with self._working(tool, workspace) as self._work:
                yield
        except Cancelled as error:
            if not self._stopped_in:
                self.end(state="cancelled", message=error.message)
                raise
            self.end(state="cancelled", message=f"Cancelled in {shown.quoted(self._stopped_in)}.")
            raise Cancelled(f"A person cancelled it in {shown.quoted(self._stopped_in)}.") from None
        except SidecarError as error:
            self.end(state="failed", message=f"{error.code}: {error.message}")
            raise
        except asyncio.CancelledError:
            self.end(state="cancelled", message="The caller cancelled the call.")
            raise
        except BaseException:
            # A surface whose protocol cannot ask during a call sends the question to its client by an exception; the
            # client calls again.
            self.end(state="refused", message="The question went to the caller, who may call again with an answer.")
            raise

    def _working(self, tool: ToolSpec, workspace: str) -> AbstractContextManager[Work | None]:
        """Only the work of a window outlasts it: whoever has it open next would find the index half made."""
        if tool.read_only or self._caller.editor is None:
            return nullcontext()
        return self._caller.home.working(self._caller, workspace)

    def _asks(self, asking: bool) -> None:
        if self._work is not None:
            self._work.asking = asking

    def end(self, **facts: object) -> None:
        """Updates the log entry with these fields (`state` is required) and the time the call took."""
        self.state = str(facts["state"])
        self._log.update(self._entry, took_ms=(time.monotonic() - self._started) * 1000, **facts)

    async def answer(
        self,
        question: Question,
        workspace: str,
        given: Callable[[Question], Answer | None],
        ask: Callable[[Question], Awaitable[Answer]],
        beside: Beside | None,
    ) -> Answer:
        """Returns a person's answer: the one that the call carries, otherwise one obtained by asking."""
        brought = given(question)
        if brought is not None:
            answered = Answered(brought, self._caller.name)
        else:
            self._log.update(self._entry, state="asking")
            self._asks(True)
            if self._caller.editor is not None and self._caller not in self._caller.home.attached():
                raise Cancelled("Its client left before it was asked.")
            answered = await self._caller.home.ask(question, workspace, self._caller, ask, beside)
            self._asks(False)
        somebody = answered.answer in ("accept", "decline", "cancel")
        self._log.update(self._entry, state="running", answered_by=answered.by if somebody else "")
        return answered.answer
