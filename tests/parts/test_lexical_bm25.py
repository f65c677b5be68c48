"""BM25 scores equal those computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sidecar.parts.lexical.bm25 import Curve, idf, length_norms, saturate


def test_idf_of_a_term_in_one_of_four_documents() -> None:
    assert idf(4, 1) == pytest.approx(math.log(1 + 3.5 / 1.5))
    assert idf(4, 4) > 0
    assert idf(4, 0) > idf(4, 1) > idf(4, 2)


def test_a_document_of_average_length_with_one_occurrence_scores_one() -> None:
    norms = length_norms(np.array([10.0]), 10.0, Curve(1.5, 0.75))
    assert norms.tolist() == [1.5]
    assert saturate(np.array([1]), norms, 1.5).tolist() == [1.0]


def test_occurrences_saturate_and_length_counts_against() -> None:
    norms = length_norms(np.array([10.0, 20.0]), 10.0, Curve(1.5, 0.75))
    assert norms.tolist() == pytest.approx([1.5, 1.5 * (0.25 + 1.5)])
    once, often = saturate(np.array([1, 100]), norms[:1].repeat(2), 1.5).tolist()
    assert once < often < 2.5
    assert saturate(np.array([1]), norms[1:], 1.5)[0] == pytest.approx(2.5 / (1 + 2.625))
