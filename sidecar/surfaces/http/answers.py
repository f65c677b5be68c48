"""A person's answers, brought by the caller in a header: never in the body, where a tool's parameters are.

A question that stands is shown under an id that only this process can make, so an answer counts only for a question
that was asked here and that the caller was shown.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import cast

from sidecar.errors import InvalidParams
from sidecar.surfaces.http.faults import ANSWER_HEADER, unanswered
from sidecar.tools.spec import Answer, Question

NOBODY = "nobody"
_SAID = frozenset({"accept", "decline", NOBODY})


class Answers:
    """Makes the `ask` of one request from its header."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def shown_id(self, question: Question) -> str:
        return hmac.digest(self._key, question.id.encode(), "sha256").hex()[:32]

    def given(self, header: str) -> Mapping[str, Answer]:
        """`ID=accept, ID2=decline`, or `nobody`, which is kept under the empty id. Raises `InvalidParams`."""
        answers: dict[str, Answer] = {}
        for part in filter(None, (part.strip() for part in header.split(","))):
            shown, equals, said = part.rpartition("=")
            if said not in _SAID or bool(equals) is not bool(shown) or (not shown and said != NOBODY):
                raise InvalidParams(
                    f"The header {ANSWER_HEADER} is ID=accept or ID=decline with the id of a question, or {NOBODY}."
                )
            answers[shown] = cast(Answer, said)
        return answers

    def answer(self, question: Question, given: Mapping[str, Answer]) -> Answer:
        """Raises `RequestFault` 409 with the question when it is not answered."""
        shown = self.shown_id(question)
        answer = given.get(shown) or given.get("")
        if answer is None:
            raise unanswered(question, shown)
        return answer
