"""Named features of candidate files, each from 0 to 1, each with its reason. Weights are elsewhere (`combine`).

A feature belongs to a family: `word` features fade with alpha towards 1, `meaning` features fade towards 0,
`prior` features stay. So alpha 1 is a vector search and alpha 0 a lexical one, whatever the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sidecar.engine.rank.evidence import Evidence, relative
from sidecar.parts.lexical.analyse import Field
from sidecar.parts.lexical.bm25 import Floats

Family = Literal["word", "meaning", "prior"]


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    family: Family
    compute: Callable[[Evidence], Floats]


def fused_ranks(e: Evidence) -> Floats:
    """Reciprocal rank fusion of the chunk lists: agreement of both searches on one chunk."""
    return relative(e.fused)


def best_chunk(e: Evidence) -> Floats:
    """One passage that holds the words together says more than a long file that scatters them."""
    return e.best_body


def file_fields(e: Evidence) -> Floats:
    """BM25F over path, names, signatures, comments, head and body: what the author calls things."""
    return e.all_fields


def stem_words(e: Evidence) -> Floats:
    """Files are named after what they are for."""
    return np.asarray(e.fields[Field.STEM])


def path_words(e: Evidence) -> Floats:
    """Folders name the subsystem."""
    return np.asarray(e.fields[Field.PATH])


def defined_words(e: Evidence) -> Floats:
    """The words among the names that the file defines."""
    return np.asarray(e.fields[Field.NAMES])


def defines_sought(e: Evidence) -> Floats:
    """An identifier in the query is looked for where it is defined."""
    return e.sought


def defines_symbol(e: Evidence) -> Floats:
    """When the query is nothing but a name, its definition is the answer."""
    return e.sought if e.query.is_symbol else np.zeros_like(e.sought)


def defines_word(e: Evidence) -> Floats:
    """A plain word of the query, or two neighbours joined, may be a definition's whole name."""
    return e.plain


def named_so(e: Evidence) -> Floats:
    """The file bears the name itself."""
    return e.stems


def similarity(e: Evidence) -> Floats:
    """The closest chunk, as far as it falls behind the query's closest."""
    return _behind_best(e.similarity)


def top_similarities(e: Evidence) -> Floats:
    """The three closest chunks: one chance resemblance counts less."""
    return _behind_best(e.top_similarity)


def is_test(e: Evidence) -> Floats:
    """Tests repeat the words of what they test. Not held against them when tests are asked for."""
    return _unlike_others(e.paths[:, 0]) * np.float32(not e.query.wants_tests)


def is_example(e: Evidence) -> Floats:
    """Examples and benchmarks use what others define."""
    return _unlike_others(e.paths[:, 1]) * np.float32(not e.query.wants_examples)


def is_foreign(e: Evidence) -> Floats:
    """Vendored, generated or kept for compatibility: rarely the code that is meant."""
    return _unlike_others(e.paths[:, 2])


def is_declaration(e: Evidence) -> Floats:
    """Declarations repeat the names without the code."""
    return _unlike_others(e.paths[:, 3])


_SPAN = 0.35
"""Cosines this far below the best are as good as none (static and transformer models alike)."""


def _behind_best(values: Floats) -> Floats:
    return np.asarray(np.clip(1 - (values.max(initial=0) - values) / np.float32(_SPAN), 0, 1), np.float32)


def _unlike_others(values: Floats) -> Floats:
    """A workspace or a filter of nothing but tests is ranked as any other."""
    return np.asarray(values - values.min(initial=1), np.float32)


FEATURES: tuple[Feature, ...] = (
    Feature("fused_ranks", "prior", fused_ranks),
    Feature("best_chunk", "word", best_chunk),
    Feature("file_fields", "word", file_fields),
    Feature("stem_words", "word", stem_words),
    Feature("path_words", "word", path_words),
    Feature("defined_words", "word", defined_words),
    Feature("defines_sought", "word", defines_sought),
    Feature("defines_symbol", "word", defines_symbol),
    Feature("defines_word", "word", defines_word),
    Feature("named_so", "word", named_so),
    Feature("similarity", "meaning", similarity),
    Feature("top_similarities", "meaning", top_similarities),
    Feature("is_test", "prior", is_test),
    Feature("is_example", "prior", is_example),
    Feature("is_foreign", "prior", is_foreign),
    Feature("is_declaration", "prior", is_declaration),
)


def compute_features(evidence: Evidence) -> Floats:
    """Shape [candidates, features], columns in the order of `FEATURES`."""
    columns = [feature.compute(evidence) for feature in FEATURES]
    return np.stack(columns, axis=1).astype(np.float32, copy=False)
