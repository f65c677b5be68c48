"""Lists for a reranker as tokens: `[CLS] question [SEP] passage [SEP]`, padded in groups of similar length."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .rerank_lists import KINDS, RIGHT, ListFile
from .token_rows import FIRST, LAST, PADDING, TokenRows, tokenised

QUESTION_TOKENS, ALL_TOKENS = 96, 240
"""The most tokens of a question, and of a question with its passage and the three special tokens."""
_PASSAGE_TOKENS = 200
_LONG_QUESTION = 4 * QUESTION_TOKENS
_QUESTION_CHARS = 1500
_KEPT_START = 24
_OTHER_PART = 0.4
"""How often in training a later part of a long question is read, below its first `_KEPT_START` tokens."""
_MOST_RIGHT = 6
_MULTIPLE = 8

Ids = NDArray[np.int64]
Values = NDArray[np.float32]


@dataclass(frozen=True)
class Listed:
    """A list as tokens. `repository` is a place in the files, `kind` in KINDS (-1: for evaluation), `question` and
    `passages` are rows."""

    repository: int
    kind: int
    question: int
    passages: Ids
    labels: Ids
    scores: Values


@dataclass(frozen=True)
class TokenLists:
    """All lists, and the tokens of their questions and passages."""

    lists: list[Listed]
    questions: TokenRows
    passages: TokenRows


@dataclass(frozen=True)
class Batch:
    """Some lists, ready for the model. A pair is a question with one of its passages.

    `groups` have the ids and types of pairs of similar length, both [pairs, longest]; `back` puts the scores of all
    groups into the order of the pairs. `owner` is the place of each pair's list in the batch, `labels` and `scores` are
    those of the pair; `kinds` are those of the lists.
    """

    groups: list[tuple[Ids, Ids]]
    back: Ids
    owner: Ids
    labels: Ids
    scores: Values
    kinds: Ids


def token_lists(files: Sequence[ListFile], tokenizer: Path) -> TokenLists:
    """The lists of all files. Identifiers are split, as the product does."""
    lists: list[Listed] = []
    questions: list[str] = []
    texts: list[str] = []
    for repository, file in enumerate(files):
        for one in file.lists:
            passages = np.array(one.passages, np.int64) + len(texts)
            kind = KINDS.index(one.kind) if one.labels else -1
            labels, scores = np.array(one.labels, np.int64), np.array(one.scores, np.float32)
            lists.append(Listed(repository, kind, len(questions), passages, labels, scores))
            questions.append(re.sub(r"\s+", " ", one.question)[:_QUESTION_CHARS])
        texts.extend(file.passages)
    return TokenLists(
        lists, tokenised(questions, tokenizer, _LONG_QUESTION), tokenised(texts, tokenizer, _PASSAGE_TOKENS)
    )


def batch_of(tokens: TokenLists, lists: Sequence[Listed], groups: int) -> Batch:
    """All passages of these lists, with the start of each question."""
    pairs = [
        _pair(tokens, tokens.questions.row(one.question)[:QUESTION_TOKENS], row)
        for one in lists
        for row in one.passages
    ]
    return _batch(lists, pairs, groups)


def training_batch(
    tokens: TokenLists, lists: Sequence[Listed], groups: int, most: int, chance: np.random.Generator
) -> Batch:
    """At most `most` passages of each list: its right ones, up to six, and others at random."""
    chosen = [_sample(one, most, chance) for one in lists]
    pairs = []
    for one in chosen:
        question = _part(tokens.questions.row(one.question), chance)
        pairs += [_pair(tokens, question, row) for row in one.passages]
    return _batch(chosen, pairs, groups)


def _sample(one: Listed, most: int, chance: np.random.Generator) -> Listed:
    if len(one.passages) <= most:
        return one
    right, others = np.flatnonzero(one.labels == RIGHT)[:_MOST_RIGHT], np.flatnonzero(one.labels != RIGHT)
    taken = chance.choice(others, min(len(others), most - len(right)), replace=False)
    kept = np.sort(np.concatenate([right, taken]))
    return Listed(one.repository, one.kind, one.question, one.passages[kept], one.labels[kept], one.scores[kept])


def _part(question: NDArray[np.uint16], chance: np.random.Generator) -> NDArray[np.uint16]:
    """At most `QUESTION_TOKENS` of a question: its start, or sometimes its first words and a later part."""
    if len(question) > QUESTION_TOKENS and chance.random() < _OTHER_PART:
        rest = QUESTION_TOKENS - _KEPT_START
        start = int(chance.integers(_KEPT_START, len(question) - rest + 1))
        return np.concatenate([question[:_KEPT_START], question[start : start + rest]])
    return question[:QUESTION_TOKENS]


_Pair = tuple[NDArray[np.uint16], NDArray[np.uint16]]


def _pair(tokens: TokenLists, question: NDArray[np.uint16], row: int) -> _Pair:
    return question, tokens.passages.row(row)[: ALL_TOKENS - 3 - len(question)]


def _batch(lists: Sequence[Listed], pairs: Sequence[_Pair], groups: int) -> Batch:
    order = np.argsort([len(question) + len(passage) for question, passage in pairs], kind="stable")
    parts = [part for part in np.array_split(order, groups) if len(part)]
    return Batch(
        [_padded([pairs[place] for place in part]) for part in parts],
        np.argsort(order),
        np.repeat(np.arange(len(lists)), [len(one.passages) for one in lists]),
        np.concatenate([np.zeros(0, np.int64), *(one.labels for one in lists)]),
        np.concatenate([np.zeros(0, np.float32), *(one.scores for one in lists)]),
        np.array([one.kind for one in lists], np.int64),
    )


def _padded(pairs: Sequence[_Pair]) -> tuple[Ids, Ids]:
    """Ids and types; the type is 1 from the passage to the last `[SEP]`. The length is a multiple of eight, which a GPU
    multiplies faster."""
    longest = max(len(question) + len(passage) for question, passage in pairs) + 3
    ids = np.full((len(pairs), -(-longest // _MULTIPLE) * _MULTIPLE), PADDING, np.int64)
    types = np.zeros_like(ids)
    for row, (question, passage) in enumerate(pairs):
        start, end = len(question) + 2, len(question) + 2 + len(passage)
        ids[row, 0], ids[row, start - 1], ids[row, end] = FIRST, LAST, LAST
        ids[row, 1 : start - 1], ids[row, start:end] = question, passage
        types[row, start : end + 1] = 1
    return ids, types
