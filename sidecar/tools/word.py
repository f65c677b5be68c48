"""Whose word counts when a tool wants to ask a person. Decision: docs/decisions/0013-whose-word-counts.md.

Who is then asked, and how, is in `sessions.py` and in each surface.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Confirm: TypeAlias = Literal["auto", "always", "never"]
_STRICTNESS: tuple[Confirm, ...] = ("never", "auto", "always")


class Words(NamedTuple):
    """The setting `confirm` of one session in one workspace.

    `user`: as the user's settings file has it, or the default; the workspace's settings can only have made it stricter.
    `own`: with everything that the session brings along: environment, options and the editor's settings.
    """

    user: Confirm
    own: Confirm

    @classmethod
    def of(cls, word: Confirm) -> Words:
        """The user's word, to which the session adds nothing."""
        return cls(word, word)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call. `person`: somebody at an editor or at a terminal; `script`: a shell without a terminal;
    `agent`: a program at another door. `yes`: a script says that the answer to every question is yes."""

    kind: Literal["person", "script", "agent"] = "person"
    yes: bool = False

    def word(self, words: Words) -> Confirm:
        """The word that counts for this caller.

        A person may say anything. A script may loosen what a machine without a person needs loosened, but not the
        user's `always`. An agent may only make it stricter.
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
    """The one that asks most; `never` if there is none."""
    return max(words, key=_STRICTNESS.index, default="never")
