"""The definitions of names that searches of a revision have looked up are kept, and answer as if read again."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.engine.concurrency.memo import Memo
from sidecar.engine.index.snapshot import Snapshot
from sidecar.engine.search.query import understand
from sidecar.engine.search.rank.definitions import DefinitionScores, add_plain, look_up
from sidecar.engine.search.rank.index_columns import columns_of
from tests.engine.search_index import small_index
from tests.examples import examples

NAMES = ("read_all", "readAll", "READ_ALL", "Reader", "reader", "Close", "close_all")
FILES = {
    "a.py": "class Reader:\n    def read_all(self):\n        pass\n\n\ndef close_all():\n    pass\n",
    "b.js": "export function readAll() {}\nfunction reader() {}\n",
    "c.py": "READ_ALL = 1\n\n\nclass Close:\n    def read_all(self):\n        pass\n\n    def reader(self): 1\n",
    "reader.md": "# Reader\n\nCloses all.\n",
}
ISSUE = "{} fails\n\nIt happens when `{}` is called by `{}` in c.py, and not when Close is.\n" + "It always did. " * 20
questions = st.one_of(
    st.sampled_from(NAMES),
    st.builds("{}.{}".format, st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.builds("where does {} close {}".format, st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.builds(ISSUE.format, st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from(NAMES)),
)


def scores(snapshot: Snapshot, question: str, collection: int) -> DefinitionScores:
    columns, query = columns_of(snapshot, collection), understand(question)
    found = look_up(snapshot, columns, query)
    add_plain(found, snapshot, columns, query, np.arange(len(snapshot.file_ids), dtype=np.int32))
    return found


@given(st.lists(st.tuples(questions, st.integers(0, 1)), min_size=2, max_size=6))
@settings(max_examples=examples(40), deadline=None)
def test_what_was_asked_before_changes_no_score(asked: Sequence[tuple[str, int]]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        small_index(Path(folder), FILES) as index,
        index.snapshot() as before,
        index.snapshot() as alone,
    ):
        for question, collection in asked:
            alone.memo = Memo()
            first, later = (scores(each, question, collection) for each in (alone, before))
            for field in fields(DefinitionScores):
                assert np.array_equal(getattr(first, field.name), getattr(later, field.name))


def test_a_name_is_read_once_in_each_revision(tmp_path: Path) -> None:
    sent: list[str] = []

    def read(snapshot: Snapshot, question: str) -> list[str]:
        sent.clear()
        snapshot.connection.set_trace_callback(sent.append)
        found = look_up(snapshot, columns_of(snapshot, 0), understand(question))
        snapshot.connection.set_trace_callback(None)
        assert found.files_sought.any()
        return [statement for statement in sent if "FROM definitions" in statement]

    with small_index(tmp_path, FILES) as index:
        with index.snapshot() as snapshot:
            assert len(read(snapshot, "read_all")) == 1
            assert read(snapshot, "readAll") == []
        index.put({"d.py": "def read_all():\n    pass\n"})
        with index.snapshot() as snapshot:
            assert len(read(snapshot, "read_all")) == 1
