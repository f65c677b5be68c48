"""Searches several workspaces at once and merges the answers into one ranked list.

A score compares the results of one workspace only: its best result has about the same score whether it answers the
question or not. What can be compared between workspaces is the probability that each has an answer at all
(`engine/search/rank/confidence.py`). The score of a merged result is therefore that probability, multiplied by the
result's score relative to the best one of its workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from pydantic import Field

from sidecar import shown
from sidecar.errors import Cancelled, IndexNotFound, InvalidParams, SidecarError
from sidecar.model.answers import Hit, SearchAnswer, SearchRequest
from sidecar.model.workspace import Workspace
from sidecar.tools.context import Context
from sidecar.tools.spec import ToolSpec, widened

AT_ONCE = 4
"""How many workspaces of one call are searched at the same time."""

RequestFor: TypeAlias = Callable[[Workspace], SearchRequest]
"""Makes the request to a workspace, whose own settings fill in what the call leaves open."""


class _Asked(NamedTuple):
    """A workspace, and its answer or the error that it raised."""

    name: str
    answer: SearchAnswer | SidecarError


def over_several(tool: ToolSpec, names: Sequence[str], about: str = "", others: str = "") -> ToolSpec:
    """Returns the search tool with the parameter `workspaces`: names among `names`, none for all of them.

    `about` ends the parameter's description. The tool raises `InvalidParams` for any other name; `others` is a sentence
    that says how to get another one.
    """
    known = tuple(names)
    about_it: Any = Field(
        [], max_length=max(20, len(known)), description=f"Only these workspaces{about}.", examples=[["app"]]
    )

    def run(context: Context, given: Any) -> Any:
        chosen = tuple(dict.fromkeys(given.workspaces)) or known
        for name in chosen:
            if name not in known:
                raise unknown_workspace(name, known, others)
        return tool.run(replace(context, several=chosen), given)

    return replace(tool, params=widened(tool.params, workspaces=(list[str], about_it)), run=run)


def unknown_workspace(name: str, known: Sequence[str], others: str = "") -> InvalidParams:
    """Returns the error for a name that is none of `known`. It does not reveal whether somebody else has a workspace of
    that name."""
    yours = f"There are: {', '.join(map(shown.quoted, known))}." if known else ""
    return InvalidParams(" ".join(filter(None, (f"There is no workspace {shown.quoted(name)}.", yours, others))))


def search_several(context: Context, request_for: RequestFor) -> SearchAnswer:
    """Returns the merged answer of the workspaces in `context.several`; each hit names its workspace.

    A workspace that cannot answer is named in the notice. If none answers, raises the first one's error.
    `InvalidParams` and `Cancelled`, which every workspace would raise, are raised at once.
    """
    wanted: list[SearchRequest] = []

    def ask(name: str) -> _Asked:
        try:
            workspace = context.open(name)
            request = request_for(workspace)
            wanted.append(request)
            whole = replace(request, offset=0, top_k=request.offset + request.top_k, token_budget=0)
            return _Asked(name, workspace.search(whole, context.cancelled))
        except (InvalidParams, Cancelled):
            raise
        except SidecarError as error:
            return _Asked(name, error)

    with ThreadPoolExecutor(min(AT_ONCE, len(context.several)), thread_name_prefix="sidecar-several") as threads:
        asked = list(threads.map(lambda name: copy_context().run(ask, name), context.several))
    answers = {one.name: one.answer for one in asked if isinstance(one.answer, SearchAnswer)}
    failures = {one.name: one.answer for one in asked if isinstance(one.answer, SidecarError)}
    if not answers:
        raise next(iter(failures.values()))
    return _merged(answers, failures, wanted[0])


def _merged(
    answers: Mapping[str, SearchAnswer], failures: Mapping[str, SidecarError], request: SearchRequest
) -> SearchAnswer:
    from sidecar.engine.search.budget import within_budget

    hits = _ranked(answers)[request.offset : request.offset + request.top_k]
    first = next(iter(answers.values()))
    with_hits = [answer for answer in answers.values() if answer.hits]
    confident = [answer.confidence for answer in answers.values() if answer.confidence is not None]
    return SearchAnswer(
        hits=within_budget(hits, request.token_budget, lambda _: ()),
        total=sum(answer.total for answer in answers.values()),
        mode=first.mode,
        took_ms=max(answer.took_ms for answer in answers.values()),
        notice=_notice(answers, failures),
        stages_ms=first.stages_ms if len(answers) == 1 else {},
        model=first.model,
        reason="" if hits else _reason(answers, request.offset),
        confidence=max(confident, default=None),
        weak=bool(with_hits) and all(answer.weak for answer in with_hits),
    )


def _ranked(answers: Mapping[str, SearchAnswer]) -> list[Hit]:
    """Returns every hit with its workspace, best first. Hits with equal scores keep the order of the workspaces, then
    that within each."""
    known = all(answer.confidence is not None for answer in answers.values() if answer.hits)
    placed = [
        replace(hit, workspace=name, score=_comparable(answer, hit) if known and len(answers) > 1 else hit.score)
        for name, answer in answers.items()
        for hit in answer.hits
    ]
    return sorted(placed, key=lambda hit: -hit.score)


def _comparable(answer: SearchAnswer, hit: Hit) -> float:
    best = answer.hits[0].score
    return (answer.confidence or 0.0) * (hit.score / best if best > 0 else 0.0)


def _notice(answers: Mapping[str, SearchAnswer], failures: Mapping[str, SidecarError]) -> str:
    """Returns a sentence for each workspace, behind its name: its own notice, or why it was not searched."""
    said = [f"{shown.quoted(name)}: {answer.notice}" for name, answer in answers.items() if answer.notice]
    for name, error in failures.items():
        why = "no index." if isinstance(error, IndexNotFound) else error.user_message
        said.append(f"{shown.quoted(name)}: not searched, {why[0].lower()}{why[1:]}")
    return " ".join(said)


def _reason(answers: Mapping[str, SearchAnswer], offset: int) -> str:
    reasons = [f"{shown.quoted(name)}: {answer.reason}" for name, answer in answers.items() if answer.reason]
    if len(reasons) == len(answers):
        return " ".join(reasons)
    return f"The offset {offset} is past the end of what the workspaces have found."
