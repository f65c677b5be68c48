"""The question that a tool asks before it runs, and the message of its result if the answer was not yes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sidecar import shown
from sidecar.tools.context import Context
from sidecar.tools.spec import Answer, Question


def question(
    context: Context,
    tool: str,
    *,
    deed: str,
    title: str,
    detail: str,
    accept: str,
    decline: str = "Keep",
    destructive: bool = False,
    about: str = "",
) -> Question:
    """Returns the question for a person before `tool` changes the workspace or what is stored for it.

    `deed` and `title` end where the workspace's name follows ("delete the index of"). `about` is what else the question
    depends on: an answer counts only for the same `tool`, workspace and `about`.
    """
    root = context.workspace_shown
    asker = shown.named(context.asked_by) if context.asked_by else ""
    names = hashlib.sha256("\0".join(filter(None, (root, about))).encode("utf-8", "backslashreplace"))
    return Question(
        id=f"{tool}-{names.hexdigest()[:12]}",
        tool=tool,
        message=f"{asker or 'A caller'} wants to {deed} {shown.named(root)}.",
        detail=detail,
        accept=accept,
        decline=decline,
        destructive=destructive,
        title=f"{title} {shown.named(Path(root).name or root)}?",
        asker=asker,
    )


def why_cancelled(answer: Answer, state: str) -> str:
    """Returns the message of a declined call: `state` (the state of the index now), why the call was declined and how
    to allow it."""
    if answer == "nobody":
        return (
            f"{state} Nobody could be asked. A person can run it from the editor or the terminal, or allow it with "
            'confirm = "never" in their own settings file.'
        )
    reason = {"timeout": "The question was not answered in time.", "decline": "The answer was no."}
    return f"{state} {reason.get(answer, 'The question was dismissed.')}"
