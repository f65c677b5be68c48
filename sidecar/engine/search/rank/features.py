"""Defines the features of candidate files, each with the reason why it is useful. `scorer.py` has their weights.

Each feature is computed from `Signals` as a float32 array of shape [candidates], values in 0-1. It belongs to a family:
`word` features have no weight at alpha 1, `meaning` features none at alpha 0, and `prior` features keep their weight.
So alpha 1 is a vector search and alpha 0 a word search, whatever the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sidecar.engine.search.rank.chunk_groups import relative
from sidecar.engine.search.rank.signals import SPAN, Signals
from sidecar.parts.lexical.analyse import Field
from sidecar.parts.lexical.bm25 import Floats

Family = Literal["word", "meaning", "prior"]


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its name, its family, and its computation. `says` tells a person what a high value means. An `extra`
    feature is 0 for all files for most questions, so the best answer need not have it."""

    name: str
    family: Family
    compute: Callable[[Signals], Floats]
    says: str
    extra: bool = False


def best_chunk(e: Signals) -> Floats:
    """BM25 of the best chunk, relative to the best candidate: a chunk that has the words together means more than a
    long file in which they are scattered."""
    return e.best_body


def defines_sought(e: Signals) -> Floats:
    """Returns the weight of the file's definition of an identifier in the query: a query with an identifier usually
    asks for its definition."""
    return e.sought


def defines_symbol(e: Signals) -> Floats:
    """Like `defines_sought` if the query is just a name, else 0: the definition is then the answer."""
    return e.sought if e.query.is_symbol else np.zeros_like(e.sought)


def defines_word(e: Signals) -> Floats:
    """Returns the weight of the file's definition of a plain word of the query, or of two adjacent words joined: either
    may be the whole name of a definition."""
    return e.plain


def named_so(e: Signals) -> Floats:
    """1 if the file's own name is an identifier in the query or two of its words joined; if it is one of n plain words,
    1/n."""
    return e.stems


def similarity(e: Signals) -> Floats:
    """Returns the closeness of the closest chunk: 1 for the query's closest file, 0 for a cosine at least `SPAN` below
    its cosine."""
    return e.closeness_lead


def is_test(e: Signals) -> Floats:
    """1 for a test, because tests repeat the words of what they test. 0 if the query asks for tests."""
    return _unlike_others(e.paths[:, 0]) * np.float32(not e.query.wants_tests)


def is_example(e: Signals) -> Floats:
    """1 for examples and benchmarks, because they use what other files define. 0 if the query asks for them."""
    return _unlike_others(e.paths[:, 1]) * np.float32(not e.query.wants_examples)


def is_foreign(e: Signals) -> Floats:
    """Returns how surely the file is vendored, generated, kept for compatibility or made for a rarer platform, 0-1:
    such code is rarely meant. The platform does not count if the query names one."""
    platform = e.paths[:, 3] * np.float32(not e.query.wants_platform)
    return _unlike_others(np.maximum(e.paths[:, 2], platform))


def is_prose(e: Signals) -> Floats:
    """1 for manuals, changelogs, settings and data, because they use the words of the code that they describe. 0 if the
    query asks for them; 0 for records if it asks for those."""
    prose = e.path_table.prose[e.files]
    if e.query.wants_records:
        prose = prose * (1 - e.paths[:, 4])
    return _unlike_others(prose) * np.float32(not e.query.wants_prose)


def is_record(e: Signals) -> Floats:
    """1 for translations, lists of changes, lock files and fixtures, because they contain the words of the code and of
    questions about it. 0 if the query asks for them."""
    return _unlike_others(e.paths[:, 4]) * np.float32(not e.query.wants_records)


def tests_others(e: Signals) -> Floats:
    """Like `is_test`, but 0 for a test that is named after one of the three likeliest files, because whoever changes
    such a file needs its test next."""
    tests = is_test(e)
    return tests * (1 - e.tests_of_likely) if tests.any() else tests


def named_in_text(e: Signals) -> Floats:
    """Returns how surely a long question names the file, by its path, in a traceback or as a dotted module."""
    return e.symbols.files_named[e.files]


def says_message(e: Signals) -> Floats:
    """Returns how much of an error message one of the file's literals contains: a pasted message asks for the place
    that builds it."""
    return e.groups.best(e.message) if e.query.message else np.zeros(len(e.files), np.float32)


def closest_of_all(e: Signals) -> Floats:
    """Returns how far the closest chunk's cosine is above the candidates' mean, in standard deviations; -2 to 4 are
    mapped to 0-1. A lead means more than a high cosine."""
    if not len(e.similarity):
        return e.similarity
    lead = (e.similarity - e.similarity.mean(dtype=np.float64)) / (e.similarity.std(dtype=np.float64) + 1e-3)
    return np.asarray((np.minimum(np.maximum(lead, -2), 4) + 2) / 6, np.float32)


def whole_file(e: Signals) -> Floats:
    """Returns the mean cosine of all chunks, on the scale of `similarity`: high if the file deals with the subject
    throughout and not only in one place."""
    return _behind_best(e.mean_similarity)


def stem_strength(e: Signals) -> Floats:
    """BM25 of the file's name, relative to the best candidate: a short name that equals the word is better than a long
    one that contains it."""
    return e.strength_in(Field.STEM)


def folder_words(e: Signals) -> Floats:
    """Returns the share of the query's idf in the names of the file's folders."""
    return e.share_in(Field.DIRECTORIES)


def signature_strength(e: Signals) -> Floats:
    """BM25 of the signatures, relative to the best candidate: parameters and types show what the code works on."""
    return e.strength_in(Field.SIGNATURES)


def head_strength(e: Signals) -> Floats:
    """BM25 of the file's head, relative to the best candidate: the head explains the file's purpose, or imports what
    others define."""
    return e.strength_in(Field.HEAD)


def words_in_chunk(e: Signals) -> Floats:
    """Returns the share of the query's idf in the best chunk, however often the words occur."""
    return e.chunk_cover


def words_in_file(e: Signals) -> Floats:
    """Returns the share of the query's idf anywhere in the file."""
    return e.body_cover


def body_strength(e: Signals) -> Floats:
    """BM25 of the file's whole body, relative to the best candidate."""
    return e.bodies


def strength(e: Signals) -> Floats:
    """BM25F divided by 100, at most 1: a weak best match deserves less trust than a strong one."""
    return np.asarray(np.minimum(e.fields_found / 100, 1), np.float32)


def leads_sought(e: Signals) -> Floats:
    """1 for the candidate with the weightiest definition of a sought name, else 0: a class comes before methods of the
    same name."""
    return np.asarray((e.sought > 0) & (e.sought >= e.sought.max(initial=0)), np.float32)


def length(e: Signals) -> Floats:
    """ln(1 + terms) / 12, at most 1: longer files contain more answers, and BM25 corrects too much for length."""
    return np.asarray(np.minimum(np.log1p(e.body_lengths) / 12, 1), np.float32)


def length_rank(e: Signals) -> Floats:
    """Returns the share of the other candidates that are shorter."""
    return np.asarray(
        np.searchsorted(np.sort(e.body_lengths), e.body_lengths) / max(1, len(e.body_lengths) - 1), np.float32
    )


def is_barrel(e: Signals) -> Floats:
    """1 for `index.js`, `mod.rs`, `__init__.py` and the like, which gather what other files define."""
    return e.path_table.barrels[e.files]


def behind_twin(e: Signals) -> Floats:
    """1 if another candidate of the same name answers better, such as a header, an old version or another platform's
    file: one of them is enough."""
    merits = e.merit
    _, number = np.unique(e.path_table.stems[e.files], return_inverse=True)
    best = np.zeros(len(merits), np.float32)
    np.maximum.at(best, number, merits)
    return np.asarray(merits < best[number] - 1e-6, np.float32)


def mentioned(e: Signals) -> Floats:
    """ln(1 + n) / ln(1 + N), where n of the collection's N files mention this one: questions about structure ask for
    files that many others use by name. 0 for all but the likeliest candidates."""
    return e.of_likeliest(np.log1p(e.mentions.counts) / np.log1p(max(2, e.columns.file_count)))


def users_match(e: Signals) -> Floats:
    """Returns the sum of the word scores of the n files that mention this one, divided by the square root of n + 1,
    relative to the best candidate: the file's users may contain the query's words even if the file does not. 0 for all
    but the likeliest candidates."""
    return relative(e.of_likeliest(e.users / np.sqrt(1 + e.mentions.counts)))


def users_mean(e: Signals) -> Floats:
    """Returns the mean word score of the files that mention this one, which is more suitable for a file with few users.
    0 for all but the likeliest candidates."""
    return e.of_likeliest(e.users / np.maximum(e.mentions.counts, 1))


def _behind_best(values: Floats) -> Floats:
    """Maps the highest value to 1 and values at least `SPAN` below it to 0, linearly in between."""
    behind = (np.maximum.reduce(values, initial=0) - values) / np.float32(SPAN)
    return np.asarray(np.minimum(np.maximum(1 - behind, 0), 1), np.float32)


def _unlike_others(values: Floats) -> Floats:
    """Subtracts the lowest value, so that candidates that are all tests, for example, are ranked like any others."""
    return np.asarray(values - np.minimum.reduce(values, initial=1), np.float32)


FEATURES: tuple[Feature, ...] = (
    Feature("best_chunk", "word", best_chunk, "one passage contains the query's words together"),
    Feature("words_in_chunk", "word", words_in_chunk, "one passage contains most of the query's words"),
    Feature("words_in_file", "word", words_in_file, "the file contains most of the query's words"),
    Feature("body_strength", "word", body_strength, "the query's words are frequent in the file"),
    Feature("strength", "word", strength, "the file matches the query's words strongly"),
    Feature("stem_strength", "word", stem_strength, "the file's name contains the query's words"),
    Feature("folder_words", "word", folder_words, "the names of its folders contain the query's words"),
    Feature("signature_strength", "word", signature_strength, "its signatures contain the query's words"),
    Feature("head_strength", "word", head_strength, "the beginning of the file contains the query's words"),
    Feature("defines_sought", "word", defines_sought, "it defines a name from the query"),
    Feature("defines_symbol", "word", defines_symbol, "it defines the name asked for"),
    Feature("leads_sought", "word", leads_sought, "it has the main definition of the name"),
    Feature("defines_word", "word", defines_word, "it defines something named by a word of the query"),
    Feature("named_so", "word", named_so, "the file's name is a name from the query"),
    Feature("named_in_text", "word", named_in_text, "the question names the file", extra=True),
    Feature("says_message", "word", says_message, "a text in it reads like the message", extra=True),
    Feature("users_match", "word", users_match, "files that use it match the query"),
    Feature("users_mean", "word", users_mean, "on average, the files that use it match the query"),
    Feature("similarity", "meaning", similarity, "a passage is close in meaning to the query"),
    Feature("closest_of_all", "meaning", closest_of_all, "a passage is closer in meaning than those of other files"),
    Feature("whole_file", "meaning", whole_file, "the whole file is close in meaning to the query"),
    Feature("mentioned", "prior", mentioned, "many files mention it"),
    Feature("length", "prior", length, "the file is long"),
    Feature("length_rank", "prior", length_rank, "the file is longer than other candidates"),
    Feature("is_barrel", "prior", is_barrel, "it only collects what other files define"),
    Feature("behind_twin", "prior", behind_twin, "another file of the same name matches better"),
    Feature("is_test", "prior", is_test, "it is a test"),
    Feature("is_example", "prior", is_example, "it is an example"),
    Feature("is_foreign", "prior", is_foreign, "it is vendored, outdated or for a less common platform"),
    Feature("is_prose", "prior", is_prose, "it is text, settings or data"),
    Feature("is_record", "prior", is_record, "it is a list of changes, a translation, a lock file or a fixture"),
    Feature("tests_others", "prior", tests_others, "it tests other files than the likeliest"),
)


def compute_features(signals: Signals, wanted: Collection[str] | None = None) -> Floats:
    """Returns the features of all candidates, float32 of shape [candidates, FEATURES], columns in the order of
    `FEATURES`. Only the features named in `wanted` are computed, the others are 0; None means all."""
    table = np.zeros((len(signals.files), len(FEATURES)))
    for column, feature in enumerate(FEATURES):
        if wanted is None or feature.name in wanted:
            table[:, column] = feature.compute(signals)
    # Rounded, because the last bits depend on the order in which files were indexed.
    return table.round(6).astype(np.float32)
