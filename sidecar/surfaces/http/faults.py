"""The faults of a request that are found before a tool is called, and the form of every failure.

`sidecar/errors.py` has the errors in a tool's parameters and of the index.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sidecar import shown
from sidecar.tools.dialect import Dialect
from sidecar.tools.registry import not_enabled, toolset_of
from sidecar.tools.spec import Question


class RequestFault(Exception):
    """A fault of the request itself. `message` says what is wrong, `detail` what to do."""

    def __init__(
        self, status: int, code: str, message: str, detail: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        self.status = status
        self.code = code
        self.message = shown.sentence(message)
        self.detail = shown.sentence(detail)
        super().__init__(self.message)
        self.headers = dict(headers or {})

    def as_dict(self) -> dict[str, Any]:
        """Returns the body, in the form of a tool's error."""
        body = {"code": self.code, "userMessage": self.message}
        return {**body, "detail": self.detail} if self.detail else body

    def spelt_for(self, dialect: Dialect) -> dict[str, Any]:
        """Returns the body together with the fields in which the tool's family reports a failure."""
        return dialect.with_both(self.as_dict(), self.code, f"{self.message} {self.detail}".strip())


def unauthorized(where: str = "sidecar serve prints which file holds the token") -> RequestFault:
    """401: the token is missing or wrong. `where` says how to get one."""
    return RequestFault(
        401,
        "UNAUTHORIZED",
        "The token is missing or wrong.",
        f"Send Authorization: Bearer TOKEN; {where}.",
        {"WWW-Authenticate": 'Bearer realm="sidecar"'},
    )


def foreign(header: str) -> RequestFault:
    """403: the Host or Origin header does not name this server."""
    return RequestFault(
        403,
        "FOREIGN_CALLER",
        f"The {header} header does not name this server.",
        "Only programs on this machine may call it, at the address that sidecar serve prints when it starts.",
    )


def too_many() -> RequestFault:
    """503: the maximum number of connections is open."""
    return RequestFault(
        503,
        "TOO_MANY_CONNECTIONS",
        "Too many connections are open.",
        "Use one connection for several requests, or close those that are done.",
    )


def too_often(seconds: int) -> RequestFault:
    """429: the caller has used up its requests; it may try again after this many seconds."""
    return RequestFault(
        429,
        "TOO_MANY_REQUESTS",
        "Too many requests.",
        f"Ask again in {shown.count(seconds, 'second')}.",
        {"Retry-After": str(seconds)},
    )


def token_in_url() -> RequestFault:
    """400: the address contains a token, which proxies and browser histories would keep."""
    return RequestFault(
        400,
        "TOKEN_IN_URL",
        "A token must not be part of an address.",
        "Send it as Authorization: Bearer TOKEN, and replace it: addresses are logged on the way.",
    )


def no_such_path(path: str) -> RequestFault:
    """404: no route has this path, or only tools that are not enabled do."""
    said = f"There is nothing at {shown.quoted(path)}."
    toolset = toolset_of(lambda tool: path in tool.rest)
    advice = not_enabled(path, toolset) if toolset else "GET /openapi.json lists what there is."
    return RequestFault(404, "NOT_FOUND", said, advice)


def wrong_method(method: str, headers: Mapping[str, str]) -> RequestFault:
    """405: the route accepts other methods only."""
    allowed = headers.get("Allow") or headers.get("allow") or "another method"
    return RequestFault(
        405, "METHOD_NOT_ALLOWED", f"{shown.short(method)} is not allowed here.", f"Use {allowed}.", headers
    )


def too_slow(seconds: float) -> RequestFault:
    """408: the body did not arrive in time."""
    return RequestFault(
        408, "REQUEST_TIMEOUT", f"The body did not arrive within {seconds:g} seconds.", "Send it again."
    )


def too_large(limit: int) -> RequestFault:
    """413: the body is too large."""
    return RequestFault(413, "BODY_TOO_LARGE", f"The body is larger than {limit:,} bytes.", "Send less at a time.")


def not_json(content_type: str) -> RequestFault:
    """415: the body is not declared as JSON."""
    return RequestFault(
        415,
        "UNSUPPORTED_MEDIA_TYPE",
        f"The body must be application/json, not {shown.quoted(content_type) if content_type else 'untyped'}.",
        "Send Content-Type: application/json.",
    )


def no_answer_in_time(seconds: float) -> RequestFault:
    """504: a tool that only reads took too long."""
    return RequestFault(504, "TIMEOUT", f"There was no answer within {seconds:g} seconds.", "Ask for less at a time.")


def unanswered(question: Question, answer_id: str) -> RequestFault:
    """409: a person must be asked. The body holds the question and the id under which to answer it."""
    return _Unanswered(question, answer_id)


ANSWER_HEADER = "Sidecar-Answer"
"""The request header that carries a person's answer."""


class _Unanswered(RequestFault):
    def __init__(self, question: Question, answer_id: str) -> None:
        super().__init__(
            409,
            "CONFIRMATION_REQUIRED",
            question.message,
            f"Ask a person, then make the same request again with the header {ANSWER_HEADER}: {answer_id}=accept"
            f" (or =decline). Where there is nobody to ask: {ANSWER_HEADER}: nobody.",
        )
        self._question = question
        self._answer_id = answer_id

    def as_dict(self) -> dict[str, Any]:
        question = self._question
        shown = {
            "id": self._answer_id,
            "tool": question.tool,
            "message": question.message,
            "detail": question.detail,
            "accept": question.accept,
            "decline": question.decline,
            "destructive": question.destructive,
        }
        return {**super().as_dict(), "question": shown}


def json_bytes(value: object) -> bytes:
    """Returns the value as JSON in UTF-8. Invisible characters and lone surrogates stay JSON escapes."""
    return shown.as_json(value).encode()
