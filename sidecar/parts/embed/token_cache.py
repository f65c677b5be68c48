"""Counts the tokens of plain ASCII texts word by word and remembers the tokens of each word.

Such texts repeat their words, so looking them up takes less time than the library needs for the whole text.
The result is the same because the tokeniser (BERT's: Devlin et al., 2019) separates words and punctuation marks first
and then divides each of them alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from string import punctuation
from typing import Any, TypeAlias

import numpy as np

from sidecar.model.terms import Ids
from sidecar.parts.bags import counted, occurrences
from sidecar.parts.lexical.tokens import words

_NOT_PLAIN = re.compile(r"[^\n\r\t -~]")
_PIECE = re.compile(r"\w+|[^\w\s]", re.ASCII)
_MARKS = punctuation.replace("_", "")
"""Each of these is a word of its own."""
_MARK_OF = np.full(128, -1)
_MARK_OF[list(_MARKS.encode())] = np.arange(len(_MARKS))
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

    def count(self, texts: Sequence[str]) -> list[tuple[Ids, Ids]]:
        """Returns the different token ids of each plain text, ascending and without special tokens, and how often each
        occurs in it."""
        if len(texts) == 1:
            return [self._count_one(texts[0])]
        found = occurrences([words(text) for text in texts])
        marks = _MARK_OF[np.frombuffer("".join(texts).encode(), np.uint8)]
        are_marks = marks >= 0
        of_text = np.repeat(np.arange(len(texts)), list(map(len, texts)))
        tokens = self._words.of([*found.words, *_MARKS])
        bags = counted(
            np.concatenate([found.word, marks[are_marks] + len(found.words)]),
            np.concatenate([found.bag, of_text[are_marks]]),
            len(texts),
            np.fromiter(chain.from_iterable(tokens), np.int64),
            np.fromiter(map(len, tokens), np.int64, len(tokens)),
        )
        starts = bags.starts.tolist()
        return [(bags.items[start:end], bags.counts[start:end]) for start, end in pairwise(starts)]

    def _count_one(self, text: str) -> tuple[Ids, Ids]:
        # A question has a few words, for which the calls above would take four times as long.
        pieces = _PIECE.findall(text)
        tokens = self._words.having(set(pieces))
        ids = list(chain.from_iterable(map(tokens.__getitem__, pieces)))
        return np.unique(np.array(ids, np.int64), return_counts=True)

    def _tokens_of_words(self, words: Sequence[str]) -> Iterable[_Tokens]:
        # All words are divided at once: most of the time would go into the calls.
        parts = [word.split() for word in self._divided("\n".join(words)).split("\n")]
        tokens = self._parts.having({part for some in parts for part in some})
        return (tuple(chain.from_iterable(map(tokens.__getitem__, some))) for some in parts)


class _Known:
    """What `make` returned for the keys asked for last, in dicts of at most about `most_chars` characters."""

    def __init__(self, make: Callable[[Sequence[str]], Iterable[_Tokens]], most_chars: int) -> None:
        self._make = make
        self._most_chars = most_chars
        self._found: dict[str, _Tokens] = {}
        self._chars = 0

    def of(self, keys: Sequence[str]) -> list[_Tokens]:
        """Returns the tokens of each key."""
        return list(map(self.having(keys).__getitem__, keys))

    def having(self, keys: Collection[str]) -> Mapping[str, _Tokens]:
        """Returns a dict with at least these keys, which must be different, and from which nobody will take them."""
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
