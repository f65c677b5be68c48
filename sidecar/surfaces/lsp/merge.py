"""Merges the answers of several folders into one: results in order of score, each with its workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from sidecar import shown

_SAID = ("notice", "reason")
Answered: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]
"""Each folder's path and its tool result, in the client's order of folders."""


def widened(arguments: Mapping[str, Any], page: int) -> dict[str, Any]:
    """Returns the arguments to send to each folder, so that a page can be cut from the merged list.

    Each folder is asked for its first `offset` + `page` results, at most 50 (the limit of `top_k`). That is how far one
    can page through a search over several folders.
    """
    offset = arguments.get("offset")
    if not isinstance(offset, int) or isinstance(offset, bool) or offset <= 0:
        return dict(arguments)
    return {**arguments, "offset": 0, "top_k": max(1, min(50, offset + page))}


def merge_searches(answers: Answered, offset: int, page: int) -> dict[str, Any]:
    """Returns the page of `page` results that begins at `offset`. Equal scores keep the order of the folders."""
    if all("r" in answer for _, answer in answers):
        rows = _by_score(answers, "r", "s", "w")[offset : offset + page]
        return {
            **{key: answers[0][1][key] for key in ("q",) if key in answers[0][1]},
            **_notice(answers),
            **_reason(answers, rows, offset),
            "r": rows,
            "n": len(rows),
            **_slowest(answers, "ms"),
            **_further(answers, "f", offset, page),
        }
    first = answers[0][1]
    rows = _by_score(answers, "results", "score", "workspace")[offset : offset + page]
    available = sum(answer.get("available", answer["totalResults"]) for _, answer in answers)
    return {
        **{key: value for key, value in first.items() if key not in _SAID},
        **_notice(answers),
        **_reason(answers, rows, offset),
        "results": rows,
        "totalResults": len(rows),
        **({"available": available} if available > len(rows) else {}),
        **_slowest(answers, "searchTimeMs"),
        **_further(answers, "further", offset, page),
    }


def _slowest(answers: Answered, field: str) -> dict[str, float]:
    """The longest time; none in the answer to a further question."""
    times = [answer[field] for _, answer in answers if field in answer]
    return {field: max(times)} if times else {}


def _further(answers: Answered, field: str, offset: int, page: int) -> dict[str, list[dict[str, Any]]]:
    """The merged answers to all questions but the first. Every folder was asked them in the same order."""
    questions = zip(*([(folder, one) for one in answer.get(field, ())] for folder, answer in answers), strict=True)
    merged = [merge_searches(question, offset, page) for question in questions]
    return {field: merged} if merged else {}


def merge_paths(answers: Answered, limit: int) -> dict[str, Any]:
    """Returns the first `limit` matches, in alphabetical order or, where they have scores, best first;
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
        **_reason(answers, found, 0),
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


def _reason(answers: Answered, rows: Sequence[Any], offset: int) -> dict[str, str]:
    """Joins the folders' reasons for having found nothing, each behind the name of its folder, if there are no rows."""
    if rows:
        return {}
    reasons = [f"{shown.quoted(folder)}: {answer['reason']}" for folder, answer in answers if answer.get("reason")]
    if reasons and len(reasons) == len(answers):
        return {"reason": " ".join(reasons)}
    return {"reason": f"The offset {offset} is past the end of what the folders have found."}


def _by_score(answers: Answered, rows: str, score: str, workspace: str) -> list[dict[str, Any]]:
    found = [{**row, workspace: folder} for folder, answer in answers for row in answer[rows]]
    return sorted(found, key=lambda row: -row[score])


def _scores(answer: Mapping[str, Any]) -> Sequence[float]:
    scores: Sequence[float] | None = answer.get("scores")
    return scores if scores is not None else [0.0] * len(answer["matches"])


def _notice(answers: Answered) -> dict[str, str]:
    """Joins the folders' notices, each behind the name of its folder."""
    notices = [f"{shown.quoted(folder)}: {answer['notice']}" for folder, answer in answers if answer.get("notice")]
    return {"notice": " ".join(notices)} if notices else {}
