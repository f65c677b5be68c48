"""Why a hit was found: reasons that a person understands, whose shares add up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.engine.search.rank.features import FEATURES
from sidecar.engine.search.rank.reasons import REASONS, in_words, shares_of

NAMES = [feature.name for feature in FEATURES]
PARTS = st.dictionaries(st.sampled_from([*NAMES, "base"]), st.floats(-1, 1, allow_subnormal=False).map(lambda x: x / 8))


@given(PARTS)
def test_the_shares_sum_to_100_or_nothing_speaks_for_the_file(parts: dict[str, float]) -> None:
    speaks = any(value > 0 for name, value in parts.items() if name != "base")
    shares = shares_of(parts)
    assert sum(shares.values()) == (100 if speaks else 0)
    assert all(share > 0 for share in shares.values())
    assert set(shares) <= set(REASONS)


@given(PARTS)
def test_every_share_is_said_and_every_feature_that_lowers_the_score(parts: dict[str, float]) -> None:
    lowering = [name for name, value in parts.items() if value < 0 and name != "base"]
    assert len(in_words(parts)) == len(shares_of(parts)) + len(lowering)


def test_the_constant_that_every_file_gets_is_no_reason() -> None:
    assert shares_of({"base": 0.6, "best_chunk": 0.03, "similarity": 0.01}) == {"text": 75, "meaning": 25}


def test_features_of_one_kind_are_one_reason_and_the_largest_comes_first() -> None:
    parts = {"similarity": 0.02, "closest_of_all": 0.03, "best_chunk": 0.01, "stem_strength": 0.04, "is_test": -0.05}
    assert in_words(parts) == (
        "it is close in meaning to the query (50 %)",
        "its name or a folder's contains the query's words (40 %)",
        "its text contains the query's words (10 %)",
        "it is a test (counts against it)",
    )


def test_three_equal_reasons_still_sum_to_100() -> None:
    shares = shares_of({"similarity": 0.1, "best_chunk": 0.1, "stem_strength": 0.1})
    assert sorted(shares.values()) == [33, 33, 34]


def test_every_feature_belongs_to_a_reason() -> None:
    for feature in FEATURES:
        assert list(shares_of({feature.name: 0.5}).values()) == [100]
