"""Words scored on demand, as in large indexes, give what scoring every file and chunk gives, to the bit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.engine.concurrency.memo import Memo
from sidecar.engine.index.snapshot import Snapshot
from sidecar.engine.search.rank.chunk_groups import ChunkGroups
from sidecar.engine.search.rank.index_columns import columns_of
from sidecar.engine.search.rank.lexical_scores import LexicalScores, match_query
from sidecar.engine.search.rank.recent_terms import RecentTerms
from sidecar.engine.search.rank.scores_on_demand import ScoresOnDemand, best_files, score_on_demand
from sidecar.engine.search.rank.term_postings import ScoredTerm, scored_terms
from sidecar.engine.search.rank.term_runs import FilesOfTerms, Runs, joined
from sidecar.engine.search.searcher import Searcher
from tests.engine.search_index import SmallIndex, small_index
from tests.examples import examples

WORDS = ("alpha", "beta", "gamma", "delta", "omega", "sigma", "tau", "kappa")


def text_of(chunks: Sequence[Sequence[str]]) -> str:
    """Returns Python code whose functions are the chunks; the first word of each is its name."""
    return "\n\n".join(
        f"def {words[0]}_{number}(value):\n" + "\n".join(f"    {word} = value + {word}" for word in words)
        for number, words in enumerate(chunks)
    )


bodies = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
sources = st.lists(bodies, min_size=1, max_size=4).map(text_of)
names = st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS), st.sampled_from((".py", ".md"))).map(
    lambda parts: f"{parts[0]}/{parts[1]}{parts[2]}"
)
commits = st.lists(st.dictionaries(names, sources, min_size=4, max_size=16), min_size=1, max_size=3)
queries = st.lists(st.sampled_from((*WORDS, "value", "absent")), unique=True, max_size=6)


@given(commits, st.sets(names, max_size=4), queries, queries, st.integers(1, 2), st.integers(0, 2**32), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_every_score_is_the_same_to_the_bit(
    written: list[dict[str, str]],
    removed: set[str],
    terms: list[str],
    title: list[str],
    limit: int,
    seed: int,
    filtered: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder, small_index(Path(folder), {}) as index:
        for files in written:
            index.put(files, embed=False)
        index.remove(*(removed & set().union(*written)))
        with index.snapshot() as snapshot:
            for collection in (0, 1):
                compare(snapshot, collection, terms, title, limit, seed if filtered else None)


@given(commits, commits, st.sets(names, max_size=4), queries, queries, st.integers(1, 3), st.integers(0, 2**32))
@settings(max_examples=examples(60), deadline=None)
def test_every_score_is_the_same_to_the_bit_with_bounds_made_for_an_earlier_state(
    written: list[dict[str, str]],
    later: list[dict[str, str]],
    removed: set[str],
    terms: list[str],
    title: list[str],
    limit: int,
    seed: int,
) -> None:
    with tempfile.TemporaryDirectory() as folder, small_index(Path(folder), {}) as index:
        for files in written:
            index.put(files, embed=False)
        index.merge_at_rest()
        for files in later:
            index.put(files, embed=False)
        index.remove(*(removed & set().union(*written, *later)))
        with index.snapshot() as snapshot:
            for collection in (0, 1):
                compare(snapshot, collection, terms, title, limit, seed if seed % 2 else None)


@pytest.mark.parametrize("factor", [1, 40])
def test_bounds_hold_when_files_become_longer_or_shorter(tmp_path: Path, factor: int) -> None:
    chance = Random(5)

    def some(number: int, words: int) -> dict[str, str]:
        return {
            f"a/{n}.py": text_of([chance.choices(WORDS, k=words) for _ in range(3)]) for n in range(number, number + 20)
        }

    with small_index(tmp_path, {}) as index:
        index.put(some(0, 40 // factor), embed=False)
        index.merge_at_rest()
        index.put(some(20, factor), embed=False)
        with index.snapshot() as snapshot:
            compare(snapshot, 0, [*WORDS], [], 3, None)


def compare(
    snapshot: Snapshot, collection: int, terms: list[str], title: list[str], limit: int, seed: int | None
) -> None:
    columns = columns_of(snapshot, collection)
    every, few = (score(snapshot, columns, terms, title) for score in (match_query, score_on_demand))
    if seed is not None:
        chunks = np.random.default_rng(seed).random(len(snapshot.chunk_ids)) < 0.5
        files = np.zeros(len(snapshot.file_ids), bool)
        files[snapshot.chunk_file[chunks]] = True
        every.keep(chunks, files)
        few.keep(chunks, files)
    rows = np.arange(len(snapshot.file_ids), dtype=np.int32)
    assert np.array_equal(every.whole(rows), few.whole(rows))
    assert np.array_equal(every.whole(rows[::-1].repeat(2)), few.whole(rows[::-1].repeat(2)))
    assert every.best_whole == few.best_whole
    assert every.rarity == pytest.approx(few.rarity)
    if isinstance(few, ScoresOnDemand) and isinstance(every, LexicalScores):
        assert (few.bounds() >= columns.best_per_file(every.chunks, len(every.files))).all()
        assert (few.whole_bounds() >= every.files).all()
    for best in (
        [np.sort(scores.best_by_chunk(limit, snapshot.paths)).tolist() for scores in (every, few)],
        [np.sort(scores.best_by_whole(limit, snapshot.paths)).tolist() for scores in (every, few)],
    ):
        assert best[0] == best[1]
    asked = np.flatnonzero(columns.group_of >= 0).astype(np.int32)
    groups = ChunkGroups(columns, asked[::2])
    for one, other in (
        (every.of_files(asked[::2]), few.of_files(asked[::2])),
        (every.of_chunks(groups), few.of_chunks(groups)),
    ):
        for field in fields(one):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


@pytest.mark.parametrize("gone", [1, 15])
def test_scores_are_the_same_whether_few_or_many_files_are_gone(tmp_path: Path, gone: int) -> None:
    chance = Random(11)
    python = {f"a/{number}.py": text_of([chance.choices(WORDS, k=5) for _ in range(3)]) for number in range(30)}
    with small_index(tmp_path, {}) as index:
        index.put({**python, "guide.md": "# Alpha\n\nOf beta and gamma.\n"}, embed=False)
        index.remove(*chance.sample(sorted(python), gone))
        with index.snapshot() as snapshot:
            for collection in (0, 1):
                compare(snapshot, collection, [*WORDS], [], 3, None)


sizes_of_files = st.dictionaries(st.integers(0, 400), st.integers(0, 4), max_size=200)


@given(st.lists(sizes_of_files, max_size=4), st.sets(st.integers(0, 400), max_size=30))
def test_the_postings_of_any_files_are_found(of_terms: list[dict[int, int]], sought: set[int]) -> None:
    parts, expected, key = [], [], 0
    for term, sizes in enumerate(of_terms):
        counts = np.array([sizes[file] for file in sorted(sizes)], np.int32)
        keys = np.arange(key, key + int(counts.sum()))
        parts.append(Runs(counts.cumsum(dtype=np.int32) - counts, counts, keys, np.ones(len(keys), np.uint8)))
        for file in sorted(sizes):
            expected += [(term, file, key + number) for number in range(sizes[file]) if file in sought]
            key += sizes[file]
    wanted = np.array(sorted(sought), np.int32)
    files = [np.array(sorted(sizes), np.int32) for sizes in of_terms]
    found = FilesOfTerms(files, 401).find(wanted)
    assert list(zip(found.terms.tolist(), wanted[found.places].tolist(), strict=True)) == [
        (term, file) for term, sizes in enumerate(of_terms) for file in sorted(sizes) if file in sought
    ]
    postings = joined(parts).of(found)
    rows = found.terms[postings.of].tolist(), wanted[found.places][postings.of].tolist(), postings.keys.tolist()
    assert list(zip(*rows, strict=True)) == expected


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=60),
    st.integers(1, 5),
)
def test_no_better_file_is_missed_and_files_that_cannot_win_are_not_scored(
    pairs: list[tuple[int, int]], limit: int
) -> None:
    scores = np.array([min(pair) for pair in pairs], np.float32)
    bounds = np.array([max(pair) for pair in pairs], np.float32)
    found = best_files(bounds, lambda files: scores[files], limit)
    order = np.sort(scores[scores > 0])[::-1]
    least = order[min(limit, len(order)) - 1] if len(order) else 0
    assert (found[scores >= max(least, 1)] == scores[scores >= max(least, 1)]).all()
    assert set(found[found > 0]) <= set(scores)


def test_a_common_word_does_not_have_every_file_examined() -> None:
    bounds = np.concatenate([np.full(100, 9.0), np.full(100_000, 1.0)]).astype(np.float32)
    examined: list[int] = []

    def score(files: np.ndarray) -> np.ndarray:
        examined.extend(files.tolist())
        return np.asarray(bounds[files])

    best_files(bounds, score, 30)
    assert len(examined) < 1000


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    files = {
        f"{folder}/{word}.py": text_of([(word, *WORDS[i : i + 4]), WORDS[: i + 1]])
        for folder in ("net", "store")
        for i, word in enumerate(WORDS)
    }
    with small_index(
        tmp_path_factory.mktemp("index"), {**files, "guide.md": "# Alpha\n\nOf beta and gamma.\n"}
    ) as made:
        yield made


@pytest.mark.parametrize(
    "query",
    [
        "alpha",
        "alpha_0",
        "where is the value of gamma added to delta",
        "absent everywhere",
        "Sigma is wrong\n\nWhen tau is added to kappa in `omega_0`, the value of beta is lost.\n" * 4,
    ],
)
@pytest.mark.parametrize("wishes", [{}, {"mode": "fts"}, {"paths": ("net/*",)}, {"collection": "docs"}])
def test_a_search_answers_the_same(index: SmallIndex, query: str, wishes: dict[str, object]) -> None:
    on_demand = replace(index, searcher=Searcher(scored_beforehand=0))
    answers = [searched.search(query, top_k=30, explain=True, **wishes) for searched in (index, on_demand)]
    assert answers[0].hits == answers[1].hits
    assert answers[0].confidence == answers[1].confidence


def selects(snapshot: Snapshot, terms: list[str]) -> list[str]:
    """Returns the statements that scoring these terms sends to the postings."""
    sent: list[str] = []
    snapshot.connection.set_trace_callback(sent.append)
    score_on_demand(snapshot, columns_of(snapshot, 0), terms, ())
    snapshot.connection.set_trace_callback(None)
    return [statement for statement in sent if "FROM lexical_postings" in statement]


def test_words_that_were_asked_for_are_read_once_in_each_revision(tmp_path: Path) -> None:
    with small_index(tmp_path, {"a.py": text_of([("alpha", "beta")])}) as index:
        with index.snapshot() as snapshot:
            assert len(selects(snapshot, ["alpha", "beta"])) == 1
            assert selects(snapshot, ["beta", "alpha"]) == []
            assert "gamma" in selects(snapshot, ["gamma", "beta"])[0]
        index.put({"b.py": text_of([("beta", "gamma")])})
        with index.snapshot() as snapshot:
            compare(snapshot, 0, ["beta", "gamma"], [], 2, None)
            compare(snapshot, 0, ["gamma", "alpha", "beta"], ["beta"], 2, None)


def test_a_small_index_reads_each_word_once_in_each_revision(tmp_path: Path) -> None:
    sent: list[str] = []

    def read(snapshot: Snapshot, terms: Sequence[str], title: Sequence[str]) -> list[str]:
        sent.clear()
        snapshot.connection.set_trace_callback(sent.append)
        match_query(snapshot, columns_of(snapshot, 0), terms, title)
        snapshot.connection.set_trace_callback(None)
        return [statement for statement in sent if "FROM lexical_postings" in statement]

    with small_index(tmp_path, {"a.py": text_of([("alpha", "beta", "gamma")])}) as index:
        with index.snapshot() as snapshot:
            assert len(read(snapshot, ["alpha", "beta", "gamma"], ["gamma", "delta"])) == 1
            assert read(snapshot, ["gamma", "delta", "alpha"], []) == []
            (statement,) = read(snapshot, ["alpha", "kappa"], [])
            assert "kappa" in statement and "alpha" not in statement
        index.put({"b.py": text_of([("beta", "kappa")])})
        with index.snapshot() as snapshot:
            assert len(read(snapshot, ["alpha"], [])) == 1


@given(commits, st.lists(st.tuples(queries, queries, st.integers(0, 1)), min_size=2, max_size=5))
@settings(max_examples=examples(40), deadline=None)
def test_what_was_asked_before_changes_no_score(
    written: list[dict[str, str]], asked: list[tuple[list[str], list[str], int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, small_index(Path(folder), {}) as index:
        for files in written:
            index.put(files, embed=False)
        with index.snapshot() as before, index.snapshot() as alone:
            for terms, title, collection in asked:
                alone.memo = Memo()
                first, later = (
                    match_query(each, columns_of(each, collection), terms, title) for each in (alone, before)
                )
                assert same(first, later)


def same(one: LexicalScores, other: LexicalScores) -> bool:
    """Whether all scores are the same to the bit."""
    scores = [field.name for field in fields(LexicalScores) if field.name not in ("columns", "rarity")]
    return one.rarity == other.rarity and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in scores
    )


def test_what_was_not_asked_for_the_longest_is_dropped_first(index: SmallIndex) -> None:
    with index.snapshot() as snapshot:
        columns = columns_of(snapshot, 0)
        each = {word: scored_terms(snapshot, columns, [word])[0] for word in WORDS}
    recent: RecentTerms[ScoredTerm] = RecentTerms(most=sum(term.nbytes for term in each.values()) - 1)
    for word in WORDS[:-1]:
        recent.keep({word: each[word]})
    assert recent.find(WORDS[:1]) == {WORDS[0]: each[WORDS[0]]}
    recent.keep({WORDS[-1]: each[WORDS[-1]]})
    assert recent.find(WORDS) == {word: each[word] for word in WORDS if word != WORDS[1]}
