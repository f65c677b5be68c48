"""Counts what the words of many texts consist of, all texts at once.

A bag is what occurs in one text, in no order. The texts of one file share most of their words, so each word is looked
up once, and the rest is done in a few operations on arrays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np

from sidecar.model.terms import Ids


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Occurrences of words in bags, as parallel arrays: the number of the word, and the number of the bag, ascending.
    `words` are the different words; a word's number is its position there."""

    words: list[str]
    word: Ids
    bag: Ids


@dataclass(frozen=True, slots=True)
class Bags:
    """What bags contain, one after the other. Bag i has the numbers `items[starts[i]:starts[i+1]]`, ascending and
    different, and the same slice of `counts` says how often each occurs in it. `lengths` are the sums of its counts."""

    items: Ids
    counts: Ids
    starts: Ids
    lengths: Ids


def occurrences(bags: Sequence[Sequence[str]]) -> Occurrences:
    """Returns the occurrences of all words in these bags."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    sizes = np.fromiter(map(len, bags), np.int64, len(bags))
    word = np.fromiter(map(numbers.__getitem__, chain.from_iterable(bags)), np.int64, int(sizes.sum()))
    return Occurrences(list(numbers), word, np.repeat(np.arange(len(bags)), sizes))


def in_groups(bags: Iterable[Sequence[str]], most_words: int) -> Iterator[list[Sequence[str]]]:
    """Yields the bags in groups, each closed once it has so many words, so that few words are in memory at once."""
    group: list[Sequence[str]] = []
    words = 0
    for bag in bags:
        group.append(bag)
        words += len(bag)
        if words >= most_words:
            yield group
            group, words = [], 0
    if group:
        yield group


def joined(parts: Sequence[Bags]) -> Bags:
    """Returns the bags of all parts, one part after the other. There must be at least one part."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([len(part.items) for part in parts])
    begins = [0, *ends[:-1].tolist()]
    starts = [part.starts[:-1] + begin for part, begin in zip(parts, begins, strict=True)]
    return Bags(
        np.concatenate([part.items for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([*starts, ends[-1:]]),
        np.concatenate([part.lengths for part in parts]),
    )


def counted(word: Ids, bag: Ids, bags: int, parts: Ids, sizes: Ids) -> Bags:
    """Counts, in each of so many bags, the parts of its words.

    `word` and `bag` are parallel, with one item for each occurrence. `parts` are those of all words, numbers from 0 up,
    one word after the other; word i has `sizes[i]` of them.
    """
    widths = sizes[word]
    bag = np.repeat(bag, widths)
    at = np.repeat(np.cumsum(sizes)[word] - np.cumsum(widths), widths) + np.arange(len(bag))
    # Each occurrence of a part is one number, and equal numbers are counted.
    span = int(parts.max(initial=0)) + 1
    keys = bag * span + parts[at]
    keys.sort()
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    in_bag, items = np.divmod(keys[firsts], span)
    return Bags(
        items,
        np.diff(firsts, append=len(keys)),
        np.searchsorted(in_bag, np.arange(bags + 1)),
        np.bincount(bag, minlength=bags),
    )
