"""Brings a tool's question to the person at the editor, by `window/showMessageRequest`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from sidecar.tools.spec import Answer, Question

QUESTION_TIMEOUT_S = 120.0
WARNING, INFO = 2, 3


class Asked(Protocol):
    """What asking needs of the connection."""

    def ask_client(self, method: str, params: Any) -> tuple[str, asyncio.Future[Any]]: ...

    def withdraw(self, request_id: str) -> None: ...


class Asker:
    """Asks one person. No answer in time, a closed box and an unknown title all mean no."""

    def __init__(self, wire: Asked, can_ask: Callable[[], bool], timeout_s: float = QUESTION_TIMEOUT_S) -> None:
        self._wire = wire
        self._can_ask = can_ask
        self._timeout_s = timeout_s

    async def ask(self, question: Question) -> Answer:
        if not self._can_ask():
            return "nobody"
        request_id, future = self._wire.ask_client("window/showMessageRequest", _params(question))
        # The future is never cancelled: pygls breaks on the answer to a cancelled one, and late answers do come.
        future.add_done_callback(_retrieved)
        try:
            done, _ = await asyncio.wait({future}, timeout=self._timeout_s)
        except asyncio.CancelledError:
            self._wire.withdraw(request_id)
            raise
        if not done:
            self._wire.withdraw(request_id)
            return "timeout"
        if future.cancelled() or future.exception() is not None:
            return "nobody"
        return _answer(question, future.result())


def _params(question: Question) -> dict[str, Any]:
    return {
        "type": WARNING if question.destructive else INFO,
        "message": "\n".join(part for part in (question.message, question.detail) if part),
        "actions": [{"title": question.accept}, {"title": question.decline}],
    }


def _answer(question: Question, chosen: Any) -> Answer:
    title = chosen.get("title") if isinstance(chosen, dict) else None
    if title == question.accept:
        return "accept"
    return "decline" if title == question.decline else "cancel"


def _retrieved(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
