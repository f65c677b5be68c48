"""Named document indexes: both backends give the same answers; what is in SQLite stays."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.engine.extras.documents import DocumentIndexes
from sidecar.errors import Cancelled, DocumentIndexExists, DocumentIndexNotFound, IndexCorrupt, UnknownBackend
from sidecar.model.answers import DocumentsAnswer
from sidecar.model.terms import never_cancelled
from sidecar.parts.documents import DocumentFile
from sidecar.parts.lexical.tfidf import count_words
from tests.engine.projects import Project, index
from tests.examples import examples

TEXTS = {
    "intro": "Python rate limiting with token buckets",
    "ml": "Machine learning in Python: a machine, some learning, no draft.",
    "draft": "A draft about Python machine parts and learning to drive",
    "java": "Java rate limits",
}


def indexes(folder: Path) -> DocumentIndexes:
    return DocumentIndexes(DocumentFile(folder / "documents" / "documents.sqlite", count_words))


@pytest.fixture(params=["memory", "sqlite"])
def documents(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DocumentIndexes]:
    """An index `docs` of either backend, with the texts."""
    made = indexes(tmp_path)
    made.create("docs", request.param, True, 2)
    for doc_id, text in TEXTS.items():
        made.add("docs", doc_id, text, {"from": doc_id})
    yield made
    made.close()


def find(documents: DocumentIndexes, query: str, limit: int = 10, name: str = "docs") -> list[str]:
    return [hit.doc_id for hit in ask(documents, query, limit, name).hits]


def ask(documents: DocumentIndexes, query: str, limit: int = 10, name: str = "docs") -> DocumentsAnswer:
    return documents.search(name, query, limit, never_cancelled)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("python", ["intro", "ml", "draft"]),
        ("PYTHON", ["intro", "ml", "draft"]),
        ("limits buckets", ["intro", "java"]),
        ("+machine buckets", ["ml", "draft"]),
        ("+machine +buckets", []),
        ("python -machine", ["intro"]),
        ("python -draft", ["intro"]),
        ('"machine learning"', ["ml"]),
        ('"learning machine"', []),
        ('"MACHINE, learning"', ["ml"]),
        ('python -"machine learning"', ["intro", "draft"]),
        ("+rate-limiting", ["intro"]),
        ("rate-limiting", ["intro", "java"]),
        ("-rate-limiting python", ["ml", "draft"]),
        ('"machine learning" java', ["ml"]),
        ("+a python", ["ml", "draft"]),
        ("-a python", ["intro"]),
        ("+a", ["ml", "draft"]),
        ("-python", ["java"]),
        ("-python -java", []),
        ("a", []),
        ("nothing", []),
        ("+nothing python", []),
    ],
)
def test_operators_decide_what_matches(documents: DocumentIndexes, query: str, expected: list[str]) -> None:
    assert sorted(find(documents, query), key=list(TEXTS).index) == expected


def test_the_highest_score_comes_first_and_equal_ones_in_the_order_in_which_they_came(
    documents: DocumentIndexes,
) -> None:
    assert find(documents, "machine")[:2] == ["ml", "draft"]
    documents.add("docs", "copy", TEXTS["intro"], {})
    assert find(documents, "buckets") == ["intro", "copy"]
    documents.add("docs", "intro", TEXTS["intro"], {})
    assert find(documents, "buckets") == ["intro", "copy"]


def test_the_total_is_before_the_limit(documents: DocumentIndexes) -> None:
    answer = ask(documents, "python", 1)
    assert (len(answer.hits), answer.total) == (1, 3)


def test_a_document_that_is_added_again_is_replaced(documents: DocumentIndexes) -> None:
    assert documents.add("docs", "java", "Kotlin now, Kotlin", {"v": 2}) == (True, 3)
    assert find(documents, "java") == []
    (hit,) = ask(documents, "kotlin").hits
    assert hit.metadata == {"v": 2}
    assert documents.add("docs", "new", "Kotlin", {}) == (False, 1)


def test_adding_the_same_again_changes_nothing(documents: DocumentIndexes) -> None:
    before = [ask(documents, query) for query in ("python", "-python", '"machine learning"')]
    for doc_id, text in TEXTS.items():
        assert documents.add("docs", doc_id, text, {"from": doc_id})[0] is True
    assert [ask(documents, query) for query in ("python", "-python", '"machine learning"')] == before


def test_highlights_show_the_words_that_match(documents: DocumentIndexes) -> None:
    hit = ask(documents, '+"machine learning" draft').hits[0]
    assert hit.highlights == (
        "...Machine learning in Python: a machine, some le...",
        "... a machine, some learning, no draft....",
    )


def test_an_empty_query_finds_nothing_and_has_no_parts(documents: DocumentIndexes) -> None:
    nothing: dict[str, list[str]] = {"terms": [], "must": [], "must_not": [], "phrases": []}
    assert ask(documents, ' + - "" ') == DocumentsAnswer((), 0, nothing)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("a", "This index has no words of fewer than 2 characters."),
        ("nothing at-all", "None of the 4 documents has any of these words: nothing, at, all."),
        ("+nothing python", 'None of the 4 documents has "nothing", which the query requires.'),
        ('"learning machine"', 'None of the 4 documents has "learning machine", which the query requires.'),
        ("+machine +buckets", 'None of the 4 documents has all that the query requires: "machine", "buckets".'),
        ("-python -java", "The query leaves out each of the 4 documents that would match."),
        ("buckets -python", "The query leaves out the only document that would match."),
    ],
)
def test_an_answer_without_documents_says_what_left_none(documents: DocumentIndexes, query: str, said: str) -> None:
    answer = ask(documents, query)
    assert (answer.hits, answer.reason) == ((), said)


def test_an_index_without_documents_says_so_unless_the_query_is_empty_too(documents: DocumentIndexes) -> None:
    said = "The index has no documents yet; `search_add_document` adds one."
    assert ask(documents, "python", name="default").reason == said
    assert ask(documents, "", name="default").reason == ""


def test_an_answer_with_documents_has_no_reason(documents: DocumentIndexes) -> None:
    assert ask(documents, "python").reason == ""


def test_metadata_comes_back_as_it_was(documents: DocumentIndexes) -> None:
    metadata = {"class": 1, "a-b": {"c": [None, True, 1.5, "é"]}, "": {}, "doc_id": "x", "$ref": "#/x", "__proto__": {}}
    documents.add("docs", "odd", "odd one", metadata)
    (hit,) = ask(documents, "odd").hits
    assert hit.metadata == metadata


def test_the_tokenizer_is_the_one_of_the_index(tmp_path: Path) -> None:
    documents = indexes(tmp_path)
    for backend in ("memory", "sqlite"):
        documents.create(backend, backend, False, 4)
        assert documents.add(backend, "a", "The Quick brown fox", {}) == (False, 2)
        assert find(documents, "Quick", name=backend) == ["a"]
        assert find(documents, "quick", name=backend) == []
        assert find(documents, "The", name=backend) == []
        assert find(documents, "+The", name=backend) == ["a"]
        assert find(documents, '"brown fox"', name=backend) == ["a"]


def test_a_name_is_taken_once_whatever_the_backend(tmp_path: Path) -> None:
    documents = indexes(tmp_path)
    documents.create("kept", "sqlite", True, 2)
    documents.create("held", "memory", True, 2)
    for name, backend in itertools.product(("kept", "held", "default"), ("memory", "sqlite")):
        with pytest.raises(DocumentIndexExists) as refused:
            documents.create(name, backend, True, 2)
        assert refused.value.message == f"Index already exists: {name}"


def test_unknown_names_and_backends_are_refused(tmp_path: Path) -> None:
    documents = indexes(tmp_path)
    with pytest.raises(DocumentIndexNotFound, match="nope") as missing:
        documents.add("nope", "a", "text", {})
    assert missing.value.message == "Index not found: nope"
    with pytest.raises(DocumentIndexNotFound):
        ask(documents, "", name="nope")
    with pytest.raises(UnknownBackend) as unknown:
        documents.create("x", "redis", True, 2)
    assert unknown.value.message == "Unknown backend: redis"


def test_without_an_index_in_sqlite_there_is_no_file(tmp_path: Path) -> None:
    documents = indexes(tmp_path)
    documents.add("default", "a", "text", {})
    assert find(documents, "text", name="default") == ["a"]
    assert list(tmp_path.iterdir()) == []


def test_what_is_in_sqlite_survives_and_what_is_in_memory_does_not(tmp_path: Path) -> None:
    first = indexes(tmp_path)
    first.create("kept", "sqlite", False, 3)
    first.create("held", "memory", True, 2)
    first.add("kept", "a", "Some Words", {"n": None})
    first.close()
    second = indexes(tmp_path)
    (hit,) = ask(second, "Words", name="kept").hits
    assert (hit.doc_id, hit.metadata) == ("a", {"n": None})
    assert find(second, "words", name="kept") == []
    with pytest.raises(DocumentIndexNotFound):
        ask(second, "x", name="held")
    second.close()


def test_two_processes_see_what_the_other_adds(tmp_path: Path) -> None:
    one, other = indexes(tmp_path), indexes(tmp_path)
    one.create("kept", "sqlite", True, 2)
    other.add("kept", "a", "from the other", {})
    assert find(one, "other", name="kept") == ["a"]
    with pytest.raises(DocumentIndexExists):
        other.create("kept", "sqlite", True, 2)
    one.close()
    other.close()


def test_a_file_that_is_no_database_is_named_and_what_is_in_memory_goes_on(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "documents.sqlite").write_bytes(b"no database at all, but long enough to be read" * 99)
    documents = indexes(tmp_path)
    with pytest.raises(IndexCorrupt, match="Try again"):
        ask(documents, "x", name="kept")
    documents.add("default", "a", "text", {})
    assert find(documents, "text", name="default") == ["a"]


def test_many_threads_add_and_search_at_once(documents: DocumentIndexes) -> None:
    def work(number: int) -> int:
        documents.add("docs", f"d{number % 7}", f"thread number {number} thread", {})
        return ask(documents, "thread -absent").total

    with ThreadPoolExecutor(8) as pool:
        totals = list(pool.map(work, range(60)))
    assert max(totals) == ask(documents, "thread").total == 7


def test_a_search_through_texts_can_be_cancelled(documents: DocumentIndexes) -> None:
    with pytest.raises(Cancelled):
        documents.search("docs", '"machine learning"', 10, lambda: True)


def test_a_document_of_ten_megabytes_is_indexed_and_found(documents: DocumentIndexes) -> None:
    text = " ".join(f"w{number % 5000}" for number in range(1_800_000))
    assert len(text) > 10_000_000
    replaced, tokens = documents.add("docs", "big", text + " final needle", {})
    assert (replaced, tokens) == (False, 1_800_002)
    (hit,) = ask(documents, '"final needle" w4999').hits
    assert hit.highlights[0].endswith("final needle...")


@pytest.mark.process
def test_documents_outlive_the_deletion_of_the_code_index(project: Project) -> None:
    workspace = project.open()
    workspace.documents.create("kept", "sqlite", True, 2)
    workspace.documents.add("kept", "a", "a text to keep", {})
    index(workspace)
    workspace.delete()
    assert find(workspace.documents, "keep", name="kept") == ["a"]
    workspace.close()
    assert find(project.open().documents, "keep", name="kept") == ["a"]


@pytest.mark.process
def test_documents_need_neither_an_index_of_code_nor_its_lease(project: Project) -> None:
    first = project.open()
    index(first)
    second = project.open()
    second.documents.create("kept", "sqlite", True, 2)
    second.documents.add("kept", "a", "beside the lease", {})
    assert find(first.documents, "lease", name="kept") == ["a"]


QUERIES = st.lists(
    st.tuples(st.sampled_from(["", "+", "-"]), st.sampled_from(["aa", "bb", "cc", "d", '"aa bb"'])), max_size=4
)


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.lists(st.sampled_from(["aa", "bb", "cc", "d"]), max_size=5), max_size=5), QUERIES)
def test_both_backends_and_a_plain_reading_of_the_rules_agree(
    texts: list[list[str]], query: list[tuple[str, str]]
) -> None:
    line = " ".join(sign + word for sign, word in query)
    with tempfile.TemporaryDirectory() as folder:
        documents = indexes(Path(folder))
        for backend in ("memory", "sqlite"):
            documents.create(backend, backend, True, 2)
            for place, text in enumerate(texts):
                documents.add(backend, str(place), " ".join(text), {})
        answers = [ask(documents, line, name=backend) for backend in ("memory", "sqlite")]
        documents.close()
    assert answers[0] == answers[1]
    expected = {str(place) for place, text in enumerate(texts) if matches(" ".join(text), query)}
    assert {hit.doc_id for hit in answers[0].hits} == expected


def matches(text: str, query: list[tuple[str, str]]) -> bool:
    def holds(word: str) -> bool:
        return f" {word.strip(chr(34))} " in f" {text} "

    must = [word for sign, word in query if sign == "+" or (sign == "" and word.startswith('"'))]
    must_not = [word for sign, word in query if sign == "-"]
    terms = [word for sign, word in query if sign == "" and not word.startswith('"')]
    if not query or any(not holds(word) for word in must) or any(holds(word) for word in must_not):
        return False
    return bool(must) or not terms or any(holds(word) for word in terms if len(word) > 1)


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("UPDATE documents SET metadata = zeroblob(12) WHERE doc_id = 'a'", "a document is not what was stored"),
        ("UPDATE documents SET metadata = '{', seal = NULL WHERE doc_id = 'a'", "metadata of a document is damaged"),
        ("DELETE FROM documents WHERE doc_id = 'a'", "the word index refers to is missing"),
    ],
)
def test_a_row_that_sidecar_cannot_have_written_is_named_and_the_rest_of_the_file_is_rescued(
    tmp_path: Path, damage: str, fault: str
) -> None:
    documents = indexes(tmp_path)
    documents.create("kept", "sqlite", True, 2)
    documents.add("kept", "a", "python limits", {"from": "a"})
    documents.add("kept", "b", "java limits", {"from": "b"})
    file = tmp_path / "documents" / "documents.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(damage)
    with pytest.raises(IndexCorrupt, match=fault) as raised:
        ask(documents, "python", name="kept")
    assert str(file) in raised.value.message
    assert "documents.damaged-1.sqlite" in raised.value.message
    assert find(documents, "java", name="kept") == ["b"]
    assert find(documents, "python", name="kept") == ([] if "missing" in fault else ["a"])
    assert file.with_name("documents.damaged-1.sqlite").is_file()
    documents.close()
