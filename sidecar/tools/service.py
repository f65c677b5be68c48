"""The one place where tools are called (look up, validate, ask, run, shape) and where calls leave the event loop.

What each tool does is in the file of its family; who is asked and how is the surface's business, through `confirm.py`.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, TypeVar

from sidecar import shown
from sidecar.errors import Internal, SidecarError, UnknownTool
from sidecar.locks import Rank, make_lock
from sidecar.logs import workspace_log
from sidecar.model import IsCancelled, Progress, Workspace, never_cancelled, no_progress
from sidecar.settings.values import DEFAULTS
from sidecar.tools.context import Context, Workspaces
from sidecar.tools.dialect import CODE_SEARCH
from sidecar.tools.index_results import UpdateResult
from sidecar.tools.registry import DEFAULT_TOOLS, TOOLSETS
from sidecar.tools.result import Result
from sidecar.tools.spec import Answer, Params, Question, ToolSpec
from sidecar.tools.validate import validate

Confirm: TypeAlias = Literal["auto", "always", "never"]
T = TypeVar("T")

READERS = 4
QUESTION_SECONDS = float(DEFAULTS["questionSeconds"])


@dataclass(frozen=True, slots=True)
class Done:
    """A tool's result. `value`: its fields, JSON-ready and in the shape of its dialect.

    `declined`: a person or a rule said no, and the tool has not run.
    """

    value: dict[str, object]
    result: Result
    declined: bool = False


@dataclass(frozen=True, slots=True)
class _Call:
    """A call as it came in, before anything is checked."""

    name: str
    arguments: Mapping[str, object]
    workspace: str
    answers: Mapping[str, Answer]
    progress: Progress
    cancelled: IsCancelled
    asked_by: str


@dataclass(frozen=True, slots=True)
class _Gated:
    """A call that has passed validation and its question. It is run, or declined if `declined_by` is set."""

    tool: ToolSpec
    meant: ToolSpec
    context: Context
    params: Params
    declined_by: Answer | None


class Service:
    """Every tool on every workspace of this process. Thread-safe.

    `confirm` is `auto`, `always` or `never`. With `auto` and `always` a tool's question is asked; if nobody can be
    asked, `auto` refuses only destructive tools and `always` refuses all. `never` asks nothing. `question_seconds`: how
    long an editor may take to answer.
    """

    def __init__(
        self,
        workspaces: Workspaces,
        confirm: Confirm | Callable[[], Confirm] = "auto",
        tools: tuple[ToolSpec, ...] = DEFAULT_TOOLS,
        question_seconds: Callable[[], float] = lambda: QUESTION_SECONDS,
    ) -> None:
        self.tools = tools
        self.question_seconds = question_seconds
        self._workspaces = workspaces
        self._confirm = confirm
        self._named = _by_name(tools)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sidecar-read")
        self._writers: dict[str, ThreadPoolExecutor] = {}
        self._writers_lock = make_lock(Rank.TOOL_WRITERS)

    def tool(self, name: str) -> ToolSpec:
        """The tool with this name, alias or LSP method. Raises `UnknownTool`, which suggests the nearest name."""
        found = self._named.get(name) if isinstance(name, str) else None
        if found is None:
            raise UnknownTool(_no_such_tool(str(name), [tool.name for tool in self.tools]))
        return found

    def workspace(self, root: str) -> Workspace:
        """The workspace itself, for surfaces that pass on unsaved buffers or watch its status."""
        return self._workspaces.get(root)

    def problems(self, root: str) -> tuple[str, ...] | None:
        """See `Workspaces.problems`."""
        return self._workspaces.problems(root)

    def refresh(
        self, workspace: str, progress: Progress = no_progress, cancelled: IsCancelled = never_cancelled
    ) -> Done:
        """Creates the index or updates it, without a question; the result is an `UpdateResult`. This is not a tool:
        only a person who typed the command may skip the question.

        Raises `SidecarError` only.
        """
        started = time.monotonic()
        report = _guarded("refresh", workspace, lambda: self._workspaces.get(workspace).refresh(progress, cancelled))
        result = UpdateResult.of(report, time.monotonic() - started)
        return Done(CODE_SEARCH.shape(result), result)

    def call(
        self,
        name: str,
        arguments: Mapping[str, object],
        *,
        workspace: str,
        answers: Mapping[str, Answer] | None = None,
        progress: Progress = no_progress,
        cancelled: IsCancelled = never_cancelled,
        asked_by: str = "",
    ) -> Done | Question:
        """The tool's result, or the question that must be answered before it runs.

        To go on, call again with the question's id and the answer in `answers`. Nothing with side effects happens
        before the question is answered. Raises `SidecarError` only.
        """

        def whole_call() -> Done | Question:
            gated = self._gate(_Call(name, arguments, workspace, answers or {}, progress, cancelled, asked_by))
            return gated if isinstance(gated, Question) else _finish(gated)

        return _guarded(name, workspace, whole_call)

    async def acall(
        self,
        name: str,
        arguments: Mapping[str, object],
        *,
        workspace: str,
        answers: Mapping[str, Answer] | None = None,
        progress: Progress = no_progress,
        cancelled: IsCancelled = never_cancelled,
        asked_by: str = "",
    ) -> Done | Question:
        """As `call`, in a worker thread. Cancelling the task makes `cancelled` true for the tool.

        Read-only tools and those marked `alongside` share a pool of threads; the others run one at a time per
        workspace. Validation and the question always run in the shared pool, so that a second `create_index` is refused
        at once instead of waiting for the first. `progress` is called from the tool's thread.
        """
        stop = threading.Event()

        def stopped() -> bool:
            return stop.is_set() or cancelled()

        loop = asyncio.get_running_loop()

        def gate() -> _Gated | Question:
            return self._gate(_Call(name, arguments, workspace, answers or {}, progress, stopped, asked_by))

        try:
            gated = await loop.run_in_executor(self._readers, _guarded, name, workspace, gate)
            if isinstance(gated, Question):
                return gated
            at_once = gated.meant.read_only or gated.meant.alongside or gated.declined_by is not None
            pool = self._readers if at_once else self._writer(workspace)
            return await loop.run_in_executor(pool, _guarded, name, workspace, lambda: _finish(gated))
        except asyncio.CancelledError:
            stop.set()
            raise

    def close(self) -> None:
        """Refuses further calls, closes every workspace and waits for the running calls to end."""
        with self._writers_lock:
            pools = [self._readers, *self._writers.values()]
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        self._workspaces.close()
        for pool in pools:
            pool.shutdown(wait=True)

    def _writer(self, root: str) -> ThreadPoolExecutor:
        with self._writers_lock:
            pool = self._writers.get(root)
            if pool is None:
                pool = self._writers[root] = ThreadPoolExecutor(1, thread_name_prefix="sidecar-write")
            return pool

    def _gate(self, call: _Call) -> _Gated | Question:
        tool = self.tool(call.name)
        params = validate(tool, call.arguments)
        meant = tool.meant_by(call.arguments)
        context = Context(
            self._workspaces.get(call.workspace),
            call.progress,
            call.cancelled,
            call.asked_by,
            lambda: self._workspaces.problems(call.workspace),
        )
        question = tool.question(context, params) if tool.question else None
        if question is None:
            return _Gated(tool, meant, context, params, None)
        confirm = self._confirm if isinstance(self._confirm, str) else self._confirm()
        if confirm == "never":
            return _Gated(tool, meant, context, params, None)
        answer = call.answers.get(question.id)
        if answer is None:
            return question
        goes_on = answer == "accept" or (answer == "nobody" and confirm == "auto" and not question.destructive)
        return _Gated(tool, meant, context, params, None if goes_on else answer)


def _finish(gated: _Gated) -> Done:
    tool = gated.tool
    if gated.declined_by is not None and tool.declined is not None:
        result = tool.declined(gated.context, gated.params, gated.declined_by)
        return Done(gated.meant.dialect.shape(result), result, declined=True)
    result = tool.run(gated.context, gated.params)
    return Done(gated.meant.dialect.shape(result), result)


def _guarded(name: str, workspace: str, work: Callable[[], T]) -> T:
    """Turns every exception that is not a `SidecarError` into `Internal` and logs it under an id that the caller is
    given."""
    try:
        return work()
    except SidecarError:
        raise
    except Exception as error:
        incident = uuid.uuid4().hex[:8]
        workspace_log("sidecar.tools", workspace).exception("%s failed, incident %s", name, incident)
        raise Internal(
            f"The log (logs/sidecar.log in the data folder) has the details under incident {incident}.",
            incident=incident,
        ) from error


def _by_name(tools: tuple[ToolSpec, ...]) -> dict[str, ToolSpec]:
    named: dict[str, ToolSpec] = {}
    for tool in tools:
        if tool.question is not None and tool.declined is None:
            raise ValueError(f"{tool.name} asks a question but does not say what a no returns")
        for name in (tool.name, *tool.aliases, tool.lsp_method):
            if name in named:
                raise ValueError(f"two tools are called {name}: {named[name].name} and {tool.name}")
            named[name] = tool
    return named


def _no_such_tool(name: str, known: list[str]) -> str:
    for toolset, tools in TOOLSETS.items():
        if any(name in (tool.name, tool.lsp_method, *tool.aliases) for tool in tools):
            return f"{name} belongs to the toolset {toolset}, which is not enabled here; enable it with --toolsets."
    nearest: list[Any] = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    advice = f"Did you mean {nearest[0]}?" if nearest else f"Known tools: {', '.join(known)}."
    return f"There is no tool {shown.quoted(name)}. {advice}"
