"""The one place where tools are called (look up, validate, ask, run, shape) and where calls leave the event loop.

Each tool is implemented in the file of its family. `confirm.py` and the surface decide whom to ask, and how.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from sidecar import shown
from sidecar.errors import Internal, SidecarError, UnknownTool, access_error
from sidecar.locks import Rank, make_lock
from sidecar.logs import log_failure, workspace_log
from sidecar.model.terms import IsCancelled, Progress, never_cancelled, no_progress
from sidecar.model.workspace import Workspace
from sidecar.settings.values import DEFAULTS
from sidecar.tools.context import Context, Workspaces
from sidecar.tools.group import GroupWorkspaces, Veil, tools_for_group
from sidecar.tools.registry import DEFAULT_TOOLS, not_enabled, toolset_of
from sidecar.tools.result import Result
from sidecar.tools.spec import Answer, Params, Question, ToolSpec
from sidecar.tools.validate import validate
from sidecar.tools.word import PERSON, Caller, Confirm, Words, strictest
from sidecar.tools.wording import Door, Wording

T = TypeVar("T")

READERS = 4
WAITING = 2
"""Threads for tools that run apart."""
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
    """A call before it is validated."""

    name: str | ToolSpec
    arguments: Mapping[str, object]
    workspace: str
    answers: Mapping[str, Answer]
    progress: Progress
    cancelled: IsCancelled
    asked_by: str
    say: Wording
    by: Caller
    at_least: Confirm


@dataclass(frozen=True, slots=True)
class _Gated:
    """A call that has passed validation and its question. It is run, or declined if `declined_by` is set."""

    tool: ToolSpec
    meant: ToolSpec
    context: Context
    params: Params
    declined_by: Answer | None
    say: Wording

    @property
    def runs_in_readers(self) -> bool:
        """Whether it may run beside other calls, in the thread in which it was validated."""
        meant = self.meant
        return not meant.apart and (meant.read_only or meant.alongside or self.declined_by is not None)


class Service:
    """Every tool on every workspace of this process. Thread-safe.

    `confirm` is `auto`, `always` or `never`, or a function from a workspace's root to the `Words` of this service's
    session. With `auto` and `always` a tool's question is asked; if nobody can be asked, `auto` refuses only
    destructive tools and `always` refuses all. `never` asks nothing. `question_seconds`: how long an editor may take to
    answer. `goes_on` is False in a process that ends after one call. `veil` removes places of this machine from what
    callers are shown.
    """

    def __init__(
        self,
        workspaces: Workspaces,
        confirm: Confirm | Callable[[str], Words] = "auto",
        tools: tuple[ToolSpec, ...] = DEFAULT_TOOLS,
        question_seconds: Callable[[], float] = lambda: QUESTION_SECONDS,
        goes_on: bool = True,
        veil: Veil | None = None,
    ) -> None:
        self.tools = tools
        self.question_seconds = question_seconds
        self._workspaces = workspaces
        self._words = _constant(confirm) if isinstance(confirm, str) else confirm
        self._goes_on = goes_on
        self._veil = veil
        self._named = _by_name(tools)
        names = [tool.name for tool in tools]
        self.wordings: Mapping[Door, Wording] = {door: Wording(door, names) for door in get_args(Door)}
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sidecar-read")
        self._waiting = ThreadPoolExecutor(WAITING, thread_name_prefix="sidecar-wait")
        self._writers: dict[str, ThreadPoolExecutor] = {}
        self._writers_lock = make_lock(Rank.TOOL_WRITERS)

    def word(self, root: str) -> Confirm:
        """Returns the setting `confirm` of this service's session for a workspace, as it counts for a person."""
        return self._words(root).own

    def tool(self, name: str | ToolSpec) -> ToolSpec:
        """Returns the tool with this name, alias or LSP method; a `ToolSpec` is returned as it is and need not be among
        `tools`.

        Raises `UnknownTool`, which suggests the nearest name.
        """
        if isinstance(name, ToolSpec):
            return name
        found = self._named.get(name) if isinstance(name, str) else None
        if found is None:
            raise UnknownTool(_no_such_tool(str(name), [tool.name for tool in self.tools], self._veil is not None))
        return found

    def for_caller(self, tools: Sequence[ToolSpec], folders: Mapping[str, str], others: Sequence[str]) -> Service:
        """Returns a service over the same engine for a caller of a group's server, with fewer tools and named
        workspaces.

        `folders`: the folder of each workspace. `others`: see `Veil`. Its questions are always asked, and only of the
        caller.
        """
        return Service(
            GroupWorkspaces(self._workspaces, folders),
            confirm="always",
            tools=tools_for_group(tools, tuple(folders)),
            question_seconds=self.question_seconds,
            veil=Veil(folders, others),
        )

    def workspace(self, root: str) -> Workspace:
        """Returns the workspace itself, for surfaces that pass on unsaved buffers or watch its status."""
        return self._workspaces.get(root)

    def problems(self, root: str) -> tuple[str, ...] | None:
        """See `Workspaces.problems`."""
        return self._workspaces.problems(root)

    def call(
        self,
        name: str | ToolSpec,
        arguments: Mapping[str, object],
        *,
        workspace: str,
        answers: Mapping[str, Answer] | None = None,
        progress: Progress = no_progress,
        cancelled: IsCancelled = never_cancelled,
        asked_by: str = "",
        door: Door = "mcp",
        by: Caller = PERSON,
        at_least: Confirm = "never",
    ) -> Done | Question:
        """Returns the tool's result, or the question that must be answered before it runs.

        `by`: the kind of caller, which decides how this session's setting `confirm` counts; `at_least`: the least
        strict setting that other sessions allow. To continue, call again with the question's id and the answer in
        `answers`. Nothing with side effects happens before the question is answered. Sentences name commands as callers
        of the `door` know them. Raises `SidecarError` only.
        """
        say = self.wordings[door]

        def whole_call() -> Done | Question:
            asked = _Call(name, arguments, workspace, answers or {}, progress, cancelled, asked_by, say, by, at_least)
            gated = self._gate(asked)
            return gated if isinstance(gated, Question) else _finish(gated, self._veil)

        return _guarded(name, workspace, say, whole_call, self._veil)

    async def acall(
        self,
        name: str | ToolSpec,
        arguments: Mapping[str, object],
        *,
        workspace: str,
        answers: Mapping[str, Answer] | None = None,
        progress: Progress = no_progress,
        cancelled: IsCancelled = never_cancelled,
        asked_by: str = "",
        door: Door = "mcp",
        by: Caller = PERSON,
        at_least: Confirm = "never",
    ) -> Done | Question:
        """Like `call`, in a worker thread. Cancelling the task makes `cancelled` true for the tool.

        Read-only tools and those marked `alongside` share a pool of threads, those marked `apart` another one; the
        others run one at a time per workspace. Validation and the question always run in the pool of readers, so that a
        second `create_index` is refused at once instead of waiting for the first. `progress` is called from the tool's
        thread.
        """
        stop = threading.Event()
        say = self.wordings[door]

        def stopped() -> bool:
            return stop.is_set() or cancelled()

        loop = asyncio.get_running_loop()

        def begin() -> _Gated | Question | Done:
            asked = _Call(name, arguments, workspace, answers or {}, progress, stopped, asked_by, say, by, at_least)
            gated = self._gate(asked)
            if isinstance(gated, Question) or not gated.runs_in_readers:
                return gated
            return _finish(gated, self._veil)  # here, because every change of threads costs time

        try:
            begun = await loop.run_in_executor(self._readers, _guarded, name, workspace, say, begin, self._veil)
            if not isinstance(begun, _Gated):
                return begun
            pool = self._waiting if begun.meant.apart else self._writer(workspace)

            def finish() -> Done:
                return _finish(begun, self._veil)

            return await loop.run_in_executor(pool, _guarded, name, workspace, say, finish, self._veil)
        except asyncio.CancelledError:
            stop.set()
            raise

    def stays_cancelled(self, workspace: str) -> None:
        """Reports that a person has cancelled the job on this workspace's index, so that it is not resumed. Returns at
        once."""
        self._readers.submit(lambda: self._workspaces.get(workspace).stay_cancelled())

    def close(self) -> None:
        """Refuses further calls, closes every workspace and waits for the running calls to end."""
        with self._writers_lock:
            pools = [self._readers, self._waiting, *self._writers.values()]
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
            self._workspaces.get,
            call.workspace,
            call.progress,
            call.cancelled,
            call.asked_by,
            self._goes_on,
            lambda: self._workspaces.problems(call.workspace),
        )
        question = tool.question(context, params) if tool.question else None
        if question is None:
            return _Gated(tool, meant, context, params, None, call.say)
        confirm = strictest((call.by.word(self._words(call.workspace)), call.at_least))
        if confirm == "never" or (question.only_always and confirm != "always"):
            return _Gated(tool, meant, context, params, None, call.say)
        answer = call.answers.get(question.id)
        if answer is None:
            detail = call.say(question.detail)
            return replace(question, detail=detail if self._veil is None else self._veil.sentence(detail))
        goes_on = answer == "accept" or (answer == "nobody" and confirm == "auto" and not question.destructive)
        return _Gated(tool, meant, context, params, None if goes_on else answer, call.say)


def _finish(gated: _Gated, veil: Veil | None) -> Done:
    tool, declined = gated.tool, False
    if gated.declined_by is not None and tool.declined is not None:
        result, declined = tool.declined(gated.context, gated.params, gated.declined_by), True
    else:
        result = tool.run(gated.context, gated.params)
    result = result.worded(gated.say)
    if veil is not None:
        result = result.worded(veil.sentence, veil.place)
    return Done(gated.meant.dialect.shape(result), result, declined)


def _constant(word: Confirm) -> Callable[[str], Words]:
    return lambda _: Words.of(word)


def _guarded(name: str | ToolSpec, workspace: str, say: Wording, work: Callable[[], T], veil: Veil | None = None) -> T:
    """Runs `work` and words its errors for the caller. An error of opening a file becomes `PermissionDenied`; every
    other exception that is not a `SidecarError` becomes `Internal`, and is logged under an id that the caller gets."""
    try:
        return work()
    except SidecarError as error:
        if veil is not None:
            raise veil.error(error.worded(say)) from None
        if (worded := error.worded(say)) is error:
            raise
        raise worded from error.__cause__
    except Exception as error:
        denied = access_error(error)
        if denied is not None:
            raise denied if veil is None else veil.error(denied) from None
        incident = uuid.uuid4().hex[:8]
        tool = name.name if isinstance(name, ToolSpec) else name
        where = log_failure(workspace_log("sidecar.tools", workspace), "%s failed, incident %s", tool, incident)
        raise Internal(f"Incident {incident}. {where}", incident=incident) from error


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


def _no_such_tool(name: str, known: list[str], in_group: bool) -> str:
    if toolset := toolset_of(lambda tool: name in (tool.name, tool.lsp_method, *tool.aliases)):
        return _not_with_this_token(name) if in_group else not_enabled(name, toolset)
    nearest: list[Any] = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    advice = f"Did you mean {nearest[0]}?" if nearest else f"Known tools: {', '.join(known)}."
    return f"There is no tool {shown.quoted(name)}. {advice}"


def _not_with_this_token(name: str) -> str:
    return f"This server does not offer {name} with this token; ask whoever runs it."
