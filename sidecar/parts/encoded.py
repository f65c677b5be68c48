"""Data that is written as text: data URIs, base64, hexadecimal bytes and the mappings of source maps.

Encoded data has no meaning, but cut into pieces it looks like words to the lexical index and like text to a model. It
is recognised by its shape alone, with limits such that an identifier, a path, a commit id, a UUID or a digest is never
taken for data.

>>> without_encoded("icon: url(data:image/png;base64," + "iVBORw0KGgo" * 20 + ") 0 0")
'icon: url(data:image/png;base64, ) 0 0'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

_FOLD = r"""(?:[ \t"'+,;\\]|\\n){0,12}\r?\n[\s"'#*/]{0,80}"""
"""The text between two lines of one value: quotes and operators of the language, and the next line's indentation."""
_LINE = r"(?=[A-Za-z]*[0-9+/=])[A-Za-z0-9+/]{4,}+(?=={0,2}[ \t\"'+,;)\]}\\]*+(?:\r?\n|\Z))"
"""A further line of a value. It has nothing but data, at least four characters, because the last line may be short."""
_RUN = re.compile(rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{60,}}+(?:{_FOLD}{_LINE})*+={{0,2}}")
_URI = re.compile(r"\bdata:[\w/+.-]*+(?:;[\w=.+-]++)*+,(?=[^\s\"'()<>\\`]{64})")
_PAYLOAD = re.compile(r"[^\s\"'()<>\\`]*+")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?[0-9A-Fa-f]{129,}+(?![0-9A-Za-z])")
"""Longer than SHA-512 in hexadecimal, which people search for."""
_BYTES = re.compile(r"(?:\b0x[0-9A-Fa-f]{1,2}\b[,\s]{0,40}+){32,}|(?:\\x[0-9A-Fa-f]{2}){16,}")
_MAPPINGS = re.compile(r"(?<![A-Za-z0-9+/,;])(?:[A-Za-z0-9+/]{0,12}[,;]){40,}+[A-Za-z0-9+/]*")
_SHORTEST = 100
_LONG = 60
_LONG_RUN = re.compile(rf"[A-Za-z0-9+/]{{{_LONG}}}")
_MANY_GROUPS = 40
_FEW_BYTES = 32
_MOST_KEPT = 1000
"""The number of texts whose result is kept."""
_LONGEST_KEPT = 6000
"""In characters. Chunks of code and prose are shorter."""
_REPEATS = re.compile(r"(.)\1+")


def without_encoded(text: str) -> str:
    """Returns the text with one space in place of each long piece of encoded data. A data URI keeps its media type.

    The result for a text that may be a chunk's is kept for a while, because it is wanted twice: for the words, and for
    the model. Call `without_encoded_once` for other texts.
    """
    return _kept(text) if len(text) <= _LONGEST_KEPT else without_encoded_once(text)


def without_encoded_once(text: str) -> str:
    """Returns the same as `without_encoded`, for a text that is wanted once."""
    # Nearly every text is done here, in a tenth of the time that the patterns take.
    parts = text.split()
    any_long = max(map(len, parts), default=0) >= _LONG
    rest = _without_long_data(text) if any_long and _may_have_data(text, parts) else text
    return _BYTES.sub(" ", rest) if rest.count("0x") >= _FEW_BYTES or (any_long and "\\x" in rest) else rest


_kept = lru_cache(_MOST_KEPT)(without_encoded_once)


def _may_have_data(text: str, parts: Sequence[str]) -> bool:
    """Whether a pattern for data may match. `parts` are those of the text between spaces. What the patterns need is
    always within one part, because none of them begins with a space."""
    if "data:" in text or any(len(part) >= _LONG and _LONG_RUN.search(part) for part in parts):
        return True
    if text.count(",") + text.count(";") < _MANY_GROUPS:
        return False
    return any(part.count(",") + part.count(";") >= _MANY_GROUPS for part in parts)


def _without_long_data(text: str) -> str:
    return _HEX.sub(" ", _MAPPINGS.sub(_kept_names, _RUN.sub(_kept_words, _without_payloads(text))))


def _without_payloads(text: str) -> str:
    if "data:" not in text:
        return text
    kept, at = [], 0
    for uri in _URI.finditer(text):
        if uri.start() < at:
            continue
        kept += [text[at : uri.end()], " "]
        shapes = (_PAYLOAD, _RUN) if uri.group().endswith(";base64,") else (_PAYLOAD,)
        at = max(found.end() for shape in shapes if (found := shape.match(text, uri.end())))
    return "".join((*kept, text[at:]))


def _kept_words(run: re.Match[str]) -> str:
    return " " if _is_base64(re.sub("[^A-Za-z0-9+/]", "", run.group())) else run.group()


def _is_base64(run: str) -> bool:
    """Whether a run of base64's characters is base64. In base64 the digits, capitals and small letters alternate at
    random. In words, camel case and paths they come in groups, and a digest has letters of one case only."""
    if len(run) < _SHORTEST:
        return False
    mixed = _REPEATS.sub(r"\1", run)
    kinds = ["0" if c.isdigit() else "A" if c.isupper() else "a" if c.islower() else "+" for c in mixed]
    if any(kinds.count(kind) < share * len(kinds) for kind, share in (("0", 0.03), ("A", 0.1), ("a", 0.1))):
        return False
    return sum(a != b for a, b in pairwise(kinds)) >= 0.4 * len(kinds)


def _kept_names(listed: re.Match[str]) -> str:
    """Returns a space in place of a source map's mappings, but a list of names unchanged. The second of a mapping's
    four or five numbers is nearly always `A`, zero: the source file is the same as before."""
    groups = [group for group in re.split("[,;]", listed.group()) if len(group) > 3]
    same_file = sum("A" in group[1:4] for group in groups)
    return " " if groups and same_file >= 0.9 * len(groups) else listed.group()
