"""One run of the command line: its streams, its workspace, and how it calls tools and prints results."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO

from sidecar import shown
from sidecar.surfaces.cli.terminal import Asker, ProgressBar, Style

if TYPE_CHECKING:
    from sidecar.model.terms import IsCancelled, Progress
    from sidecar.tools.lines import Line
    from sidecar.tools.service import Done, Service
    from sidecar.tools.spec import Answer, Question, ToolSpec


class Reply(NamedTuple):
    """What a tool returned, as the shell needs it: the fields, the lines to print and the notes to print beside them.

    `declined`: the answer to the tool's question was no.
    """

    value: dict[str, Any]
    lines: Sequence[Line]
    notes: Sequence[str]
    declined: bool

    @classmethod
    def of(cls, done: Done) -> Reply:
        """Returns the reply for a tool's result."""
        return cls(done.value, list(done.result.as_lines()), list(done.result.as_notes()), done.declined)


class Ask(Protocol):
    """Puts a question to the person who typed the command."""

    def __call__(self, question: Question) -> Answer:
        """Returns the person's answer; `nobody` without a terminal."""

    def beside(self, question: Question, places: Sequence[str], other: int) -> Answer | None:
        """Returns the answer, while the clients `places` are asked too; None when the file descriptor `other` becomes
        readable."""

    def withdrawn(self, by: str) -> None:
        """Says that the client `by` has answered; `by` is empty if no client has."""


class Tools(Protocol):
    """Calls tools, in this process (`OwnTools`) or in the daemon. Both raise only `SidecarError`."""

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        workspace: str,
        ask: Ask,
        progress: Progress,
        cancelled: IsCancelled,
        asked_by: str,
    ) -> Reply:
        """Calls a tool and returns its result."""

    def refresh(
        self,
        *,
        workspace: str,
        ask: Ask,
        progress: Progress,
        cancelled: IsCancelled,
        asked_by: str,
        whole: bool = False,
        snapshot: str | None = None,
    ) -> Reply:
        """Brings the index of a workspace up to date; with `whole`, all of it, even if it was limited to patterns.
        `snapshot`: see `model.Workspace.refresh`."""


class OwnTools:
    """Calls tools in this process. `terminal`: the command was typed in a terminal; `yes`: with the option `--yes`."""

    def __init__(self, service: Callable[[], Service], terminal: bool, yes: bool) -> None:
        self._service = service
        self._terminal = terminal
        self._yes = yes

    def call(self, tool: str | ToolSpec, arguments: Mapping[str, object], **more: Any) -> Reply:
        """Calls a tool of this process's service and returns its result. The service is made at the first call."""
        from sidecar.tools.confirm import call_with_questions_sync
        from sidecar.tools.word import PERSON, Caller

        by = PERSON if self._terminal else Caller("script", yes=self._yes)
        return Reply.of(call_with_questions_sync(self._service(), tool, arguments, by=by, **more))

    def refresh(self, *, whole: bool = False, snapshot: str | None = None, **more: Any) -> Reply:
        """Brings the index of a workspace up to date in this process."""
        from sidecar.tools.refresh import REFRESH

        return self.call(REFRESH, {"whole": whole, "snapshot": snapshot}, **more)


class CliSession(NamedTuple):
    """The environment of a command. Standard output gets data only.

    `make_service` returns the tools of this process, which are made at the first call and open no index by themselves.
    """

    args: argparse.Namespace
    tools: Tools
    make_service: Callable[[], Service]
    root: str
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO

    @property
    def service(self) -> Service:
        """The tools of this process."""
        return self.make_service()

    @property
    def style(self) -> Style:
        """The colours and links for standard output."""
        return Style.of(self.stdout, self.args.no_color, self.root)

    def progress(self) -> ProgressBar:
        """Returns a progress bar on standard error. With `--json` it is shown only in a terminal, because programs read
        errors there."""
        return ProgressBar(self.stderr, self.args.quiet or (self.args.json and not self.stderr.isatty()))

    def call(self, tool: str, arguments: Mapping[str, object]) -> Reply:
        """Returns the tool's result. The person who typed the command is asked the tool's question. Raises
        `SidecarError`."""
        with self._calling() as call:
            return self.tools.call(tool, arguments, **call)

    def call_here(self, tool: ToolSpec, arguments: Mapping[str, object]) -> Reply:
        """Like `call`, but always in this process, even if the daemon runs."""
        with self._calling() as call:
            return OwnTools(self.make_service, self.stdin.isatty(), bool(self.args.yes)).call(tool, arguments, **call)

    def refresh(self, whole: bool, snapshot: str | None = None) -> Reply:
        """Creates the index or brings it up to date, from a snapshot if one is named. Raises `SidecarError`."""
        with self._calling() as call:
            return self.tools.refresh(**call, whole=whole, snapshot=snapshot)

    @contextmanager
    def _calling(self) -> Iterator[dict[str, Any]]:
        with interruptible() as interrupt, self.progress() as progress:
            yield {
                "workspace": self.root,
                "ask": Asker(self.stdin, self.stderr, self.args.yes, interrupt.may_raise),
                "progress": progress,
                "cancelled": interrupt.came,
                "asked_by": f"sidecar {self.args.command}",
            }

    def agrees(self, title: str, about: Iterable[Line], needs_person: bool) -> bool:
        """Asks the person at the terminal. Without a terminal, `--yes` agrees unless a person is needed.

        `about` is shown before the question, on standard error.
        """
        style = Style.of(self.stderr, self.args.no_color)
        for line in about:
            self.stderr.write(style.printed(line) + "\n")
        if not self.stdin.isatty():
            return bool(self.args.yes) and not needs_person
        with interruptible() as interrupt:
            asker = Asker(self.stdin, self.stderr, self.args.yes, interrupt.may_raise)
            return asker.asks(title)

    def show(self, value: Any, lines: Iterable[Line]) -> None:
        """Prints `value` as JSON with `--json`, otherwise the lines, each as exactly one line."""
        if self.args.json:
            write_json(self.stdout, value)
            return
        style = self.style
        for line in lines:
            self.stdout.write(style.printed(line) + "\n")

    def note(self, text: str) -> None:
        """Prints a notice on standard error, unless it is empty or `--quiet` is set."""
        if text and not self.args.quiet:
            self.stderr.write(shown.line(text) + "\n")


def write_json(stream: TextIO, value: Any) -> None:
    """Writes the value as JSON, in ASCII unless the stream is UTF-8."""
    unicode_out = (getattr(stream, "encoding", None) or "").lower().replace("-", "") == "utf8"
    stream.write(shown.as_json(value, indent=2, ascii_only=not unicode_out) + "\n")


class Interrupt:
    """Whether Ctrl-C was pressed. A second press raises KeyboardInterrupt; so does a press before or during a
    question."""

    def __init__(self) -> None:
        self._came = threading.Event()
        self._asking = False

    def came(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._came.is_set()

    def take(self, *_: object) -> None:
        """Handles SIGINT."""
        if self._asking or self._came.is_set():
            raise KeyboardInterrupt
        self._came.set()

    @contextmanager
    def may_raise(self) -> Iterator[None]:
        """A block in which Ctrl-C raises KeyboardInterrupt at once, even if it was pressed before."""
        try:
            self._asking = True
            if self._came.is_set():
                raise KeyboardInterrupt
            yield
        finally:
            self._asking = False


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Within the block, the first Ctrl-C asks the engine to stop at a safe point."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = signal.signal(signal.SIGINT, interrupt.take)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
