"""Calls a tool and brings its question to a person. How a person is asked is the surface's `ask`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from sidecar.errors import Internal
from sidecar.model import IsCancelled, Progress, never_cancelled, no_progress
from sidecar.tools.service import Done, Service
from sidecar.tools.spec import Answer, Question


async def call_with_questions(
    service: Service,
    name: str,
    arguments: Mapping[str, object],
    *,
    workspace: str,
    ask: Callable[[Question], Awaitable[Answer]],
    progress: Progress = no_progress,
    cancelled: IsCancelled = never_cancelled,
    asked_by: str = "",
) -> dict[str, object]:
    """The tool's result; `ask` returns `nobody` where nobody can be asked. Raises `SidecarError` only."""
    answers: dict[str, Answer] = {}
    while True:
        outcome = await service.acall(
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
        answers[outcome.id] = await ask(outcome)


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
    """As `call_with_questions`, in the calling thread."""
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
