"""Named features of candidate files, each from 0 to 1, each with its reason. Weights are elsewhere (`combine`).

A feature belongs to a family: `word` features fade with alpha towards 1, `meaning` features fade towards 0,
`prior` features stay. So alpha 1 is a vector search and alpha 0 a lexical one, whatever the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sidecar.engine.search.rank.chunk_groups import relative
from sidecar.engine.search.rank.paths import names_platform
from sidecar.engine.search.rank.signals import SPAN, Signals
from sidecar.parts.lexical.analyse import Field
from sidecar.parts.lexical.bm25 import Floats

Family = Literal["word", "meaning", "prior"]


@dataclass(frozen=True, slots=True)
class Feature:
    """`says` is what a high value means, in words for people."""

    name: str
    family: Family
    compute: Callable[[Signals], Floats]
    says: str


def fused_ranks(e: Signals) -> Floats:
    """Reciprocal rank fusion of the chunk lists: agreement of both searches on one chunk."""
    return e.fused


def best_chunk(e: Signals) -> Floats:
    """One passage that holds the words together says more than a long file that scatters them."""
    return e.best_body


def file_fields(e: Signals) -> Floats:
    """BM25F over path, names, signatures, comments, head and body: what the author calls things."""
    return e.all_fields


def stem_words(e: Signals) -> Floats:
    """Files are named after what they are for."""
    return e.share_in(Field.STEM)


def path_words(e: Signals) -> Floats:
    """Folders name the subsystem."""
    return e.share_in(Field.PATH)


def defined_words(e: Signals) -> Floats:
    """The words among the names that the file defines."""
    return e.share_in(Field.NAMES)


def defines_sought(e: Signals) -> Floats:
    """An identifier in the query is looked for where it is defined."""
    return e.sought


def defines_symbol(e: Signals) -> Floats:
    """When the query is nothing but a name, its definition is the answer."""
    return e.sought if e.query.is_symbol else np.zeros_like(e.sought)


def defines_word(e: Signals) -> Floats:
    """A plain word of the query, or two neighbours joined, may be a definition's whole name."""
    return e.plain


def named_so(e: Signals) -> Floats:
    """The file bears the name itself."""
    return e.stems


def similarity(e: Signals) -> Floats:
    """The closest chunk, as far as it falls behind the query's closest."""
    return e.closeness_lead


def top_similarities(e: Signals) -> Floats:
    """The three closest chunks: one chance resemblance counts less."""
    return _behind_best(e.top_similarity)


def is_test(e: Signals) -> Floats:
    """Tests repeat the words of what they test. Not held against them when tests are asked for."""
    return _unlike_others(e.paths[:, 0]) * np.float32(not e.query.wants_tests)


def is_example(e: Signals) -> Floats:
    """Examples and benchmarks use what others define."""
    return _unlike_others(e.paths[:, 1]) * np.float32(not e.query.wants_examples)


def is_foreign(e: Signals) -> Floats:
    """Vendored, generated, kept for compatibility or for a rarer platform: not the code that is meant."""
    platform = e.paths[:, 4] * np.float32(not names_platform(e.query.text))
    return _unlike_others(np.maximum(e.paths[:, 2], platform))


def is_prose(e: Signals) -> Floats:
    """Manuals, lists of changes, settings and data use the words of the code that they are about."""
    return _unlike_others(e.path_table.prose[e.files]) * np.float32(not e.query.wants_prose)


def is_declaration(e: Signals) -> Floats:
    """Declarations repeat the names without the code."""
    return _unlike_others(e.paths[:, 3])


def closest_of_all(e: Signals) -> Floats:
    """How far above the other candidates' the closest chunk is, in deviations: a lead says more than a high cosine."""
    if not len(e.similarity):
        return e.similarity
    lead = (e.similarity - e.similarity.mean(dtype=np.float64)) / (e.similarity.std(dtype=np.float64) + 1e-3)
    return np.asarray((np.clip(lead, -2, 4) + 2) / 6, np.float32)


def whole_file(e: Signals) -> Floats:
    """A file that is about the matter throughout, not in one place."""
    return _behind_best(e.mean_similarity)


def stem_strength(e: Signals) -> Floats:
    """BM25 of the file's name: a short name that is the word beats a long one that has it."""
    return e.strength_in(Field.STEM)


def folder_words(e: Signals) -> Floats:
    """The share of the query that the folders hold."""
    return e.share_in(Field.DIRECTORIES)


def signature_strength(e: Signals) -> Floats:
    """Parameters and types in signatures say what a thing works on."""
    return e.strength_in(Field.SIGNATURES)


def head_strength(e: Signals) -> Floats:
    """A file's beginning says what it is for, or imports what others define."""
    return e.strength_in(Field.HEAD)


def words_in_chunk(e: Signals) -> Floats:
    """All the words in one place, however often."""
    return e.chunk_cover


def words_in_file(e: Signals) -> Floats:
    """All the words somewhere in the file."""
    return e.body_cover


def body_strength(e: Signals) -> Floats:
    """BM25 of the whole file."""
    return e.bodies


def strength(e: Signals) -> Floats:
    """BM25F itself: a weak best match deserves less trust than a strong one."""
    return np.asarray(np.minimum(e.fields_found / 100, 1), np.float32)


def leads_sought(e: Signals) -> Floats:
    """The weightiest of several definitions of the name: the class before the methods called like it."""
    return np.asarray((e.sought > 0) & (e.sought >= e.sought.max(initial=0)), np.float32)


def length(e: Signals) -> Floats:
    """Longer files hold more of what is asked for; BM25 corrects for length too much."""
    return np.asarray(np.minimum(np.log1p(e.body_lengths) / 12, 1), np.float32)


def length_rank(e: Signals) -> Floats:
    """The same among the candidates."""
    return np.asarray(
        np.searchsorted(np.sort(e.body_lengths), e.body_lengths) / max(1, len(e.body_lengths) - 1), np.float32
    )


def is_barrel(e: Signals) -> Floats:
    """`index.js`, `mod.rs`, `__init__.py`: gathers what others define."""
    return e.path_table.barrels[e.files]


def behind_twin(e: Signals) -> Floats:
    """A header, an old version or another platform's file of the same name answers better: one of them is enough."""
    merits = e.all_fields + e.best_body + e.closeness_lead
    _, number = np.unique(e.path_table.stems[e.files], return_inverse=True)
    best = np.zeros(len(merits), np.float32)
    np.maximum.at(best, number, merits)
    return np.asarray(merits < best[number] - 1e-6, np.float32)


def mentioned(e: Signals) -> Floats:
    """Hubs, which many files use by name, are what questions about structure are about."""
    return e.of_likeliest(np.log1p(e.mentions.counts) / np.log1p(max(2, e.columns.file_count)))


def users_match(e: Signals) -> Floats:
    """Those who use it hold the query's words, though it may not. Damped, so that many middling ones count too."""
    return relative(e.of_likeliest(e.users / np.sqrt(1 + e.mentions.counts)))


def users_mean(e: Signals) -> Floats:
    """The same for a file with few users."""
    return e.of_likeliest(e.users / np.maximum(e.mentions.counts, 1))


def _behind_best(values: Floats) -> Floats:
    return np.asarray(np.clip(1 - (values.max(initial=0) - values) / np.float32(SPAN), 0, 1), np.float32)


def _unlike_others(values: Floats) -> Floats:
    """A workspace or a filter of nothing but tests is ranked as any other."""
    return np.asarray(values - values.min(initial=1), np.float32)


FEATURES: tuple[Feature, ...] = (
    Feature("best_chunk", "word", best_chunk, "one passage holds the words together"),
    Feature("words_in_chunk", "word", words_in_chunk, "one passage has most of the words"),
    Feature("words_in_file", "word", words_in_file, "the file has most of the words"),
    Feature("body_strength", "word", body_strength, "the words are frequent in the file"),
    Feature("strength", "word", strength, "rare words of the query were found"),
    Feature("stem_strength", "word", stem_strength, "the file is named so"),
    Feature("folder_words", "word", folder_words, "its folders have the words"),
    Feature("signature_strength", "word", signature_strength, "signatures have the words"),
    Feature("head_strength", "word", head_strength, "the file begins with the words"),
    Feature("defines_sought", "word", defines_sought, "it defines a name in the query"),
    Feature("defines_symbol", "word", defines_symbol, "it defines the name asked for"),
    Feature("leads_sought", "word", leads_sought, "it has the weightiest definition of the name"),
    Feature("defines_word", "word", defines_word, "a word of the query is a definition's name"),
    Feature("named_so", "word", named_so, "the file bears the name itself"),
    Feature("users_match", "word", users_match, "files that use it match"),
    Feature("users_mean", "word", users_mean, "most files that use it match"),
    Feature("similarity", "meaning", similarity, "a passage means the same"),
    Feature("closest_of_all", "meaning", closest_of_all, "a passage is closer in meaning than others'"),
    Feature("whole_file", "meaning", whole_file, "the whole file is close in meaning"),
    Feature("mentioned", "prior", mentioned, "many files mention it"),
    Feature("length", "prior", length, "the file is long"),
    Feature("length_rank", "prior", length_rank, "the file is longer than others"),
    Feature("is_barrel", "prior", is_barrel, "it gathers what others define"),
    Feature("behind_twin", "prior", behind_twin, "a file of the same name answers better"),
    Feature("is_test", "prior", is_test, "it is a test"),
    Feature("is_example", "prior", is_example, "it is an example"),
    Feature("is_foreign", "prior", is_foreign, "it is vendored, old or for a rarer platform"),
    Feature("is_prose", "prior", is_prose, "it is text, settings or data"),
    # Those that only the hand-set weights use.
    Feature("fused_ranks", "prior", fused_ranks, "words and meaning agree on a passage"),
    Feature("file_fields", "word", file_fields, "name, definitions, comments and text have the words"),
    Feature("stem_words", "word", stem_words, "the file's name has the words"),
    Feature("path_words", "word", path_words, "its path has the words"),
    Feature("defined_words", "word", defined_words, "the names that it defines have the words"),
    Feature("top_similarities", "meaning", top_similarities, "several passages mean the same"),
    Feature("is_declaration", "prior", is_declaration, "it declares without code"),
)


def compute_features(signals: Signals, wanted: Collection[str] | None = None) -> Floats:
    """Shape [candidates, features], columns in the order of `FEATURES`; 0 for those not wanted, None wants all."""
    table = np.zeros((len(signals.files), len(FEATURES)))
    for column, feature in enumerate(FEATURES):
        if wanted is None or feature.name in wanted:
            table[:, column] = feature.compute(signals)
    # Rounded, because the last bits depend on the order in which files were indexed.
    return np.round(table, 6).astype(np.float32)


_TOLD = 6
_SAYS: Mapping[str, str] = {feature.name: feature.says for feature in FEATURES}


def in_words(parts: Mapping[str, float]) -> tuple[str, ...]:
    """The largest contributions, for people: `the file is named so (+0.12)`."""
    told = sorted((-abs(value), name) for name, value in parts.items() if name in _SAYS)[:_TOLD]
    return tuple(f"{_SAYS[name]} ({parts[name]:+.2f})" for _, name in told)
