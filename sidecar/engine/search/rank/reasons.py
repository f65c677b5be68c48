"""Says in words why a hit was found: groups the contributions of features into reasons that people understand.

The share of a reason is its part, in percent, of everything that raises the file's score; the shares of a hit sum to
100. The scorer's `base` is the same for every file and therefore not a reason. Features that lower the score are listed
separately, without a share.
"""

from __future__ import annotations

from collections.abc import Mapping

from sidecar.engine.search.rank.features import FEATURES

REASONS: Mapping[str, str] = {
    "definition": "it defines what the query names",
    "named": "the question names this file, or a traceback in it does",
    "name": "its name or a folder's contains the query's words",
    "text": "its text contains the query's words",
    "meaning": "it is close in meaning to the query",
    "use": "other files use it, or it gathers what they define",
    "length": "it is one of the longer files",
    "other": "what kind of file it is",
}
"""The sentence for each reason, by its name in `shares`."""

_BY_FEATURE: Mapping[str, str] = {
    "named_in_text": "named",
    "stem_strength": "name",
    "folder_words": "name",
    "named_so": "name",
    "behind_twin": "name",
    "defines_sought": "definition",
    "defines_symbol": "definition",
    "leads_sought": "definition",
    "defines_word": "definition",
    "users_match": "use",
    "users_mean": "use",
    "mentioned": "use",
    "is_barrel": "use",
    "length": "length",
    "length_rank": "length",
}
_BY_FAMILY: Mapping[str, str] = {"word": "text", "meaning": "meaning", "prior": "other"}
"""The reason of a feature that `_BY_FEATURE` does not name."""
_REASON_OF: Mapping[str, str] = {f.name: _BY_FEATURE.get(f.name, _BY_FAMILY[f.family]) for f in FEATURES}
_SAYS: Mapping[str, str] = {feature.name: feature.says for feature in FEATURES}


def shares_of(parts: Mapping[str, float]) -> dict[str, int]:
    """Returns the percentage of each reason, largest first. They sum to 100 in spite of rounding; empty if nothing
    raises the score.

    `parts` are contributions by feature name; names that are not features are left out."""
    if not parts:
        return {}
    sums: dict[str, float] = {}
    for name, value in parts.items():
        if value > 0 and name in _REASON_OF:
            reason = _REASON_OF[name]
            sums[reason] = sums.get(reason, 0.0) + value
    percents = _hundred(sums)
    return {reason: percents[reason] for reason in sorted(percents, key=lambda r: (-sums[r], r)) if percents[reason]}


def in_words(parts: Mapping[str, float]) -> tuple[str, ...]:
    """Returns the reasons as sentences for people, such as `its text contains the query's words (46 %)`, followed by
    what lowers the score, such as `it is a test (counts against it)`; each group has the largest first."""
    if not parts:
        return ()
    found = [f"{REASONS[reason]} ({percent} %)" for reason, percent in shares_of(parts).items()]
    lowering = sorted((value, name) for name, value in parts.items() if value < 0 and name in _SAYS)
    return (*found, *(f"{_SAYS[name]} (counts against it)" for _, name in lowering))


def _hundred(sums: Mapping[str, float]) -> dict[str, int]:
    """Returns whole percentages that sum to 100: those with the largest remainders are rounded up (largest remainder
    method)."""
    whole = sum(sums.values())
    exact = {name: 100 * value / whole for name, value in sums.items()}
    percents = {name: int(value) for name, value in exact.items()}
    missing = 100 - sum(percents.values()) if percents else 0
    for name in sorted(exact, key=lambda n: (percents[n] - exact[n], n))[:missing]:
        percents[name] += 1
    return percents
