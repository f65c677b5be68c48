"""Whose setting `confirm` counts when a tool wants to ask a person. Decision: docs/decisions/0013-whose-word-counts.md.

`sessions.py` and each surface then decide who is asked, and how.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Confirm: TypeAlias = Literal["auto", "always", "never"]
_STRICTNESS: tuple[Confirm, ...] = ("never", "auto", "always")


class Words(NamedTuple):
    """The setting `confirm` of one session in one workspace.

    `user`: from the user's settings file, or the default; the workspace's settings can only have made it stricter.
    `own`: with everything that the session adds: environment, options and the editor's settings.
    """

    user: Confirm
    own: Confirm

    @classmethod
    def of(cls, word: Confirm) -> Words:
        """Makes the words of a session that adds nothing to the user's setting."""
        return cls(word, word)


@dataclass(frozen=True, slots=True)
class Caller:
    """The kind of caller. `person`: somebody at an editor or at a terminal; `script`: a shell without a terminal;
    `agent`: a program at another door. `yes`: a script that answers every question with yes."""

    kind: Literal["person", "script", "agent"] = "person"
    yes: bool = False

    def word(self, words: Words) -> Confirm:
        """Returns the setting that counts for this caller.

        A person may choose any. A script may loosen `auto`, since no person can answer for it, but not the user's
        `always`. An agent may only make it stricter.
        """
        if self.kind == "person":
            return words.own
        if self.kind == "agent":
            return strictest(words)
        claimed: Confirm = "never" if self.yes and words.own == "auto" else words.own
        return "always" if words.user == "always" else claimed


PERSON = Caller("person")
AGENT = Caller("agent")


def strictest(words: Iterable[Confirm]) -> Confirm:
    """Returns the setting that asks most; `never` if there are no words."""
    return max(words, key=_STRICTNESS.index, default="never")
