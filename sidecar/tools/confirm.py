"""Calls a tool for a session and brings its question to a person. How a person is asked is the surface's `ask`.

Not here: who is attached (`sessions.py`) and what the log keeps of it (`activity.py`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager

from sidecar import shown
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
    note = _CallRecord(caller, shown.short(asked_by) or caller.name)
    title = f"sidecar: {tool.title.lower()} (for {shown.quoted(note.agent) if note.agent else 'a caller'})"
    jobs = [] if tool.read_only else caller.home.begin(workspace, title, caller, note.stop)
    try:
        with note.taking(tool, arguments, workspace):
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
                    note.end(**outcome_of(outcome.value))
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


class _CallRecord:
    """One call in the log, and what ends it from elsewhere."""

    def __init__(self, caller: Session, agent: str) -> None:
        self.agent = agent
        self.state = ""
        self._caller = caller
        self._log = caller.home.log
        self._entry = 0
        self._stop = threading.Event()
        self._stopped_in = ""

    def stop(self, where: str) -> None:
        """A person wants the work to end, in the client of this name."""
        self._stopped_in = where
        self._stop.set()

    def stopped(self) -> bool:
        return self._stop.is_set()

    @contextmanager
    def taking(self, tool: ToolSpec, arguments: Mapping[str, object], workspace: str) -> Iterator[None]:
        """Logs the call, and its end by any exception."""
        self._caller.calls += 1
        self._started = time.monotonic()
        if self._caller.door != "lsp" or tool.name not in ASKED_BY_EDITORS_THEMSELVES:
            asked = asked_of(arguments)
            self._entry = self._log.begin(self._caller.id, self.agent, self._caller.door, tool.name, workspace, asked)
        try:
            yield
        except Cancelled as error:
            if not self._stopped_in:
                self.end(state="cancelled", message=error.message)
                raise
            self.end(state="cancelled", message=f"Cancelled in {shown.quoted(self._stopped_in)}.")
            raise Cancelled(f"A person has cancelled it in {shown.quoted(self._stopped_in)}.") from None
        except SidecarError as error:
            self.end(state="failed", message=f"{error.code}: {error.message}")
            raise
        except asyncio.CancelledError:
            self.end(state="cancelled", message="The caller has given up.")
            raise
        except BaseException:
            # A surface whose protocol cannot ask in mid-call hands the question over and is called again.
            self.end(state="refused", message="The question went to the caller, who may call again with an answer.")
            raise

    def end(self, **facts: object) -> None:
        """Fields of the log's entry, `state` among them."""
        self.state = str(facts["state"])
        self._log.update(self._entry, took_ms=(time.monotonic() - self._started) * 1000, **facts)

    async def answer(
        self,
        question: Question,
        workspace: str,
        given: Callable[[Question], Answer | None],
        ask: Callable[[Question], Awaitable[Answer]],
    ) -> Answer:
        """A person's answer, from wherever it comes."""
        brought = given(question)
        if brought is not None:
            answered = Answered(brought, self._caller.name)
        else:
            self._log.update(self._entry, state="asking")
            answered = await self._caller.home.ask(question, workspace, self._caller, ask)
        somebody = answered.answer in ("accept", "decline", "cancel")
        self._log.update(self._entry, state="running", answered_by=answered.by if somebody else "")
        return answered.answer
