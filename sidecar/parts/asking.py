"""A reader of an index asks the process that writes it whether the index is up to date, by files in a shared folder.

The reader creates an empty file NAME.ask in the folder, which the writer watches. The writer renames it to NAME.heard,
collects the changes until then, writes its reply into the file and renames it to NAME.answered. The reader reads the
reply and removes whichever of the three files exists. The writer creates no file of its own, so nothing stays behind
when a reader stops waiting.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sidecar.parts.paths import storable
from sidecar.small_files import open_to_append, read_record

ASK = ".ask"
_HEARD, _ANSWERED = ".heard", ".answered"
_STEP_S = 0.005
_MAX_BYTES = 1 << 26
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class WriterReply:
    """What the writer answers. `fresh`: the index contains every change up to the question. `awaiting`: the paths whose
    saved changes wait for the next commit, checkout or merge."""

    fresh: bool
    awaiting: tuple[str, ...] = ()


class Asking:
    """Asks and answers in one folder. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, heard_s: float, answered_s: float) -> WriterReply | None:
        """Asks the process that watches the folder, and returns its answer.

        Returns None if that process does not hear the question within `heard_s` seconds, or does not answer it within
        `answered_s` seconds after that.
        """
        name = f"{os.getpid()}-{next(_NUMBERS)}"
        question, answer = self._path(name, ASK), self._path(name, _ANSWERED)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            question.touch(0o600, exist_ok=False)
            if not _within(heard_s, lambda: not question.exists()) or not _within(answered_s, answer.exists):
                return None
            return answer_in(answer)
        except OSError:  # such as a folder that this process may not write into
            return None
        finally:
            for suffix in (ASK, _HEARD, _ANSWERED):
                _remove(self._path(name, suffix))

    def hear(self, names: Iterable[str]) -> list[str]:
        """Marks these questions as heard. Returns those whose readers still wait."""
        heard = []
        for name in names:
            with contextlib.suppress(OSError):  # the reader has stopped waiting
                self._path(name, ASK).rename(self._path(name, _HEARD))
                heard.append(name)
        return heard

    def answer(self, names: Iterable[str], answer: WriterReply) -> None:
        """Answers questions that have been heard."""
        text = json.dumps({"fresh": answer.fresh, "awaiting": answer.awaiting}).encode()
        for name in names:
            heard = self._path(name, _HEARD)
            with contextlib.suppress(OSError):  # the reader has stopped waiting
                with open_to_append(heard, existing=True) as file:
                    file.write(text)
                heard.rename(self._path(name, _ANSWERED))

    def _path(self, name: str, suffix: str) -> Path:
        return self._folder / f"{name}{suffix}"


def answer_in(path: Path) -> WriterReply | None:
    """Returns the answer in a file; None if it holds none."""
    fields = read_record(path, _MAX_BYTES)
    fresh, awaiting = fields.get("fresh"), fields.get("awaiting")
    if not isinstance(fresh, bool) or not isinstance(awaiting, list):
        return None
    return WriterReply(fresh, tuple(storable(path) for path in awaiting if isinstance(path, str)))


def asked_in(folder: str) -> set[str]:
    """Returns the names of the questions that have not been heard yet. Removes files of questions that were heard or
    answered before, as they are left when a reader has died."""
    waiting = set()
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):  # noqa: PTH208
            name, suffix = os.path.splitext(entry)  # noqa: PTH122
            if suffix == ASK:
                waiting.add(name)
            elif suffix in (_HEARD, _ANSWERED):
                _remove(Path(folder, entry))
    return waiting


def question_of(path: str) -> str:
    """Returns the name of the question that a file asks; empty if the file is not a question."""
    return os.path.basename(path).removesuffix(ASK) if path.endswith(ASK) else ""  # noqa: PTH119


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Waits until the condition holds. Returns False if it does not within so many seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(_STEP_S)
    return True


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
