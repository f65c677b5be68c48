"""The inverted index: bytes, segments, merges, removal, definitions."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.model.files import Chunk, Comment, Definition, ParsedFile
from sidecar.parts.lexical import merge_choice
from sidecar.parts.lexical.analyse import FIELDS, Field, analyse, file_stem
from sidecar.parts.lexical.codec import decode_all, decode_few, encode_runs
from sidecar.parts.lexical.definitions import find_definitions, find_places, find_stems, read_definitions
from sidecar.parts.lexical.index import LexicalIndex
from sidecar.parts.lexical.merge_choice import MERGE_FACTOR
from sidecar.parts.lexical.postings import merge_segments, read_bodies, read_postings, write_segment
from sidecar.parts.lexical.segments import newest_segment, read_lengths
from tests.examples import examples
from tests.parts.lexical_tables import STEMS, alive_content, of_place, prepare, remove, segments, write


def chunks_with(connection: sqlite3.Connection, term: str) -> list[int]:
    """Dead ones included."""
    ids: list[int] = read_bodies(connection, [term]).ids.tolist()
    return ids


def is_known(connection: sqlite3.Connection, term: str) -> bool:
    """Returns whether the term is anywhere, dead or alive."""
    found = read_postings(connection, [term])
    return any(len(part.ids) for part in (found.bodies, found.names, found.fields))


@given(st.lists(st.lists(st.integers(0, 2**40), min_size=1, unique=True), min_size=1))
def test_postings_survive_encoding_whatever_their_gaps(runs: list[list[int]]) -> None:
    runs = [sorted(run) for run in runs]
    keys = np.array([key for run in runs for key in run], np.int64)
    tfs = (np.arange(len(keys)) % 255 + 1).astype(np.uint8)
    starts = np.cumsum([0, *map(len, runs)])
    blobs = list(encode_runs(keys, tfs, starts))
    for decode in (decode_all, decode_few):
        decoded, counts, sizes = decode(blobs)
        assert decoded.tolist() == keys.tolist()
        assert counts.tolist() == tfs.tolist()
        assert sizes.tolist() == [len(run) for run in runs]


@pytest.mark.parametrize("gaps", [[1], [300], [1, 300, 70_000, 2**33], [2**33, 1]])
def test_long_postings_are_decoded_like_short_ones(gaps: list[int]) -> None:
    runs = [5 + gap * np.arange(3000, dtype=np.int64) for gap in gaps]
    keys, starts = np.concatenate(runs), np.arange(len(runs) + 1) * 3000
    tfs = (np.arange(len(keys)) % 255 + 1).astype(np.uint8)
    decoded, counts, sizes = decode_few(list(encode_runs(keys, tfs, starts)))
    assert np.array_equal(decoded, keys)
    assert np.array_equal(counts, tfs)
    assert sizes.tolist() == [3000] * len(runs)


def test_close_neighbours_cost_two_bytes_each() -> None:
    (blob,) = encode_runs(np.arange(1000, dtype=np.int64), np.ones(1000, np.uint8), np.array([0, 1000]))
    assert len(blob) == 8 + 2000


def test_a_term_is_found_in_every_segment_with_its_count(connection: sqlite3.Connection) -> None:
    (first,) = write(connection, "retry retry backoff")
    (second,) = write(connection, "retry later")
    assert alive_content(connection, "retri")["retri"][0] == [(first, 2), (second, 1)]
    assert not is_known(connection, "zebra")


def test_fields_say_where_a_file_mentions_a_word(connection: sqlite3.Connection) -> None:
    parsed = ParsedFile(
        "python",
        "tree-sitter",
        (Chunk(1, 3, "def open_socket(port): ...", "function", ("open_socket",)),),
        (Definition("open_socket", "function", 1, 3, signature="def open_socket(port)"),),
        (Comment(2, "Listens for callers."),),
    )
    LexicalIndex().write_segment(connection, [(5, [50], analyse("net/listener.py", parsed))])
    terms = ["socket", "port", "caller", "listen", "net"]
    found = read_postings(connection, terms)
    fields = {term: {Field(i % FIELDS) for i, _ in of_place(found.fields, place)} for place, term in enumerate(terms)}
    assert fields["socket"] == {Field.NAMES, Field.SIGNATURES, Field.HEAD}
    assert fields["port"] == {Field.SIGNATURES, Field.HEAD}
    assert fields["caller"] == {Field.COMMENTS}
    assert fields["net"] == {Field.PATH, Field.DIRECTORIES, Field.HEAD}
    assert [i for i, _ in of_place(found.names, terms.index("socket"))] == [50]
    assert of_place(found.names, terms.index("port")) == []


def test_a_removed_file_is_dead_at_once_and_gone_after_a_merge(connection: sqlite3.Connection) -> None:
    first, second = write(connection, "alpha beta", "alpha gamma")
    remove(connection, first)
    assert alive_content(connection, "alpha")["alpha"][0] == [(second, 1)]
    assert len(chunks_with(connection, "alpha")) == 2
    merge_segments(connection, force=True)
    assert chunks_with(connection, "alpha") == [second]
    assert not is_known(connection, "beta")
    assert read_lengths(connection).chunk_ids.tolist() == [second]


def test_removing_everything_leaves_an_empty_index_that_takes_new_files(connection: sqlite3.Connection) -> None:
    remove(connection, *write(connection, "alpha", "beta"))
    merge_segments(connection, force=True)
    assert segments(connection) == 0
    assert not is_known(connection, "alpha")
    (again,) = write(connection, "alpha")
    assert chunks_with(connection, "alpha") == [again]


def test_eight_small_segments_become_one_and_a_large_one_stays(connection: sqlite3.Connection) -> None:
    write(connection, " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(600)))
    for i in range(MERGE_FACTOR):
        assert merge_segments(connection) == 0
        write(connection, f"small number{i}")
    assert merge_segments(connection) == MERGE_FACTOR
    assert segments(connection) == 2


def test_at_the_end_of_a_run_small_segments_become_one(connection: sqlite3.Connection) -> None:
    for i in range(4):
        assert merge_segments(connection, since=0) == 0
        write(connection, f"small number{i}")
    assert merge_segments(connection) == 0
    assert merge_segments(connection, since=0) == 4
    assert segments(connection) == 1
    assert len(chunks_with(connection, "small")) == 4


def test_the_end_of_a_run_that_wrote_much_leaves_one_segment_of_it_and_the_larger_ones_alone(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_choice, "SMALL", 20)
    write(connection, " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(600)))
    before = newest_segment(connection)
    for text in ("large alpha", "large beta"):
        write(connection, *[text] * 10)
    assert merge_segments(connection) == 0
    assert merge_segments(connection, since=newest_segment(connection)) == 0, "nothing was written by such a run"
    assert merge_segments(connection, since=before) == 2
    assert segments(connection) == 2
    assert len(chunks_with(connection, "larg")) == 20


def test_the_end_of_a_run_rewrites_a_limited_number_of_postings(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_choice, "SMALL", 20)
    for _ in range(3):
        write(connection, *["large alpha"] * 10)
    (each,) = connection.execute("SELECT max(postings) FROM lexical_segments").fetchone()
    monkeypatch.setattr(merge_choice, "MUCH", 2 * each)
    assert merge_segments(connection, since=0) == 2
    assert merge_segments(connection, since=0) == 0


def test_a_long_merge_pauses_between_its_parts(connection: sqlite3.Connection) -> None:
    words = [f"word{chr(97 + i // 676)}{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}" for i in range(5000)]
    write(connection, " ".join(words))
    write(connection, words[0])
    pauses: list[int] = []
    assert merge_segments(connection, force=True, pause=lambda: pauses.append(1)) == 2
    assert len(pauses) >= 2 * (len(words) // 2048)
    assert len(chunks_with(connection, words[0])) == 2


def test_writing_a_large_segment_pauses_between_its_parts(connection: sqlite3.Connection) -> None:
    text = " ".join(f"word{chr(97 + i // 676)}{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}" for i in range(5000))
    pauses: list[int] = []
    parsed = ParsedFile("python", "lines", (Chunk(1, 1, text, "code"),), ())
    write_segment(connection, [(1, [1], analyse("a.py", parsed))], lambda: pauses.append(1))
    assert len(pauses) > 5000 // 2048


def test_many_short_blobs_of_all_widths_are_decoded_as_each_alone() -> None:
    chance = np.random.default_rng(5)
    runs = [
        np.unique(chance.integers(0, 1 << int(chance.integers(1, 56)), int(chance.integers(1, 5))))
        for _ in range(10_000)
    ]
    runs[4096] = np.array([(1 << 56) - 1])
    starts = np.cumsum([0, *map(len, runs)])
    keys, tfs = np.concatenate(runs), chance.integers(0, 256, starts[-1]).astype(np.uint8)
    blobs = list(encode_runs(keys, tfs, starts))
    read_keys, read_tfs, sizes = decode_all(blobs)
    assert np.array_equal(read_keys, keys) and np.array_equal(read_tfs, tfs) and sizes.tolist() == [*map(len, runs)]
    for place in (0, 4095, 4096, 9999):
        assert decode_few([blobs[place]])[0].tolist() == runs[place].tolist()


def test_a_merge_keeps_within_its_budget(connection: sqlite3.Connection) -> None:
    for _ in range(MERGE_FACTOR):
        write(connection, "one two three")
    (each,) = connection.execute("SELECT max(postings) FROM lexical_segments").fetchone()
    assert merge_segments(connection, budget=each) == 0
    assert merge_segments(connection, budget=3 * each) == 3
    assert segments(connection) == MERGE_FACTOR - 2


def test_an_index_that_is_mostly_dead_is_written_anew(connection: sqlite3.Connection) -> None:
    first = write(connection, *(["old words here"] * 1500))
    write(connection, *(["new words here"] * 400))
    assert merge_segments(connection, budget=0) == 0
    remove(connection, *first)
    assert merge_segments(connection, budget=0) == 2
    assert len(chunks_with(connection, "word")) == 400


WORDS = st.lists(st.sampled_from("alpha beta gamma delta epsilon".split()), min_size=1, max_size=8).map(" ".join)
STEPS = st.tuples(st.sampled_from(["put", "remove", "merge"]), st.lists(WORDS, min_size=1, max_size=3))


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_merging_never_changes_what_is_found(steps: list[tuple[str, list[str]]]) -> None:
    connection = sqlite3.connect(":memory:")
    prepare(connection)
    alive: list[int] = []
    for action, texts in steps:
        if action == "put":
            alive += write(connection, *texts)
        elif action == "remove" and alive:
            remove(connection, alive.pop(0))
        else:
            before = alive_content(connection, *STEMS)
            merge_segments(connection, force=len(texts) > 1)
            after = alive_content(connection, *STEMS)
            assert {k: v for k, v in before.items() if any(v)} == {k: v for k, v in after.items() if any(v)}
    lengths = read_lengths(connection)
    assert set(alive) <= set(lengths.chunk_ids.tolist())
    connection.close()


def test_lengths_count_every_word_of_a_chunk_and_its_path(connection: sqlite3.Connection) -> None:
    write(connection, "alpha beta alpha", path="one.py")
    lengths = read_lengths(connection)
    assert lengths.bodies.tolist() == [5]  # three words, and the stem twice
    assert lengths.fields[0, Field.STEM] == 1


def test_a_definition_is_found_by_any_spelling_with_the_chunk_where_it_starts(connection: sqlite3.Connection) -> None:
    chunks = (Chunk(1, 10, "x = 1", "code"), Chunk(11, 40, "class Pool: ...", "class", ("ThreadPool",)))
    parsed = ParsedFile("python", "tree-sitter", chunks, (Definition("ThreadPool", "class", 10, 40),))
    LexicalIndex().write_segment(connection, [(1, [7, 8], analyse("pool.py", parsed))])
    (row,) = find_definitions(connection, ["threadpool"])
    assert (row.name, row.kind, row.chunk_id, row.start_line) == ("ThreadPool", "class", 8, 10)
    file_ids, numbers = find_places(connection, ["threadpool"])
    assert file_ids.tolist() == [1]
    assert read_definitions(connection, numbers.tolist()) == [row]
    assert find_stems(connection, ["pool"]) == [("pool", 1)]
    LexicalIndex().forget_files(connection, [1])
    assert find_definitions(connection, ["threadpool"]) == []
    assert find_stems(connection, ["pool"]) == []


@pytest.mark.parametrize(
    ("path", "stem"),
    [
        ("src/extract/mod.rs", "extract"),
        ("lib/router/index.js", "router"),
        ("pkg/json/__init__.py", "json"),
        ("index.js", "index"),
        ("src/app.module.ts", "app"),
        (".gitignore", ".gitignore"),
    ],
)
def test_a_file_that_is_named_after_its_place_bears_its_folders_name(path: str, stem: str) -> None:
    assert file_stem(path) == stem


def test_very_long_text_is_counted_without_overflow(connection: sqlite3.Connection) -> None:
    write(connection, "needle " * 1000)
    assert read_bodies(connection, ["needl"]).tfs.tolist() == [255]
    assert read_lengths(connection).bodies[0] == 1003  # the words, the stem twice, the folder
