"""Asks the person behind an MCP client a tool's question by elicitation, in both forms of the protocol.

In protocols with a handshake, the server asks in the middle of the call (`elicitation/create`). From 2026-07-28 on it
may not: the call returns an input-required result, and the client makes the call again with the answer (`Round`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
)
from pydantic import ValidationError

from sidecar.logs import client_log
from sidecar.tools.spec import Answer, Question

ANSWER_TIMEOUT_SECONDS = 300.0
CONFIRM = "confirm"
ROOTS = "roots"


def can_ask(ctx: ServerRequestContext[Any]) -> bool:
    """Whether the client can show a form: a bare `elicitation: {}` means yes, one with only `url` means no."""
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def form(question: Question) -> ElicitRequestFormParams:
    """Returns a form with one yes-or-no field whose default is no.

    Clients show its title and description below the message.
    """
    field_schema = {"type": "boolean", "title": question.accept, "description": question.detail, "default": False}
    return ElicitRequestFormParams(
        message=f"{question.message} {question.detail}".strip(),
        requested_schema={"type": "object", "properties": {CONFIRM: field_schema}, "required": [CONFIRM]},
    )


def answer_of(result: ElicitResult) -> Answer:
    """Returns the answer in a result. Only an accepted form whose field is true means yes."""
    if result.action == "accept":
        return "accept" if (result.content or {}).get(CONFIRM) is True else "decline"
    return result.action


class MidCallAsker:
    """Asks a client with a handshake while the call waits. An error or silence never counts as yes."""

    def __init__(self, ctx: ServerRequestContext[Any], timeout_seconds: float) -> None:
        self._ctx = ctx
        self._timeout_seconds = timeout_seconds

    def given(self, question: Question) -> Answer | None:
        """Returns None: no answer can come before the call."""
        return None

    async def __call__(self, question: Question) -> Answer:
        """Asks the question and returns the answer."""
        if not can_ask(self._ctx):
            return "nobody"
        wanted = form(question)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                result = await self._ctx.session.elicit_form(
                    wanted.message, wanted.requested_schema, self._ctx.request_id
                )
        except TimeoutError:
            return "timeout"
        except (MCPError, ValidationError) as error:
            client_log("sidecar.mcp", self._ctx.session).warning("the client failed to ask: %s", error)
            return "cancel"
        return answer_of(result)


class InputNeededError(Exception):
    """The call cannot continue in this round. `result` is sent to the client instead of the tool's result."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("more input is needed")
        self.result = result


@dataclass
class Round:
    """One round of a 2026-07-28 call: the state that earlier rounds established, and the client's present responses.

    The state travels through the client, sealed by the SDK's boundary and bound to this tool and these arguments. An
    answer counts only for a question that was asked according to the state.
    """

    ctx: ServerRequestContext[Any]
    responses: Mapping[str, Any]
    workspace: str | None = None
    asked: tuple[str, ...] = ()
    answers: dict[str, Answer] = field(default_factory=dict)

    @classmethod
    def of(cls, ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> Round:
        """Returns the round that these parameters of a call describe."""
        state = json.loads(params.request_state) if params.request_state else {}
        return cls(ctx, params.input_responses or {}, state.get("workspace"), tuple(state.get("asked", ())))

    def given(self, question: Question) -> Answer | None:
        """Returns the client's answer to a question that it was asked in an earlier round, otherwise None."""
        response = self.responses.get(question.id) if question.id in self.asked else None
        return answer_of(response) if isinstance(response, ElicitResult) else None

    async def __call__(self, question: Question) -> Answer:
        """The `ask` of `call_with_questions`.

        Returns `nobody` if the client cannot show a form. Otherwise raises InputNeededError, so that the next round
        brings the answer.
        """
        if not can_ask(self.ctx):
            return "nobody"
        raise self._needs(question.id, ElicitRequest(params=form(question)))

    def root_uris(self) -> list[str]:
        """Returns the client's roots. Raises InputNeededError to ask for them in the next round."""
        response = self.responses.get(ROOTS) if ROOTS in self.asked else None
        if isinstance(response, ListRootsResult):
            return [str(root.uri) for root in response.roots]
        raise self._needs(ROOTS, ListRootsRequest())

    def _needs(self, key: str, request: InputRequest) -> InputNeededError:
        state = json.dumps({"workspace": self.workspace, "asked": [key]})
        return InputNeededError(InputRequiredResult(input_requests={key: request}, request_state=state))
