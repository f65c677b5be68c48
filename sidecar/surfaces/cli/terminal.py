"""What a person sees in the terminal: colours, progress and questions. Nothing here decides anything about the
engine."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, TextIO

from sidecar import shown
from sidecar.errors import Cancelled, output_error
from sidecar.surfaces.cli.links import Links
from sidecar.tools.lines import ASIDE, BAD, FOUND, GOOD, PLACE, STRONG, Line, Piece

if TYPE_CHECKING:
    from tqdm import tqdm

    from sidecar.tools.spec import Answer, Question

_POLL_S = 0.1
_STEP = 10
_WIDTH = 40
_COLUMNS = 80
_BAR = "{bar:40} {percentage:3.0f} % {remaining} {desc}"


def absent_stream() -> TextIO:
    """Returns a stream in place of a standard stream that was closed before the process began.

    It is empty, and discards what is written to it.
    """
    return Path(os.devnull).open("r+", encoding="utf-8")


_COLOURS = {PLACE: "36", STRONG: "1", ASIDE: "2", GOOD: "32", BAD: "31", FOUND: "1;33"}


class Style:
    """Prints lines with ANSI colours for the roles of their pieces, or without colours if `on` is false.

    With `links`, places in files become links.
    """

    def __init__(self, on: bool, links: Links | None = None) -> None:
        self.on = on
        self._links = links

    @classmethod
    def of(cls, stream: TextIO, no_color: bool, root: str = "") -> Style:
        """Returns a style for this stream, with colours if it is a terminal and nothing forbids them.

        `no_color`, the variable NO_COLOR and TERM=dumb forbid them. With colours, places in the workspace `root` become
        links if the terminal is known to show links.
        """
        on = stream.isatty() and not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(on, Links.of(os.environ, root) if on else None)

    def printed(self, line: Line) -> str:
        """Returns exactly one line, in which only sidecar's own colours and links control the terminal."""
        pieces = [line] if isinstance(line, str) else line
        if not self.on:
            return _visible("".join(piece if isinstance(piece, str) else piece[1] for piece in pieces))
        return "".join(map(self._printed, pieces))

    def _printed(self, piece: Piece) -> str:
        role, text = ("", piece) if isinstance(piece, str) else piece[:2]
        coloured = _coloured(_COLOURS.get(role, ""), _visible(text))
        if self._links is None or isinstance(piece, str) or len(piece) == 2:
            return coloured
        return self._links.around(coloured, piece[2], piece[3])


def _coloured(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def _visible(text: str) -> str:
    """Makes control characters visible. Tabs stay, because they indent code."""
    return "\t".join(map(shown.line, text.split("\t")))


class ProgressBar:
    """A `Progress`: a bar on a terminal, a line for each tenth elsewhere, nothing with `quiet`.

    Use it as a context manager.
    """

    def __init__(self, stream: TextIO, quiet: bool) -> None:
        self._stream = stream
        self._quiet = quiet
        self._bar: tqdm[Never] | None = None
        self._step = (-1, -1)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, done: int, total: int, message: str) -> None:
        """Draws the bar, or prints a line when another tenth is done. Without a total nothing is shown."""
        if self._quiet or total <= 0:
            return
        if self._stream.isatty():
            self._draw(done, total, message)
        else:
            self._write(done, total, message)

    def _draw(self, done: int, total: int, message: str) -> None:
        if self._bar is None:
            self._bar = _bar(self._stream)
        bar, said = self._bar, shown.short(message, _WIDTH)
        is_news = said != bar.desc
        bar.set_description_str(said, refresh=False)
        # A different total means a different piece of work, whose speed is not known yet.
        if bar.total != total or done < bar.n:
            bar.reset(total)
        bar.update(done - bar.n)
        if is_news:
            bar.refresh()

    def _write(self, done: int, total: int, message: str) -> None:
        step = (total, done * _STEP // total)
        if step[0] == self._step[0] and step[1] <= self._step[1]:
            return
        self._step = step
        self._stream.write(shown.line(message) + "\n")
        self._stream.flush()


def _bar(stream: TextIO) -> tqdm[Never]:
    from tqdm import tqdm

    known = _knows_its_width(stream)
    return tqdm(file=stream, leave=False, dynamic_ncols=known, ncols=None if known else _COLUMNS, bar_format=_BAR)


def _knows_its_width(stream: TextIO) -> bool:
    """Whether the terminal has a width. Some that programs make have none, and a bar of no width is invisible."""
    try:
        return os.get_terminal_size(stream.fileno()).columns > 0
    except (OSError, ValueError):
        return False


class Asker:
    """Asks the person who typed the command. With `--yes`, typed in a terminal, the answer is yes; without a terminal
    it is `nobody`.

    `interruptible` makes Ctrl-C end the command at once from before a question is shown until it is answered.
    """

    def __init__(
        self,
        stdin: TextIO,
        stderr: TextIO,
        yes: bool,
        interruptible: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._stdin = stdin
        self._stderr = stderr
        self._yes = yes
        self._interruptible = interruptible
        self._open = False

    def __call__(self, question: Question) -> Answer:
        """Returns the person's answer; `nobody` without a terminal."""
        if not self._stdin.isatty():
            return "nobody"
        if self._yes:
            return "accept"
        return self._ask(question.title, question.detail, f"{question.accept}? [y/N] ")

    def asks(self, title: str) -> bool:
        """Whether the person agrees. A person who typed `--yes` is not asked."""
        return self._yes or self._ask(f"{title} [y/N] ") == "accept"

    def beside(self, question: Question, places: Sequence[str], other: int) -> Answer | None:
        """Returns the person's answer, while the clients `places` are asked too.

        Returns None when the file descriptor `other` is readable before the person answers. Without a terminal it only
        says which clients are asked, and returns `nobody`. Raises `Cancelled` at Ctrl-C.
        """
        names = " and ".join(shown.quoted(place) if place else "an editor" for place in places)
        where = f"Waiting for an answer in {names}, Ctrl-C to leave"
        if not self._stdin.isatty():
            self._stderr.write(shown.line(f"sidecar: {question.title} {where}.") + "\n")
            self._stderr.flush()
            return "nobody"
        try:
            with self._interruptible():
                prompt = f"{where}, or answer here. {question.accept}? [y/N] "
                self._show(question.title, question.detail, prompt)
                self._open = self._stdin.fileno() not in _ready(self._stdin.fileno(), other)
                return None if self._open else self._read()
        except KeyboardInterrupt:
            self._stderr.write("\n")
            raise Cancelled("The question is withdrawn, and nothing has changed.") from None

    def withdrawn(self, by: str) -> None:
        """Ends the line of an open question, and names the client that has answered it."""
        if self._open:
            self._stderr.write("\n" + (shown.line(f"Answered in {shown.quoted(by)}.") + "\n" if by else ""))
            self._open = False

    def _ask(self, *lines: str) -> Answer:
        try:
            with self._interruptible():
                self._show(*lines)
                return self._read()
        except KeyboardInterrupt:
            self._stderr.write("\n")
            raise Cancelled("Nothing has changed.") from None

    def _show(self, *lines: str) -> None:
        """Writes the lines without a last line break, because the answer is typed at the end of the last line."""
        self._stderr.write("\n".join(map(shown.line, lines)))
        self._stderr.flush()

    def _read(self) -> Answer:
        line = self._stdin.readline()
        if not line:
            self._stderr.write("\n")
            return "cancel"
        return "accept" if line.strip().lower() in {"y", "yes"} else "decline"


def _ready(*descriptors: int) -> list[int]:
    """Waits until at least one can be read, and returns those that can.

    It polls, because Python handles a signal that arrives just before a wait begins only when that wait ends.
    """
    while True:
        ready, _, _ = select.select(descriptors, [], [], _POLL_S)
        if ready:
            return ready


class Output:
    """Standard output that says so if it does not take a text.

    `write` and `flush` raise DiskFull or PermissionDenied, and BrokenPipeError if the reader has gone. What a
    real standard output still holds is then discarded.
    """

    def __init__(self, raw: TextIO) -> None:
        self._raw = raw

    def write(self, text: str) -> int:
        """Writes the text and returns its length."""
        with self._refusals():
            return self._raw.write(text)

    def flush(self) -> None:
        """Writes what is buffered."""
        with self._refusals():
            self._raw.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._raw is sys.__stdout__:
                _discard(self._raw)
            if isinstance(error, BrokenPipeError):
                raise
            raise output_error(error) from error


def _discard(stream: TextIO) -> None:
    """Discards what is still buffered, and what is written from now on.

    Otherwise the interpreter would raise the error again when it exits.
    """
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, stream.fileno())
    os.close(sink)
