"""How a process that only reads an index asks the process that keeps it in step whether it is: by files in a folder.

Who asks makes an empty file NAME.ask in the folder, which the other process watches. Who hears it renames it to
NAME.heard, looks what has happened until then, writes what is to be told into it and renames it to NAME.told. Who asked
reads that and removes whatever there is of the three. A file is never made by who answers, so nothing stays behind when
who asked has stopped waiting.
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

ASK = ".ask"
_HEARD, _TOLD = ".heard", ".told"
_STEP_S = 0.005
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class Told:
    """`fresh`: the index has all that had happened when it was asked. `awaiting`: the paths whose saved changes wait
    for the next commit, checkout or merge."""

    fresh: bool
    awaiting: tuple[str, ...] = ()


class Asking:
    """Asks and answers in one folder. Every process has one of its own, and any thread may use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, heard_s: float, told_s: float) -> Told | None:
        """What the process that watches the folder tells.

        None if it has not heard the question within `heard_s` seconds, or not answered it within `told_s` after that.
        """
        name = f"{os.getpid()}-{next(_NUMBERS)}"
        question, told = self._path(name, ASK), self._path(name, _TOLD)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            question.touch(0o600, exist_ok=False)
            if not _within(heard_s, lambda: not question.exists()) or not _within(told_s, told.exists):
                return None
            fields = json.loads(told.read_bytes())
            return Told(bool(fields["fresh"]), tuple(map(str, fields["awaiting"])))
        except (OSError, ValueError, KeyError, TypeError):  # such as a folder that this process may not write into
            return None
        finally:
            for suffix in (ASK, _HEARD, _TOLD):
                _remove(self._path(name, suffix))

    def hear(self, names: Iterable[str]) -> list[str]:
        """Those of these questions that still wait. Who asked then knows that they are heard."""
        heard = []
        for name in names:
            with contextlib.suppress(OSError):  # who asked has stopped waiting
                self._path(name, ASK).rename(self._path(name, _HEARD))
                heard.append(name)
        return heard

    def tell(self, names: Iterable[str], told: Told) -> None:
        """Answers questions that have been heard."""
        text = json.dumps({"fresh": told.fresh, "awaiting": told.awaiting}).encode()
        for name in names:
            heard = self._path(name, _HEARD)
            with contextlib.suppress(OSError):  # who asked has stopped waiting
                with heard.open("r+b") as file:
                    file.write(text)
                heard.rename(self._path(name, _TOLD))

    def _path(self, name: str, suffix: str) -> Path:
        return self._folder / f"{name}{suffix}"


def asked_in(folder: str) -> set[str]:
    """The names of the questions that nobody has heard yet. Removes what is left of those whose process has died."""
    waiting = set()
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):  # noqa: PTH208
            name, suffix = os.path.splitext(entry)  # noqa: PTH122
            if suffix == ASK:
                waiting.add(name)
            elif suffix in (_HEARD, _TOLD):
                _remove(Path(folder, entry))
    return waiting


def question_of(path: str) -> str:
    """The name of the question that a file is; empty if it is none."""
    return os.path.basename(path).removesuffix(ASK) if path.endswith(ASK) else ""  # noqa: PTH119


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Whether it comes to hold in that time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(_STEP_S)
    return True


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
