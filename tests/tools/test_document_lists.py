"""Document indexes and their documents can be listed and deleted; deleting asks first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.engine.extras.documents import DocumentIndexes
from sidecar.errors import DocumentIndexNotFound, SidecarError
from sidecar.parts.documents import DocumentFile
from sidecar.parts.lexical.tfidf import count_words
from sidecar.tools.confirm import call_with_questions_sync
from sidecar.tools.registry import tools_of
from sidecar.tools.service import Service
from sidecar.tools.spec import Answer, Question
from tests.fakes import FakeWorkspace, FakeWorkspaces


class Caller:
    """Calls the tools for a person who always gives the same answer; `asked` are the questions so far."""

    def __init__(self, root: Path, *, goes_on: bool = True) -> None:
        workspaces = FakeWorkspaces(FakeWorkspace({}, root=str(root)))
        self.service = Service(workspaces, tools=tools_of("documents,document-lists"), goes_on=goes_on)
        self.asked: list[Question] = []
        self.answer: Answer = "accept"
        self._root = str(root)

    def __call__(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        def ask(question: Question) -> Answer:
            self.asked.append(question)
            return self.answer

        return call_with_questions_sync(self.service, tool, arguments, workspace=self._root, ask=ask).value


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    caller = Caller(tmp_path)
    yield caller
    caller.service.close()


def fill(call: Caller, backend: str, count: int = 3) -> None:
    call("search_create_index", index_name="notes", backend=backend)
    for number in range(count):
        call("search_add_document", index_name="notes", doc_id=f"d{number}", content=f"text {number}" * (number + 1))


def ids(call: Caller, **arguments: object) -> list[str]:
    return [one["doc_id"] for one in call("search_list_documents", index_name="notes", **arguments)["documents"]]


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_an_index_and_its_documents_are_listed_page_by_page(call: Caller, backend: str) -> None:
    fill(call, backend)
    assert call("search_list_indexes")["indexes"] == [
        {"index_name": "default", "backend": "memory", "documents": 0, "lowercase": True, "min_length": 2},
        {"index_name": "notes", "backend": backend, "documents": 3, "lowercase": True, "min_length": 2},
    ]
    page = call("search_list_documents", index_name="notes", limit=2)
    assert page == {
        "documents": [
            {"doc_id": "d0", "characters": 6, "metadata": {}},
            {"doc_id": "d1", "characters": 12, "metadata": {}},
        ],
        "total": 3,
    }
    assert ids(call, offset=2) == ["d2"]
    assert call("search_list_documents", index_name="notes", offset=9)["reason"] == "There are only 3 documents."
    assert "no documents yet" in call("search_list_documents")["reason"]


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_a_deleted_document_is_found_no_more_and_the_others_keep_their_places(call: Caller, backend: str) -> None:
    fill(call, backend)
    assert call("search_delete_document", index_name="notes", doc_id="d1")["status"] == "deleted"
    assert (ids(call), len(call.asked)) == (["d0", "d2"], 1)
    found = call("search_index", index_name="notes", query="text")["results"]
    assert [hit["doc_id"] for hit in found] == ["d0", "d2"]
    call("search_add_document", index_name="notes", doc_id="d1", content="again")
    assert ids(call) == ["d0", "d2", "d1"]


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_a_deleted_index_is_gone_and_its_name_is_free(call: Caller, backend: str) -> None:
    fill(call, backend)
    assert call("search_delete_index", index_name="notes") == {
        "status": "deleted",
        "index_name": "notes",
        "documents": 3,
    }
    assert "3 documents with texts and metadata are lost." in call.asked[0].detail
    fill(call, backend, 1)
    assert ids(call) == ["d0"]


def test_the_default_index_is_emptied_and_stays(call: Caller) -> None:
    call("search_add_document", doc_id="a", content="some text")
    assert call("search_delete_index", index_name="default")["documents"] == 1
    assert call("search_list_indexes")["indexes"][0]["documents"] == 0
    call("search_add_document", doc_id="a", content="some text")


@pytest.mark.parametrize("answer", ["decline", "cancel", "timeout", "nobody"])
def test_nothing_is_deleted_without_a_yes(call: Caller, answer: Answer) -> None:
    fill(call, "sqlite")
    call.answer = answer
    for tool, more in (("search_delete_document", {"doc_id": "d1"}), ("search_delete_index", {})):
        declined = call(tool, index_name="notes", **more)
        assert declined["status"] == "cancelled"
        assert "has not changed" in declined["message"]
    assert ids(call) == ["d0", "d1", "d2"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_delete_document", {"index_name": "notes", "doc_id": "nope"}),
        ("search_delete_document", {"index_name": "nope", "doc_id": "d0"}),
        ("search_delete_index", {"index_name": "nope"}),
        ("search_list_documents", {"index_name": "nope"}),
    ],
)
def test_nobody_is_asked_about_what_is_not_there(call: Caller, tool: str, arguments: dict[str, str]) -> None:
    fill(call, "memory")
    with pytest.raises(SidecarError, match="nope"):
        call(tool, **arguments)
    assert call.asked == []


def test_an_index_in_memory_is_not_listed_where_it_ends_with_the_command(tmp_path: Path) -> None:
    caller = Caller(tmp_path, goes_on=False)
    listed = caller("search_list_indexes")
    assert listed["indexes"] == []
    assert "in memory" in listed["notice"]
    with pytest.raises(SidecarError, match="ends with this command"):
        caller("search_list_documents")
    caller.service.close()


def test_what_one_process_deletes_another_does_not_find(tmp_path: Path) -> None:
    first, second = (DocumentIndexes(DocumentFile(tmp_path / "documents.sqlite", count_words)) for _ in range(2))
    first.create("notes", "sqlite", True, 2)
    first.add("notes", "a", "some text", {})
    second.drop("notes")
    with pytest.raises(DocumentIndexNotFound):
        first.page("notes", 10, 0)
    assert [one.name for one in first.indexes()] == ["default"]
    first.close()
    second.close()
