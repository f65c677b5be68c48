"""One run of the command line: its streams, its workspace, and how it calls a tool and prints what comes back."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO, TypeVar

from sidecar import shown
from sidecar.surfaces.cli.terminal import ProgressBar, Style, make_ask

if TYPE_CHECKING:
    from sidecar.model import BuildReport, IsCancelled, Progress
    from sidecar.tools.service import Service
    from sidecar.tools.spec import Answer, Question

Q = TypeVar("Q")
A = TypeVar("A")


class Tools(Protocol):
    """What calls a tool: this process (`OwnTools`) or the daemon. Both raise `SidecarError` only."""

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        workspace: str,
        ask: Callable[[Question], Answer],
        progress: Progress,
        cancelled: IsCancelled,
        asked_by: str,
    ) -> dict[str, Any]: ...

    def refresh(self, workspace: str, progress: Progress, cancelled: IsCancelled) -> BuildReport: ...


class OwnTools:
    """`Tools` of this process."""

    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service

    def call(self, tool: str, arguments: Mapping[str, object], **more: Any) -> dict[str, Any]:
        from sidecar.tools.confirm import call_with_questions_sync

        return call_with_questions_sync(self._service(), tool, arguments, **more)

    def refresh(self, workspace: str, progress: Progress, cancelled: IsCancelled) -> BuildReport:
        return self._service().refresh(workspace, progress, cancelled)


class CliSession(NamedTuple):
    """What a command works with; standard output takes data only. `make_service`: the tools of this process, made
    where they are needed, which opens nothing yet."""

    args: argparse.Namespace
    tools: Tools
    make_service: Callable[[], Service]
    root: str
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO

    @property
    def service(self) -> Service:
        return self.make_service()

    @property
    def style(self) -> Style:
        return Style.of(self.stdout, self.args.no_color)

    def progress(self) -> ProgressBar:
        return ProgressBar(self.stderr, self.args.quiet)

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """The tool's result; a question goes to who typed the command. Raises `SidecarError`."""
        with interruptible() as interrupt, self.progress() as progress:
            return self.tools.call(
                tool,
                arguments,
                workspace=self.root,
                ask=interrupt.paused(make_ask(self.stdin, self.stderr, self.args.yes)),
                progress=progress,
                cancelled=interrupt.came,
                asked_by=f"sidecar {self.args.command}",
            )

    def show(self, value: Any, lines: Iterable[str]) -> None:
        """`value` as JSON with `--json`, else the lines, of which each stays one line."""
        if self.args.json:
            write_json(self.stdout, value)
            return
        style = self.style
        for line in lines:
            self.stdout.write(style.as_one_line(line) + "\n")

    def note(self, text: str) -> None:
        if text and not self.args.quiet:
            self.stderr.write(shown.line(text) + "\n")


def write_json(stream: TextIO, value: Any) -> None:
    unicode_out = (getattr(stream, "encoding", None) or "").lower().replace("-", "") == "utf8"
    stream.write(shown.as_json(value, indent=2, ascii_only=not unicode_out) + "\n")


class Interrupt:
    """Whether Ctrl-C was pressed. The second press, and a press while a question stands, raise KeyboardInterrupt."""

    def __init__(self) -> None:
        self._came = threading.Event()
        self._asking = False

    def came(self) -> bool:
        return self._came.is_set()

    def take(self, *_: object) -> None:
        if self._asking or self._came.is_set():
            raise KeyboardInterrupt
        self._came.set()

    def paused(self, ask: Callable[[Q], A]) -> Callable[[Q], A]:
        def ask_interruptibly(question: Q) -> A:
            self._asking = True
            try:
                return ask(question)
            finally:
                self._asking = False

        return ask_interruptibly


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """While the block runs, the first Ctrl-C asks the engine to stop at a safe place."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = signal.signal(signal.SIGINT, interrupt.take)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
