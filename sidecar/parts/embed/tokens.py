"""Splits identifiers into words before a model's tokeniser sees them.

This is what the models were trained or measured with. It is not the lexical index's tokeniser: case, stop words
and stems stay as they are here, and only ASCII identifiers are cut.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"(\w+)", re.ASCII)
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+|(?<=[A-Za-z])(?=[0-9])")


def split_identifiers(text: str) -> str:
    """`getHTTPResponse_v2` becomes `get HTTP Response v 2`; everything else stays.

    Cuts between lower case or digit and upper case, before the last capital of a run, between letter and digit,
    and at underscores.
    """
    pieces = _WORD.split(text)
    pieces[1::2] = map(_split_word, pieces[1::2])
    return "".join(pieces)


# Code repeats its words: remembering them halves the time of the whole split.
@lru_cache(maxsize=1 << 14)
def _split_word(word: str) -> str:
    return _SEAM.sub(" ", word)
