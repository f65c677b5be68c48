"""Finds secrets in a file's text. Some files are withheld whole; in the others the secret values are masked.

The rules prefer precision: code that mentions a pattern, a placeholder or a documented example key keeps its text.
Messages never repeat a secret. `names` judges by the name alone and is all that the walk needs; `rules` needs a
library. The caller reads files and decides what happens to a withheld one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sidecar.parts.secrets.names import secret_name
from sidecar.shown import count

RULES_VERSION = 4
"""Raise this when the rules change. An index made with other rules is rebuilt."""
MOST_MASKED = 4
"""A file with more secret values than this is withheld, because its purpose is to hold secrets."""
MASK = "*"
_MOST_REPORTED = 8


@dataclass(frozen=True, slots=True)
class SecretScan:
    """The result of examining a file.

    `withheld` says why the whole file is withheld; empty if it is not. `text` is the text with masked values, which has
    the length and the lines of the original; empty if the file is withheld. `masked` counts the masked places.
    `reasons` say where the first eight of these are and what they look like: `line 3: a GitHub token`.
    """

    withheld: str
    text: str
    masked: int = 0
    reasons: tuple[str, ...] = ()


def examine(path: str, text: str) -> SecretScan:
    """Examines a file: first its name, then its text."""
    named = secret_name(path)
    if named:
        return SecretScan(f"by name: {named}", "")
    from sidecar.parts.secrets.rules import find

    found = sorted(find(path, text), key=lambda finding: (finding.start, -finding.end))
    if not found:
        return SecretScan("", text)
    whole = next((finding for finding in found if finding.whole), None)
    if whole is not None:
        return SecretScan(f"line {_line(text, whole.start)}: {whole.name}", "")
    spans = _apart([(finding.start, finding.end, finding.name) for finding in found])
    values = {text[start:end]: name for start, end, name in reversed(spans)}
    if len(values) > MOST_MASKED:
        return SecretScan(
            f"{count(len(values), 'secret')}, the first on line {_line(text, spans[0][0])}: {spans[0][2]}", ""
        )
    hidden = _apart(sorted(_everywhere(text, values)))
    reasons = tuple(f"line {_line(text, start)}: {name}" for start, _, name in hidden[:_MOST_REPORTED])
    return SecretScan("", _hide(text, hidden), len(hidden), reasons)


def _line(text: str, place: int) -> int:
    """Returns the line of a position in the text, 1-based."""
    return text.count("\n", 0, place) + 1


def _everywhere(text: str, values: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """Yields every place where one of the values occurs, even if nothing around it shows that it is a secret."""
    for value, name in values.items():
        at = text.find(value)
        while at >= 0:
            yield at, at + len(value), name
            at = text.find(value, at + len(value))


def _apart(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Joins overlapping spans, which must be sorted. A joined span gets the name of its first part."""
    joined = spans[:1]
    for start, end, name in spans[1:]:
        first, last, known = joined[-1]
        if start < last:
            joined[-1] = (first, max(last, end), known)
        else:
            joined.append((start, end, name))
    return joined


def _hide(text: str, values: list[tuple[int, int, str]]) -> str:
    """Replaces each character of the values by MASK, except newlines, so that everything else stays where it is."""
    pieces, at = [], 0
    for start, end, _ in values:
        hidden = "".join(c if c == "\n" else MASK for c in text[start:end])
        pieces += [text[at:start], hidden]
        at = end
    return "".join([*pieces, text[at:]])
