"""Folders that are judged by their path alone, for a watcher in a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sidecar.parts.watched_folders import JudgedFolder, JudgeFolder


@dataclass(frozen=True)
class _Judged:
    ignored: bool
    inside: JudgeFolder


def ignoring(is_ignored: Callable[[str], bool]) -> JudgeFolder:
    """Ignores each folder, by its relative path, for which `is_ignored` is true."""

    def judge(folder: str) -> JudgedFolder:
        return _Judged(bool(folder) and is_ignored(folder), judge)

    return judge


IGNORES_NOTHING = ignoring(lambda _: False)
