"""One call from validation to result: questions, policy, errors, pools and cancellation."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import threading
from collections.abc import Iterator

import pytest

from sidecar.errors import (
    IndexExists,
    IndexingInProgress,
    IndexNotFound,
    Internal,
    InvalidParams,
    PermissionDenied,
    SidecarError,
    SnapshotUnusable,
    UnknownTool,
    WorkspaceNotFound,
)
from sidecar.tools.confirm import call_with_questions, call_with_questions_sync
from sidecar.tools.refresh import REFRESH
from sidecar.tools.registry import tools_of
from sidecar.tools.service import READERS, Done, Service
from sidecar.tools.snapshot_offer import FIND_SNAPSHOT
from sidecar.tools.spec import Answer, Question
from sidecar.tools.word import Confirm, Words
from tests.fakes import FakeWorkspace, FakeWorkspaces
from tests.patience import PATIENCE_S

ROOT = "/fake/workspace"
FILES = {"a.py": "def alpha():\n    return 1\n", "b.py": "def beta():\n    return 2\n", "guide.md": "# Guide\nalpha\n"}
QUESTIONED = ("create_index", "reindex_project", "delete_index")


@pytest.fixture
def workspace() -> FakeWorkspace:
    return FakeWorkspace(FILES)


@pytest.fixture
def service(workspace: FakeWorkspace) -> Iterator[Service]:
    service = Service(FakeWorkspaces(workspace))
    yield service
    service.close()


def indexed(workspace: FakeWorkspace) -> FakeWorkspace:
    workspace.create(lambda done, total, message: None, lambda: False)
    return workspace


def prepared(workspace: FakeWorkspace, tool: str) -> FakeWorkspace:
    return workspace if tool == "create_index" else indexed(workspace)


def call(service: Service, name: str, answer: Answer | None = None, **arguments: object) -> dict[str, object]:
    """Returns the result; `answer` answers every question."""

    def ask(question: Question) -> Answer:
        assert answer is not None, question
        return answer

    return call_with_questions_sync(service, name, arguments, workspace=ROOT, ask=ask).value


@pytest.mark.parametrize("tool", QUESTIONED)
def test_a_tool_that_asks_does_nothing_before_the_answer(service: Service, workspace: FakeWorkspace, tool: str) -> None:
    prepared(workspace, tool)
    before = workspace.status()
    first = service.call(tool, {}, workspace=ROOT, asked_by="Agent")
    second = service.call(tool, {}, workspace=ROOT, asked_by="Agent")
    assert isinstance(first, Question)
    assert first == second
    assert first.message.startswith('"Agent" wants to ')
    assert ROOT in first.message
    assert first.destructive is (tool == "delete_index")
    assert workspace.status() == before


@pytest.mark.parametrize("tool", QUESTIONED)
@pytest.mark.parametrize("answer", ["decline", "cancel", "timeout"])
def test_a_no_is_a_result_and_changes_nothing(
    service: Service, workspace: FakeWorkspace, tool: str, answer: Answer
) -> None:
    prepared(workspace, tool)
    before = workspace.status()
    assert call(service, tool, answer)["status"] == "cancelled"
    assert workspace.status() == before


def test_a_yes_creates_rebuilds_and_deletes(service: Service, workspace: FakeWorkspace) -> None:
    assert call(service, "create_index", "accept")["status"] == "created"
    assert call(service, "reindex_project", "accept")["status"] == "reindexed"
    assert call(service, "delete_index", "accept")["status"] == "deleted"
    assert workspace.status().status == "not_found"


def test_with_nobody_to_ask_auto_goes_ahead_with_what_loses_nothing_and_refuses_the_rest(service: Service) -> None:
    assert call(service, "create_index", "nobody")["status"] == "created"
    assert call(service, "reindex_project", "nobody")["status"] == "reindexed"
    refused = call(service, "delete_index", "nobody")
    assert refused["status"] == "cancelled"
    assert 'confirm = "never"' in str(refused["message"])


@pytest.mark.parametrize("tool", QUESTIONED)
def test_with_nobody_to_ask_always_refuses_all_three(workspace: FakeWorkspace, tool: str) -> None:
    prepared(workspace, tool)
    service = Service(FakeWorkspaces(workspace), confirm="always")
    assert call(service, tool, "nobody")["status"] == "cancelled"
    service.close()


def test_never_asks_nothing(workspace: FakeWorkspace) -> None:
    service = Service(FakeWorkspaces(workspace), confirm="never")
    assert [call(service, tool)["status"] for tool in QUESTIONED] == ["created", "reindexed", "deleted"]
    service.close()


def test_the_setting_is_read_at_each_question(workspace: FakeWorkspace) -> None:
    now: list[Confirm] = ["auto"]
    service = Service(FakeWorkspaces(workspace), confirm=lambda _: Words.of(now[0]))
    assert isinstance(service.call("create_index", {}, workspace=ROOT), Question)
    now[0] = "never"
    assert isinstance(service.call("create_index", {}, workspace=ROOT), Done)
    service.close()


@pytest.mark.parametrize("confirm", ["auto", "always", "never"])
def test_what_must_fail_fails_before_anybody_is_asked(workspace: FakeWorkspace, confirm: Confirm) -> None:
    service = Service(FakeWorkspaces(workspace), confirm=confirm)
    for tool in ("reindex_project", "delete_index"):
        with pytest.raises(IndexNotFound):
            service.call(tool, {}, workspace=ROOT)
    indexed(workspace)
    with pytest.raises(IndexExists):
        service.call("create_index", {}, workspace=ROOT)
    service.close()


@pytest.mark.parametrize("name", ["confirm", "confirmed", "answers", "force", "yes"])
@pytest.mark.parametrize("tool", QUESTIONED)
def test_no_parameter_stands_in_for_an_answer(service: Service, tool: str, name: str) -> None:
    with pytest.raises(InvalidParams):
        service.call(tool, {name: True}, workspace=ROOT)


def test_an_unknown_tool_is_refused_with_the_nearest_name(service: Service) -> None:
    with pytest.raises(UnknownTool) as refused:
        service.call("serch_code", {"query": "x"}, workspace=ROOT)
    assert "Did you mean search_code?" in refused.value.detail


def test_a_folder_that_is_no_workspace_is_refused() -> None:
    service = Service(FakeWorkspaces(FakeWorkspace(root="/a"), FakeWorkspace(root="/b")))
    with pytest.raises(WorkspaceNotFound):
        service.call("get_index_status", {}, workspace="/c")
    service.close()


def test_a_foreign_exception_becomes_internal_and_is_logged_under_the_id_it_names(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service = Service(FakeWorkspaces(FakeWorkspace(broken=RuntimeError("secret"))))
    with caplog.at_level(logging.ERROR), pytest.raises(Internal) as failed:
        service.call("get_index_status", {}, workspace=ROOT)
    assert "secret" not in failed.value.message
    assert failed.value.facts["incident"] in caplog.text
    assert "secret" in caplog.text
    service.close()


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EACCES, "make it yours again"),
        (errno.EMFILE, "raise the limit on open files"),
        (errno.ENFILE, "raise the limit on open files"),
        (errno.EIO, "the disk or the file server has a fault"),
        (errno.ESTALE, "the disk or the file server has a fault"),
    ],
)
def test_a_file_that_the_system_does_not_open_is_named_with_the_reason_and_what_to_do(number: int, advice: str) -> None:
    service = Service(FakeWorkspaces(FakeWorkspace(broken=OSError(number, os.strerror(number), "/data/generations"))))
    with pytest.raises(PermissionDenied) as failed:
        service.call("get_index_status", {}, workspace=ROOT)
    assert f'"/data/generations" cannot be opened: {os.strerror(number)}. ' in failed.value.message
    assert advice in failed.value.message
    service.close()


async def test_a_second_create_while_one_runs_is_refused_at_once_and_status_answers() -> None:
    started, go_on = threading.Event(), threading.Event()

    def before_work(path: str) -> None:
        started.set()
        assert go_on.wait(PATIENCE_S)

    service = Service(FakeWorkspaces(FakeWorkspace(FILES, before_work=before_work)), confirm="never")
    first = asyncio.create_task(service.acall("create_index", {}, workspace=ROOT))
    await asyncio.to_thread(started.wait, 30)
    with pytest.raises(IndexingInProgress):
        await service.acall("create_index", {}, workspace=ROOT)
    status = await service.acall("get_index_status", {}, workspace=ROOT)
    assert isinstance(status, Done)
    assert status.value["status"] == "indexing"
    assert status.value["progress"] == {"done": 0, "total": 3, "says": "Indexing: 0 of 3 files", "percent": 0}
    go_on.set()
    done = await first
    assert isinstance(done, Done)
    assert done.value["status"] == "created"
    service.close()


async def test_a_document_is_added_while_the_index_is_built() -> None:
    started, go_on = threading.Event(), threading.Event()

    def before_work(path: str) -> None:
        started.set()
        assert go_on.wait(PATIENCE_S)

    workspaces = FakeWorkspaces(FakeWorkspace(FILES, before_work=before_work))
    service = Service(workspaces, confirm="never", tools=tools_of("code,documents"))
    build = asyncio.create_task(service.acall("create_index", {}, workspace=ROOT))
    await asyncio.to_thread(started.wait, 30)
    added = await service.acall("search_add_document", {"doc_id": "a", "content": "a text"}, workspace=ROOT)
    assert isinstance(added, Done)
    assert added.value["status"] == "indexed"
    assert not build.done()
    go_on.set()
    await build
    service.close()


async def test_a_search_of_documents_under_the_shared_name_waits_for_no_indexing() -> None:
    started, go_on = threading.Event(), threading.Event()

    def before_work(path: str) -> None:
        started.set()
        assert go_on.wait(PATIENCE_S)

    workspaces = FakeWorkspaces(FakeWorkspace(FILES, before_work=before_work))
    service = Service(workspaces, confirm="never", tools=tools_of("all"))
    go_on.set()
    await service.acall("create_index", {}, workspace=ROOT)
    started.clear()
    go_on.clear()
    build = asyncio.create_task(service.acall("reindex_project", {}, workspace=ROOT))
    await asyncio.to_thread(started.wait, 30)
    indexing = [
        asyncio.create_task(service.acall("search_index", {"patterns": ["*"]}, workspace=ROOT))
        for _ in range(2 * READERS)
    ]
    found = await service.acall("search_index", {"query": "a text"}, workspace=ROOT)
    assert isinstance(found, Done)
    assert found.value["total_matches"] == 0
    assert not any(task.done() for task in (build, *indexing))
    go_on.set()
    await asyncio.gather(build, *indexing, return_exceptions=True)
    service.close()


async def test_cancelling_the_task_cancels_the_tool() -> None:
    started, go_on = threading.Event(), threading.Event()

    def before_work(path: str) -> None:
        started.set()
        assert go_on.wait(PATIENCE_S)

    workspace = FakeWorkspace(FILES, before_work=before_work)
    ended = threading.Event()
    workspace.on_change(lambda status: ended.set() if status.status != "indexing" else None)
    service = Service(FakeWorkspaces(workspace), confirm="never")
    task = asyncio.create_task(service.acall("create_index", {}, workspace=ROOT))
    await asyncio.to_thread(started.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await asyncio.to_thread(service.close)
    assert workspace.status().status == "not_found"


async def test_a_question_reaches_the_asker_and_progress_the_reporter(service: Service) -> None:
    asked: list[Question] = []
    seen: list[tuple[int, int]] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return "accept"

    done = await call_with_questions(
        service,
        "create_index",
        {},
        workspace=ROOT,
        ask=ask,
        progress=lambda done, total, message: seen.append((done, total)),
    )
    assert done.value["status"] == "created"
    assert [question.tool for question in asked] == ["create_index"]
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_closing_the_service_closes_the_workspaces(workspace: FakeWorkspace) -> None:
    Service(FakeWorkspaces(workspace)).close()
    assert workspace.closed


def test_refresh_translates_what_the_engine_raises() -> None:
    service = Service(FakeWorkspaces(FakeWorkspace(broken=OSError("gone"))))
    with pytest.raises(SidecarError):
        service.call(REFRESH, {}, workspace=ROOT)
    service.close()


def test_looks_for_snapshots_that_wait_hold_up_no_other_call() -> None:
    over = threading.Event()

    def never_answers() -> None:
        assert over.wait(60)

    workspace = indexed(FakeWorkspace(FILES, find_snapshot=never_answers))

    async def look_and_search(service: Service) -> list[object]:
        looks = [asyncio.ensure_future(service.acall(FIND_SNAPSHOT, {}, workspace=ROOT)) for _ in range(2 * READERS)]
        try:
            found = await asyncio.wait_for(service.acall("search_code", {"query": "alpha"}, workspace=ROOT), 30)
            assert not any(look.done() for look in looks)
        finally:
            over.set()
        assert isinstance(found, Done)
        return [found.value["totalResults"], *(await asyncio.gather(*looks))]

    service = Service(FakeWorkspaces(workspace))
    try:
        total, *offers = asyncio.run(look_and_search(service))
        assert total
        assert [offer.value for offer in offers if isinstance(offer, Done)] == [{}] * 2 * READERS
    finally:
        service.close()


def test_that_no_snapshot_fits_is_an_answer_with_a_reason() -> None:
    def none_fits() -> None:
        raise SnapshotUnusable("None of the 3 snapshots fits.")

    service = Service(FakeWorkspaces(FakeWorkspace(FILES, find_snapshot=none_fits)))
    try:
        found = service.call(FIND_SNAPSHOT, {}, workspace=ROOT)
        assert isinstance(found, Done)
        assert found.value == {"reason": "None of the 3 snapshots fits."}
    finally:
        service.close()
