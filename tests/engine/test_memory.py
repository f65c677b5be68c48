"""Memories on disk and how they are found, with the shipped model."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest

from sidecar.engine.extras.memory import WorkspaceMemories
from sidecar.engine.models.loader import Models
from sidecar.errors import IndexCorrupt, InvalidParams, InvalidQuery, ModelLoadFailed
from sidecar.model.answers import MemoryPage
from sidecar.model.terms import Embedder, Vectors, never_cancelled
from sidecar.parts.memories import MemoryFile
from tests.engine.projects import Project, find, index

SAVED = (
    ("build/command", "How to build the project", "Run `make all` in the root folder; it needs clang 17.", ("build",)),
    ("deploy/production", "Deploying", "Push a tag. The pipeline ships to kubernetes after an approval.", ("ops",)),
    ("style", "What the user likes", "Short functions, no retry_with_backoff loops, British spelling.", ("user",)),
)


@pytest.fixture
def memories(project: Project) -> WorkspaceMemories:
    kept = project.open().memories
    for memory in SAVED:
        kept.save(*memory)
    return kept


def search(
    memories: WorkspaceMemories, query: str, limit: int = 10, offset: int = 0, namespace: str = ""
) -> MemoryPage:
    return memories.search(query, limit, offset, namespace, never_cancelled)


def keys(page: MemoryPage) -> list[str]:
    return [hit.memory.key for hit in page.hits]


def words(
    memories: WorkspaceMemories, *keywords: str, operator: Literal["AND", "OR"] = "OR", namespace: str = ""
) -> MemoryPage:
    return memories.find_keywords(keywords, operator, 10, 0, namespace)


# ---------------------------------------------------------------- keeping


def test_reading_where_nothing_was_saved_makes_no_file(project: Project) -> None:
    memories = project.open().memories
    assert memories.page("", (), 10, 0) == ((), 0)
    assert search(memories, "anything") == MemoryPage((), 0)
    assert memories.get("a") is None
    assert not memories.delete("a")
    assert not project.home.exists()


def test_memories_need_no_index_and_survive_a_restart(project: Project, memories: WorkspaceMemories) -> None:
    project.close()
    again = project.open()
    assert again.status().status == "not_found"
    kept = again.memories.get("build/command")
    assert kept is not None
    assert (kept.summary, kept.tags) == (SAVED[0][1], ("build",))
    assert kept.created == kept.updated


def test_saving_under_a_known_key_replaces_and_keeps_the_time_of_making(memories: WorkspaceMemories) -> None:
    before = memories.get("style")
    assert search(memories, "spelling").hits
    changed, is_new = memories.save("style", "Changed", "Tabs everywhere.", ())
    assert before is not None
    assert not is_new
    assert changed.created == before.created
    assert changed.updated >= before.updated
    assert keys(words(memories, "spelling")) == []
    assert keys(words(memories, "tabs")) == ["style"]
    assert memories.page("", (), 10, 0)[1] == 3


def test_a_deleted_memory_is_found_no_more(memories: WorkspaceMemories) -> None:
    assert search(memories, "how do I compile this").hits
    assert memories.delete("build/command")
    assert not memories.delete("build/command")
    assert memories.get("build/command") is None
    assert keys(words(memories, "clang")) == []
    assert "build/command" not in keys(search(memories, "how do I compile this"))


def test_a_namespace_is_a_prefix_to_the_letter(project: Project) -> None:
    memories = project.open().memories
    for key in ("a%b/1", "aXb/2", "a_b/3", "A%B/4"):
        memories.save(key, "same summary", "same text", ())
    assert [m.key for m in memories.page("a%b", (), 10, 0)[0]] == ["a%b/1"]
    assert keys(words(memories, "same", namespace="a_")) == ["a_b/3"]
    assert keys(search(memories, "same text", namespace="a%")) == ["a%b/1"]


def test_memories_are_listed_by_tags_page_by_page_last_changed_first(memories: WorkspaceMemories) -> None:
    memories.save("build/again", "Another", "More about building.", ("build", "fast"))
    assert [m.key for m in memories.page("", ("build",), 10, 0)[0]] == ["build/again", "build/command"]
    assert [m.key for m in memories.page("", ("build", "fast"), 10, 0)[0]] == ["build/again"]
    found, total = memories.page("", (), 2, 1)
    assert ([m.key for m in found], total) == (["style", "deploy/production"], 4)


@pytest.mark.process
def test_deleting_the_index_keeps_the_memories(project: Project, memories: WorkspaceMemories) -> None:
    workspace = project.open()
    index(workspace)
    assert find(workspace, "retry with backoff")
    workspace.delete()
    assert workspace.status().status == "not_found"
    assert workspace.memories.get("style") is not None
    assert memories.get("style") is not None
    index(workspace)
    assert find(workspace, "retry with backoff")


def test_memories_that_a_killed_deletion_left_in_the_rubbish_come_back(
    project: Project, memories: WorkspaceMemories
) -> None:
    project.close()
    (folder,) = (project.home / "indexes").iterdir()
    folder.rename(folder.with_name(f".{folder.name}.deleted-1"))
    assert project.open().memories.get("style") is not None


def test_two_processes_see_each_others_memories(tmp_path: Path) -> None:
    one, other = MemoryFile(tmp_path / "m.sqlite"), MemoryFile(tmp_path / "m.sqlite")
    one.save("a", "from one", "text", ())
    assert other.get("a") is not None
    other.save("a", "from the other", "text", ())
    found = one.get("a")
    assert found is not None
    assert found.summary == "from the other"
    one.close()
    other.close()


def test_a_damaged_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "m.sqlite").write_bytes(b"no database at all, but long enough to be one" * 100)
    with pytest.raises(IndexCorrupt, match="Try again"):
        MemoryFile(tmp_path / "m.sqlite").get("a")


# ---------------------------------------------------------------- by word


def test_keywords_are_joined_by_and_or_or(memories: WorkspaceMemories) -> None:
    assert keys(words(memories, "make", "clang", operator="AND")) == ["build/command"]
    assert keys(words(memories, "make", "kubernetes", operator="AND")) == []
    assert set(keys(words(memories, "make", "kubernetes"))) == {"build/command", "deploy/production"}


def test_an_excerpt_marks_every_keyword(memories: WorkspaceMemories) -> None:
    (hit,) = words(memories, "clang", "make").hits
    assert hit.excerpt == "Run `<mark>make</mark> all` in the root folder; it needs <mark>clang</mark> 17."


def test_a_keyword_of_several_words_is_a_phrase(memories: WorkspaceMemories) -> None:
    assert keys(words(memories, "retry with backoff")) == ["style"]
    assert keys(words(memories, "backoff with retry")) == []


def test_a_match_outside_the_text_is_marked_where_it_is(memories: WorkspaceMemories) -> None:
    (hit,) = words(memories, "production").hits
    assert "<mark>production</mark>" in hit.excerpt


def test_words_are_found_in_every_form_and_in_scripts_without_spaces(memories: WorkspaceMemories) -> None:
    memories.save("zh", "数据库", "数据库连接失败时需要重试三次", ())
    assert keys(words(memories, "function")) == ["style"]
    (hit,) = words(memories, "重试").hits
    assert hit.excerpt == "数据库连接失败时需要<mark>重试</mark>三次"


def test_what_is_syntax_elsewhere_is_text_here(memories: WorkspaceMemories) -> None:
    memories.save("odd", 'a "quoted" NEAR(b) * ^x', "text: {col} <mark>literal</mark> key:1 -minus", ())
    for keyword in ('"quoted', "NEAR(b", "{col}", "key:1", "-minus", 'x" OR "y quoted'):
        words(memories, keyword)
    assert keys(words(memories, '"quoted"')) == ["odd"]
    assert keys(words(memories, "key:1", "!!!", operator="AND")) == ["odd"]
    assert len(search(memories, " ".join(f"word{n}" for n in range(400))).hits) <= 10


@pytest.mark.parametrize("keywords", [(), ("",), ("  ",), ("!!!", "--")])
def test_keywords_without_any_word_are_refused(memories: WorkspaceMemories, keywords: tuple[str, ...]) -> None:
    with pytest.raises(InvalidParams, match="keywords must contain at least one non-empty value"):
        words(memories, *keywords)


def test_relevance_rises_with_the_match_and_agrees_with_the_order(project: Project) -> None:
    memories = project.open().memories
    for n in range(20):
        memories.save(f"filler/{n}", "nothing", f"entirely different matter number {n}", ())
    memories.save("once", "nothing", "the kettle stands between many other things in a long text about a kitchen", ())
    memories.save("often", "kettle", "kettle kettle", ("kettle",))
    page = words(memories, "kettle")
    assert keys(page) == ["often", "once"]
    often, once = (hit.relevance for hit in page.hits)
    assert 0 < once < often < 1


def test_a_word_that_every_memory_holds_is_a_match_all_the_same(project: Project) -> None:
    memories = project.open().memories
    memories.save("only", "About the kettle", "The kettle is in the kitchen.", ())
    (hit,) = words(memories, "kettle").hits
    assert hit.relevance >= 0.5
    memories.save("both", "Kettle", "A kettle with a lid.", ())
    page = words(memories, "kettle", "lid")
    assert keys(page) == ["both", "only"]
    assert page.hits[0].relevance > page.hits[1].relevance > 0.3


# ---------------------------------------------------------------- by meaning


def test_a_question_finds_a_memory_that_shares_no_word_with_it(memories: WorkspaceMemories) -> None:
    assert keys(search(memories, "compile"))[:1] == ["build/command"]
    assert keys(search(memories, "release the software"))[:1] == ["deploy/production"]


def test_meaning_and_word_together_come_first_with_relevance_one(memories: WorkspaceMemories) -> None:
    page = search(memories, "how to build the project")
    assert keys(page)[0] == "build/command"
    assert page.hits[0].relevance == 1
    assert "<mark>build</mark>" in page.hits[0].excerpt
    relevances = [hit.relevance for hit in page.hits]
    assert relevances == sorted(relevances, reverse=True)


UNRELATED = [
    "the weather tomorrow",
    "medieval poetry",
    "paint the bedroom",
    "matrix multiplication kernel",
    "sourdough bread recipe with rye flour",
    "TrombonePolisher",
]


@pytest.mark.parametrize("question", UNRELATED)
def test_the_closest_of_unrelated_memories_is_called_weak(project: Project, question: str) -> None:
    memories = project.open().memories
    for key, text in (
        ("build/how-to", "Run make all; needs clang 17."),
        ("oncall", "The pager rotates on Mondays; runbooks are in docs/runbooks."),
        ("migration", "Never edit a migration that is merged; write a new one."),
        ("tests/flaky", "test_upload_resume fails on slow machines because idle connections are closed after 5 s."),
        ("style/commits", "Commit subjects say what is true now."),
    ):
        memories.save(key, "", text, ())
    page = search(memories, question)
    assert all(hit.relevance < 0.2 for hit in page.hits), page
    assert ("No strong match" in page.notice) == bool(page.hits)


@pytest.mark.parametrize("offset", [0, 1])
def test_every_page_of_a_weak_answer_says_so(project: Project, offset: int) -> None:
    memories = project.open().memories
    memories.save("a/kettle", "", "The kettle is in the kitchen beside the other things that make tea.", ())
    memories.save("b/kettle", "", "A kettle with a lid stands on the stove of the holiday flat.", ())
    page = search(memories, "kettle drum concerto baroque orchestra strings tuning history", 1, offset)
    assert len(page.hits) == 1
    assert "No strong match" in page.notice


def test_a_memory_that_holds_the_words_or_the_meaning_is_not_called_weak(memories: WorkspaceMemories) -> None:
    for question in ("clang", "compile the project", "how to build the project", "British spelling", "kubernetes"):
        page = search(memories, question)
        assert page.hits[0].relevance > 0.2, question
        assert page.notice == "", question


def test_pages_follow_each_other_without_gap_or_repetition(project: Project) -> None:
    memories = project.open().memories
    for n in range(25):
        memories.save(f"note/{n}", f"Note {n} about caching", "The cache is cleared every night.", ())
    whole = keys(search(memories, "cache", 25))
    assert len(whole) == 25
    paged = [key for offset in range(0, 30, 10) for key in keys(search(memories, "cache", 10, offset))]
    assert paged == whole
    assert search(memories, "cache", 10, 20).total == 25


def test_a_changed_memory_is_found_by_its_new_meaning(memories: WorkspaceMemories) -> None:
    assert keys(search(memories, "compile"))[:1] == ["build/command"]
    memories.save("build/command", "Lunch", "The canteen serves soup at noon.", ())
    assert keys(search(memories, "food"))[:1] == ["build/command"]
    assert "build/command" not in keys(search(memories, "compile"))


def test_the_middle_of_a_long_text_is_found_by_meaning(project: Project) -> None:
    memories = project.open().memories
    filler = "Meeting notes without any particular content worth mentioning here. " * 60
    memories.save("long", "Minutes", f"{filler}The database password is rotated every month.{filler}", ())
    memories.save("other", "Minutes", filler, ())
    assert keys(search(memories, "changing credentials of the database"))[0] == "long"


def test_a_blank_question_is_refused(memories: WorkspaceMemories) -> None:
    with pytest.raises(InvalidQuery):
        search(memories, " \n")


def test_without_a_model_memories_are_found_by_word_and_it_is_said(tmp_path: Path) -> None:
    def broken() -> Embedder:
        raise ModelLoadFailed("It is not there.")

    memories = WorkspaceMemories(MemoryFile(tmp_path / "m.sqlite"), broken)
    memories.save("a", "", "some words", ())
    page = search(memories, "words")
    assert keys(page) == ["a"]
    assert page.notice.startswith("Searched by word only")
    memories.close()


def test_vectors_are_made_once(tmp_path: Path, project: Project, models: Models) -> None:
    made: list[int] = []

    class Counting:
        def __init__(self, inner: Embedder) -> None:
            self.model_id, self.dimension = inner.model_id, inner.dimension
            self.device, self.device_note = inner.device, inner.device_note
            self.embed_query, self.close = inner.embed_query, inner.close
            self._embed = inner.embed_documents

        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            made.append(len(texts))
            return self._embed(texts)

    embedder = Counting(models.embedder(project.open().settings()))
    for _ in range(2):
        memories = WorkspaceMemories(MemoryFile(tmp_path / "m.sqlite"), lambda: embedder)
        memories.save("a", "", "some words", ()) if not made else None
        search(memories, "words")
        memories.close()
    assert made == [1]
    with sqlite3.connect(tmp_path / "m.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (1,)
    connection.close()


@pytest.mark.parametrize("damage", ["x'00'", "x''", "zeroblob(1024 * 4 + 1)", "CAST(x'0000c07f' || pieces AS BLOB)"])
def test_vectors_that_damage_has_changed_are_made_again(
    project: Project, memories: WorkspaceMemories, damage: str
) -> None:
    before = search(memories, "how to compile")
    memories.close()
    (file,) = project.home.rglob("memories.sqlite")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"UPDATE vectors SET pieces = {damage}")
    assert search(memories, "how to compile") == before
