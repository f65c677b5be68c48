"""Merges the paths that several folders have found into one list that names each path's workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from sidecar import shown

_SAID = ("notice", "reason")
Answered: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]
"""Each folder's path and its tool result, in the client's order of folders."""


def merge_paths(answers: Answered, limit: int) -> dict[str, Any]:
    """Returns the first `limit` matches, best first if they have scores, otherwise in alphabetical order;
    `workspaces[i]` is the folder of `matches[i]`."""
    rows = chain.from_iterable(
        ((path, folder, score) for path, score in zip(answer["matches"], _scores(answer), strict=True))
        for folder, answer in answers
    )
    found = sorted(rows, key=lambda row: (-row[2], row[0]))[:limit]
    scored = {"scores": [score for _, _, score in found]} if "scores" in answers[0][1] else {}
    return {
        **{key: value for key, value in answers[0][1].items() if key not in _SAID},
        **_notice(answers),
        **_reason(answers, found),
        **scored,
        "matches": [path for path, _, _ in found],
        "workspaces": [folder for _, folder, _ in found],
        "totalMatches": sum(answer["totalMatches"] for _, answer in answers),
    }


def noting_left_out(merged: dict[str, Any], folders: Sequence[str]) -> dict[str, Any]:
    """Adds a notice that names the folders that were not searched because they have no index."""
    if not folders:
        return merged
    said = [
        *([merged["notice"]] if merged.get("notice") else []),
        *(f"{shown.quoted(one)}: not searched, no index." for one in folders),
    ]
    return {**merged, "notice": " ".join(said)}


def _reason(answers: Answered, rows: Sequence[Any]) -> dict[str, str]:
    """If there are no rows, joins the folders' reasons for finding nothing, each after the name of its folder."""
    if rows:
        return {}
    reasons = [f"{shown.quoted(folder)}: {answer['reason']}" for folder, answer in answers if answer.get("reason")]
    return {"reason": " ".join(reasons)} if reasons else {}


def _scores(answer: Mapping[str, Any]) -> Sequence[float]:
    scores: Sequence[float] | None = answer.get("scores")
    return scores if scores is not None else [0.0] * len(answer["matches"])


def _notice(answers: Answered) -> dict[str, str]:
    """Joins the folders' notices, each after the name of its folder."""
    notices = [f"{shown.quoted(folder)}: {answer['notice']}" for folder, answer in answers if answer.get("notice")]
    return {"notice": " ".join(notices)} if notices else {}
