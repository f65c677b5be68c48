"""pygls' JSON-RPC with what it lacks: an answer to every request, untyped parameters, and errors without a traceback.

Differences from pygls 2.1 (docs/lsp.md says what a client sees of them): incoming parameters stay plain JSON, because
lsprotocol refuses what a newer client may send, and pygls renames keys that are not identifiers. Malformed messages,
requests before `initialize` and requests after `shutdown` are answered with an error. A late or unknown answer of the
client is ignored. `channel.py` and `frames.py` handle the bytes, `methods.py` the methods.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeAlias, cast

import cattrs
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcException
from pygls.protocol.json_rpc import (
    JsonRPCNotification,
    JsonRPCProtocol,
    JsonRPCRequestMessage,
)

from sidecar import shown
from sidecar.errors import Internal, SidecarError
from sidecar.logs import client_log, log_failure
from sidecar.surfaces.lsp import faults
from sidecar.surfaces.lsp.envelope import brief, defect, usable_id
from sidecar.surfaces.lsp.frames import Message, Refused, encode

Method: TypeAlias = Callable[[Any], Any]
"""Takes the raw `params`; a coroutine function if it has to wait. Raises `SidecarError`."""


@functools.cache
def converter() -> cattrs.Converter:
    """Returns the converter for outgoing messages, which spells lsprotocol's names as the standard does.

    It is made once, because making it is slow.
    """
    made: cattrs.Converter = get_converter()
    return made


class SidecarProtocol(JsonRPCProtocol):
    """One client's session. Everything runs on the event loop; `send` puts whole frames into the writer's queue."""

    def __init__(self, server: Any, converter: Any) -> None:
        super().__init__(server, converter)
        self._log = client_log("sidecar.lsp", self)
        self._numbers = itertools.count(1)
        self.send: Callable[[bytes], None] = _dropped
        self.find_request: Callable[[str], Method | None] = _none
        self.notifications: Mapping[str, Method] = {}
        self.initialized = False
        self.shut_down = False

    # ------------------------------------------------------------ what comes in

    def receive(self, event: Message | Refused) -> None:
        """Handles one message of the client; never raises."""
        if isinstance(event, Refused):
            self._refuse(None, event.code, event.reason)
            return
        reason = defect(event.value)
        if reason:
            self._refuse(usable_id(event.value), faults.INVALID_REQUEST, reason)
        elif "method" not in event.value:
            self._answered(event.value)
        elif "id" in event.value:
            self._requested(event.value)
        else:
            self._notified(event.value)

    def running(self) -> list[asyncio.Task[Any]]:
        """Returns the requests in flight, except the one that calls this."""
        tasks = [cast("asyncio.Task[Any]", found) for found in self._request_futures.values() if _is_task(found)]
        return [task for task in tasks if task is not asyncio.current_task() and not task.done()]

    def _requested(self, message: dict[str, Any]) -> None:
        request_id, method = message["id"], message["method"]
        if self.shut_down:
            self._refuse(request_id, faults.INVALID_REQUEST, "The server has shut down; it accepts only exit.")
        elif method == types.INITIALIZE and self.initialized:
            self._refuse(request_id, faults.INVALID_REQUEST, "The server is initialized already.")
        elif method != types.INITIALIZE and not self.initialized:
            self._refuse(request_id, faults.NOT_INITIALIZED, "Send initialize first.")
        elif method in self.notifications:
            self._refuse(
                request_id, faults.METHOD_NOT_FOUND, f"{shown.quoted(method)} is a notification: send it without an id."
            )
        elif request_id in self._request_futures:
            self._refuse(request_id, faults.INVALID_REQUEST, "A request with this id is still running.")
        else:
            self.handle_message(JsonRPCRequestMessage(request_id, method, self.VERSION, message.get("params")))

    def _notified(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params")
        if method == types.CANCEL_REQUEST:
            self._cancel(usable_id(params))
        elif method not in self.notifications:
            return  # notifications for other servers, and optional ones (`$/`), are ignored
        elif method == types.EXIT or (self.initialized and not self.shut_down):
            self.handle_message(JsonRPCNotification(method, self.VERSION, params))

    def _answered(self, message: dict[str, Any]) -> None:
        """Handles the client's answer to a request of the server; the result stays plain JSON."""
        future = self._request_futures.get(message["id"]) if usable_id(message) is not None else None
        if not isinstance(future, Future) or future.done():
            return  # withdrawn, answered already, or unknown
        del self._request_futures[message["id"]]
        if "error" in message:
            future.set_exception(_client_error(message["error"]))
        else:
            future.set_result(message["result"])

    def _cancel(self, request_id: str | int | None) -> None:
        future = self._request_futures.get(request_id) if request_id is not None else None
        if future is not None and _is_task(future):
            future.cancel()

    def _get_handler(self, feature_name: str) -> Method:
        found = self.notifications.get(feature_name) or self.find_request(feature_name)
        if found is None:
            raise JsonRpcException(
                message=f"There is no method {shown.quoted(feature_name)}.", code=faults.METHOD_NOT_FOUND
            )
        return found

    def _check_handler_result(self, future: Future[Any]) -> None:
        """Logs the error of a notification's handler, because nobody gets an answer to a notification."""
        if not future.cancelled() and (error := future.exception()) is not None:
            self._log.warning("a notification is ignored: %s", brief(error))

    # ------------------------------------------------------------ what goes out

    def ask_client(self, method: str, params: Any) -> tuple[str, asyncio.Future[Any]]:
        """Sends a request to the client, and returns its id (for `withdraw`) and a future of the running loop, which is
        cancelled if the client has left."""
        request_id = f"sidecar-{next(self._numbers)}"
        future: Future[Any] = Future()
        if self.shut_down:
            future.cancel()
        else:
            self._request_futures[request_id] = future
            self._send_data(JsonRPCRequestMessage(request_id, method, self.VERSION, params))
        return request_id, asyncio.wrap_future(future)

    def leave(self) -> None:
        """Refuses further requests of the client, and cancels those to it that it has not answered: nobody reads its
        answers any more."""
        self.shut_down = True
        for future in [found for found in self._request_futures.values() if not _is_task(found)]:
            future.cancel()

    def request(self, method: str, params: Any) -> asyncio.Future[Any]:
        """Sends a request to the client, and returns a future of the running loop."""
        return self.ask_client(method, params)[1]

    def withdraw(self, request_id: str) -> None:
        """Tells the client that an answer is no longer needed. An answer that still arrives is ignored."""
        self._request_futures.pop(request_id, None)
        self.notify(types.CANCEL_REQUEST, {"id": request_id})

    def _refuse(self, request_id: Any, code: int, reason: str) -> None:
        self._fail(request_id, JsonRpcException(message=reason, code=code))

    def _fail(self, request_id: Any, error: JsonRpcException) -> None:
        """Sends an error as a plain dict.

        lsprotocol would leave out a null `id`, which JSON-RPC demands if the request's id is unknown.
        """
        body: dict[str, Any] = {"code": error.code, "message": shown.sentence(error.message)}
        if error.data is not None:
            body["data"] = error.data
        self._send_data({"jsonrpc": self.VERSION, "id": request_id, "error": body})

    def _send_handler_result(self, future: Future[Any], *, msg_id: Any) -> None:
        self._request_futures.pop(msg_id, None)
        try:
            if future.cancelled():
                raise faults.cancelled()
            self._send_response(msg_id, result=future.result())
        except JsonRpcException as error:
            self._fail(msg_id, error)
        except SidecarError as error:
            self._fail(msg_id, faults.fault(error))
        except Exception as error:
            where = log_failure(self._log, "a request failed")
            self._fail(msg_id, faults.fault(Internal(f"{type(error).__name__}. {where}")))

    def _send_data(self, data: Any) -> None:
        try:
            text = json.dumps(data, default=self._serialize_message, allow_nan=False)
        except (TypeError, ValueError, AttributeError):
            self._log.exception("a message could not be written as JSON")
            request_id = usable_id({"id": getattr(data, "id", None)})
            if request_id is not None and getattr(data, "method", None) is None:
                self._refuse(request_id, faults.INTERNAL, Internal.user_message)
            return
        self.send(encode(text))


def _is_task(future: object) -> bool:
    """Whether this is a request of the client: pygls keeps its task in the same table as the futures of the server's
    own requests."""
    return isinstance(future, asyncio.Task)


def _dropped(frame: bytes) -> None:
    """Drops a frame. Stands for `send` until the session has a stream."""


def _none(method: str) -> None:
    """Finds nothing. Stands for `find_request` until the session is set up."""


def _client_error(error: Any) -> JsonRpcException:
    body = error if isinstance(error, dict) else {}
    code = body.get("code")
    return JsonRpcException(message=str(body.get("message", error)), code=code if isinstance(code, int) else None)
