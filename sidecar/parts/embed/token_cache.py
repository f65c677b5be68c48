"""Tokenises plain ASCII texts word by word and remembers the tokens of each word.

Such texts repeat their words, so looking them up takes less time than the library needs for the whole text.
The result is the same because the tokeniser (BERT's: Devlin et al., 2019) separates words and punctuation marks first
and then divides each of them alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from sidecar.model.terms import Ids

_NOT_PLAIN = re.compile(r"[^\n\r\t -~]")
_PIECE = re.compile(r"\w+|[^\w\s]", re.ASCII)
_Tokens: TypeAlias = tuple[int, ...]
_MOST_CHARS = 1 << 18
"""About 35,000 words of code."""


def is_plain(text: str) -> bool:
    """Whether the text is printable ASCII and usual whitespace."""
    return not _NOT_PLAIN.search(text)


def only_lowers(told: Mapping[str, Any]) -> bool:
    """Whether the normaliser of a tokeniser, given as its file, only changes plain text to lower case."""
    normalizer = told["normalizer"] or {}
    return normalizer.get("type") == "BertNormalizer" and normalizer.get("lowercase") is True


def divides_by_word(told: Mapping[str, Any]) -> bool:
    """Whether the tokeniser, given as its file, gives each word and punctuation mark of a plain text in lower case the
    same tokens as alone."""
    return (
        (told["pre_tokenizer"] or {}).get("type") == "BertPreTokenizer"
        and told["truncation"] is None
        and told["model"].get("type") == "WordPiece"
        # Added tokens are looked for before words are separated; those with a capital letter cannot occur.
        and all(token["content"] != token["content"].lower() for token in told["added_tokens"])
    )


class TokenCache:
    """The tokens of the words seen last, and of their parts. Thread-safe.

    `divided` returns a text in the form that is tokenised: in lower case, and possibly with spaces between the parts of
    its words; it leaves line ends where they are. `tokens_of` returns the token ids of each of some parts, without
    special tokens; `divides_by_word` says which tokenisers it may use. At most about `most_chars` characters of words
    are remembered, and as many of parts.
    """

    def __init__(
        self,
        divided: Callable[[str], str],
        tokens_of: Callable[[Sequence[str]], Iterable[Sequence[int]]],
        most_chars: int = _MOST_CHARS,
    ) -> None:
        self._divided = divided
        self._words = _Known(self._tokens_of_words, most_chars)
        self._parts = _Known(lambda parts: map(tuple, tokens_of(parts)), most_chars)

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """Returns the token ids of plain texts, without special tokens."""
        pieces = [_PIECE.findall(text) for text in texts]
        return [np.array(list(ids), dtype=np.int64) for ids in self._words.of_all(pieces)]

    def _tokens_of_words(self, words: Sequence[str]) -> Iterable[_Tokens]:
        # All words are divided at once: most of the time would go into the calls.
        parts = [word.split() for word in self._divided("\n".join(words)).split("\n")]
        return map(tuple, self._parts.of_all(parts))


class _Known:
    """What `make` returned for the keys asked for last, in dicts of at most about `most_chars` characters."""

    def __init__(self, make: Callable[[Sequence[str]], Iterable[_Tokens]], most_chars: int) -> None:
        self._make = make
        self._most_chars = most_chars
        self._found: dict[str, _Tokens] = {}
        self._chars = 0

    def of_all(self, lists: Sequence[Sequence[str]]) -> Iterable[Iterable[int]]:
        """Returns the tokens of each list of keys: those of its keys, one after the other."""
        tokens = self._having(set().union(*lists))
        return (chain.from_iterable(map(tokens.__getitem__, keys)) for keys in lists)

    def _having(self, keys: AbstractSet[str]) -> Mapping[str, _Tokens]:
        """Returns a dict with at least these keys, from which nobody will take them."""
        # Another thread may begin another dict meanwhile.
        found = self._found
        new = [key for key in keys if key not in found]
        if not new:
            return found
        made = dict(zip(new, self._make(new), strict=True))
        self._chars += sum(map(len, new))
        if self._chars > self._most_chars:
            found = {key: found[key] for key in keys if key in found} | made
            self._found, self._chars = found, sum(map(len, found))
        else:
            found.update(made)
        return found
