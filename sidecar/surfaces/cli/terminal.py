"""What a person sees in the terminal: colours, progress, questions. Decides nothing about the engine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from sidecar import shown

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from sidecar.tools.spec import Answer, Question

_MARK = os.urandom(8).hex()
"""Tells our colours from those in a file's content until a line is printed."""
_OURS = re.compile(rf"\x1b{_MARK}(\[[0-9;]+m)")
_COMMANDS = {
    "create_index": "index",
    "reindex_project": "reindex",
    "delete_index": "delete",
    "get_index_status": "status",
    "get_config": "config",
}
_TOOLS = re.compile(rf"\b({'|'.join(_COMMANDS)})\b")
_STEP = 10
_WIDTH = 40


def in_shell_words(text: str) -> str:
    """Returns the engine's advice with shell commands in place of the tools' names."""
    return _TOOLS.sub(lambda tool: f"`sidecar {_COMMANDS[tool.group()]}`", text)


def absent_stream() -> TextIO:
    """Returns a stream in place of a standard stream that was closed before the process began.

    It is empty and discards what is written.
    """
    return Path(os.devnull).open("r+", encoding="utf-8")


class Style:
    """Adds ANSI colours, or nothing when `on` is false.

    The colours take effect when the line passes through `as_one_line`.
    """

    def __init__(self, on: bool) -> None:
        self.on = on

    @classmethod
    def of(cls, stream: TextIO, no_color: bool) -> Style:
        """Returns a style for this stream, with colours if it is a terminal and nothing forbids them.

        `no_color`, the variable NO_COLOR and TERM=dumb forbid them.
        """
        on = stream.isatty() and not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(on)

    def bold(self, text: str) -> str:
        """Returns the text in bold."""
        return self._wrap("1", text)

    def dim(self, text: str) -> str:
        """Returns the text in a weaker colour, for what matters less."""
        return self._wrap("2", text)

    def green(self, text: str) -> str:
        """Returns the text in green."""
        return self._wrap("32", text)

    def red(self, text: str) -> str:
        """Returns the text in red."""
        return self._wrap("31", text)

    def cyan(self, text: str) -> str:
        """Returns the text in cyan."""
        return self._wrap("36", text)

    def spans(self, text: str, spans: Sequence[tuple[int, int]]) -> str:
        """Returns `text` with these spans emphasised; they must be in order and not overlap."""
        parts, at = [], 0
        for start, end in spans:
            parts += [text[at:start], self._wrap("1;33", text[start:end])]
            at = end
        return "".join([*parts, text[at:]])

    def as_one_line(self, text: str) -> str:
        """Returns a line as it is printed: exactly one line, in which only our own colours control the terminal."""
        return "".join(f"\x1b{part}" if at % 2 else _visible(part) for at, part in enumerate(_OURS.split(text)))

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b{_MARK}[{code}m{text}\x1b{_MARK}[0m" if self.on else text


def _visible(text: str) -> str:
    """Makes control characters visible. Tabs stay, because they indent code."""
    return "\t".join(map(shown.line, text.split("\t")))


class ProgressBar:
    """A `Progress`: a bar on a terminal, a line per tenth elsewhere, nothing with `quiet`.

    Use it as a context manager.
    """

    def __init__(self, stream: TextIO, quiet: bool) -> None:
        self._stream = stream
        self._quiet = quiet
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._step = (-1, -1)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, message: str) -> None:
        """Draws the bar, or prints a line when another tenth is done. Without a total there is nothing to show."""
        if self._quiet or total <= 0:
            return
        if self._stream.isatty():
            self._draw(done, total, message)
        else:
            self._write(done, total, message)

    def _draw(self, done: int, total: int, message: str) -> None:
        if self._bar is None:
            self._bar = _bar(self._stream)
            self._task = self._bar.add_task("", total=total)
            self._bar.start()
        if self._task is not None:
            self._bar.update(self._task, completed=done, total=total, description=shown.short(message, _WIDTH))

    def _write(self, done: int, total: int, message: str) -> None:
        step = (total, done * _STEP // total)
        if step[0] == self._step[0] and step[1] <= self._step[1]:
            return
        self._step = step
        self._stream.write(shown.line(f"{done}/{total} {message}") + "\n")
        self._stream.flush()


def _bar(stream: TextIO) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False))
    return Progress(*columns, console=Console(file=stream), transient=True)


def make_ask(stdin: TextIO, stderr: TextIO, yes: bool) -> Callable[[Question], Answer]:
    """Returns an `ask` for the person who typed the command: `--yes` answers, else the terminal, else nobody."""

    def ask(question: Question) -> Answer:
        if yes:
            return "accept"
        if not stdin.isatty():
            return "nobody"
        stderr.write(shown.line(question.message) + "\n")
        stderr.write(shown.line(question.detail) + "\n")
        stderr.write(shown.line(f"{question.accept}? [y/N] "))
        stderr.flush()
        line = stdin.readline()
        if not line:
            stderr.write("\n")
            return "cancel"
        return "accept" if line.strip().lower() in {"y", "yes"} else "decline"

    return ask


def silence_stdout() -> None:
    """Discards what is still buffered for a reader that went away.

    Otherwise it would raise an error again when the interpreter ends.
    """
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
