"""Asks the person at the editor a tool's question, by `window/showMessageRequest`.

Some clients must answer a request of the server at once, and would have to hold the keyboard until the person has
chosen. They answer `{"later": true}`, and send what was chosen as `sidecar/answer`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from sidecar.tools.activity import QuestionClosed
from sidecar.tools.dialect import CODE_SEARCH
from sidecar.tools.sessions import Closing
from sidecar.tools.spec import Answer, Question

WARNING, INFO = 2, 3


class Asked(Protocol):
    """The part of the connection that asking needs."""

    def ask_client(self, method: str, params: Any) -> tuple[str, asyncio.Future[Any]]:
        """Sends a request, and returns its id and a future for the result."""

    def withdraw(self, request_id: str) -> None:
        """Tells the client that an answer is no longer needed."""

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification."""


class Confirmer:
    """Asks the person at one editor. No answer in time, a closed box and an unknown button all count as no."""

    def __init__(self, wire: Asked, can_ask: Callable[[], bool], timeout_s: Callable[[], float]) -> None:
        self._wire = wire
        self._can_ask = can_ask
        self._timeout_s = timeout_s
        self._gone = asyncio.Event()
        self._later: dict[str, asyncio.Future[Any]] = {}
        """What will be chosen, by the id of the question."""

    def can_ask(self) -> bool:
        """Whether the client is connected and can show a question."""
        return self._can_ask() and not self.left

    @property
    def left(self) -> bool:
        """Whether the client has disconnected."""
        return self._gone.is_set()

    def leave(self) -> None:
        """Marks the client as gone: its open questions are answered with `nobody`."""
        self._gone.set()

    def answer(self, question: object, chosen: object) -> bool:
        """Takes the answer to a question that the client put off. `question` is its id, `chosen` an action or None.

        Returns False if no such question is open: it has been answered, it timed out, or another process asked it.
        """
        later = self._later.get(question) if isinstance(question, str) else None
        if later is None or later.done():
            return False
        later.set_result(chosen)
        return True

    async def ask(self, question: Question, closing: Closing | None = None, own: str = "") -> Answer:
        """Asks the question and returns the answer.

        If the task is cancelled, the box in the editor is closed, with the reason that `closing` gives. `own` is the
        folder if the question belongs to this client's own call; the client recognises its own question by this field,
        because the sentence contains names that others chose.
        """
        if not self.can_ask():
            return "nobody"
        timeout_s = self._timeout_s()
        number = uuid.uuid4().hex
        params = _params(question, number, own, timeout_s)
        request_id, future = self._wire.ask_client("window/showMessageRequest", params)
        closed = partial(QuestionClosed, request=request_id, question=number, message=params["message"])
        chosen = asyncio.ensure_future(self._chosen(number, future))
        leaving = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait({chosen, leaving}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if chosen.done():
                return "nobody" if chosen.cancelled() or chosen.exception() else _answer(question, chosen.result())
        except asyncio.CancelledError:
            why = closing or Closing()
            self._close(closed(reason=why.reason, answered_by=why.by or None))
            raise
        finally:
            leaving.cancel()
            chosen.cancel()
        if self.left:
            return "nobody"
        self._close(closed(reason="timeout"))
        return "timeout"

    async def _chosen(self, question: str, future: asyncio.Future[Any]) -> object:
        """Returns what the person has chosen, when the client answers or later."""
        # The request's own future is never cancelled: pygls fails on the answer to a cancelled request, and late
        # answers do come.
        future.add_done_callback(_retrieved)
        later = self._later[question] = asyncio.get_running_loop().create_future()
        try:
            said = await asyncio.shield(future)
            return await later if isinstance(said, dict) and said.get("later") is True else said
        finally:
            del self._later[question]

    def _close(self, closed: QuestionClosed) -> None:
        self._wire.withdraw(closed.request)
        self._wire.notify("sidecar/questionClosed", CODE_SEARCH.shape(closed))


def _params(question: Question, number: str, own: str, timeout_s: float) -> dict[str, Any]:
    sentence = question.title if own else question.message
    return {
        "type": WARNING if question.destructive else INFO,
        "message": "\n".join(part for part in (sentence, question.detail) if part),
        "actions": [{"title": question.accept}, {"title": question.decline}],
        "question": {
            "id": number,
            "title": question.title,
            "asker": question.asker,
            "detail": question.detail,
            "accept": question.accept,
            "decline": question.decline,
            "seconds": timeout_s,
        },
        **({"own": own} if own else {}),
    }


def _answer(question: Question, chosen: Any) -> Answer:
    title = chosen.get("title") if isinstance(chosen, dict) else None
    if title == question.accept:
        return "accept"
    return "decline" if title == question.decline else "cancel"


def _retrieved(future: asyncio.Future[Any]) -> None:
    """Retrieves the future's exception, so that asyncio does not log it as never retrieved."""
    if not future.cancelled():
        future.exception()
