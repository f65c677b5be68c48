"""Specification 002, the tools that make, describe and remove the index, on every door."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S, until
from tests.spec.conftest import Drive
from tests.spec.doors import ToolFailed
from tests.spec.requirements import VARIANT, requires

Another = Callable[..., Drive]
CODE_FILES = 5
UNWATCHED = {"SIDECAR_INDEXING_STRATEGY": "git"}
"""Makes sure that nothing is indexed between a change on disk and the test's call."""
CONFIG = {
    "include": list,
    "exclude": list,
    "respectGitignore": bool,
    "maxFileSize": str,
    "maxFiles": int,
    "indexingStrategy": str,
    "docPatterns": list,
    "indexDocs": bool,
}


def refused(drive: Drive, tool: str, **arguments: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as failed:
        drive(tool, **arguments)
    return failed.value


def same_path(given: str, path: Path) -> bool:
    return Path(given).resolve() == path.resolve()


@requires(
    "002.search_code.index-not-found",
    "002.search_docs.docs-not-found",
    "002.search_by_path.index-not-found",
    "002.reindex_project.index-not-found",
    "002.reindex_file.index-not-found",
    "002.delete_index.index-not-found",
)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_code", {"query": "x"}),
        ("search_docs", {"query": "x"}),
        ("search_by_path", {"pattern": "*"}),
        ("reindex_project", {}),
        ("reindex_file", {"file_path": "src/parser.py"}),
        ("delete_index", {}),
    ],
)
def test_without_an_index_every_tool_says_so(drive: Drive, tool: str, arguments: dict[str, Any]) -> None:
    failed = refused(drive.without_index(), tool, **arguments)
    if tool == "search_docs":
        assert failed.code == "DOCS_INDEX_NOT_FOUND"
        assert "No documentation has been indexed yet." in failed.message
    else:
        assert failed.code == "INDEX_NOT_FOUND"
        assert "This project hasn't been indexed yet." in failed.message


@requires("002.get_index_status.not-found", "002.get_index_status.paths", "002.get_config.missing")
def test_before_indexing_status_and_config_name_the_paths_to_come(drive: Drive) -> None:
    drive.without_index()
    status = drive("get_index_status")
    assert status["status"] == "not_found"
    assert same_path(status["projectPath"], drive.workspace)
    config = drive("get_config")
    assert config["exists"] is False
    assert "config" not in config
    assert config["configPath"] == status["configPath"]
    assert config["indexPath"] == status["indexPath"]
    assert "create_index" in config["message"].replace("`sidecar index`", "create_index")


@requires("002.create_index.cancelled", "002.create_index.confirmation")
def test_a_no_creates_nothing(drive: Drive) -> None:
    drive.without_index()
    answer = drive("create_index", "decline")
    assert answer["status"] == "cancelled"
    assert same_path(answer["projectPath"], drive.workspace)
    assert drive("get_index_status")["status"] == "not_found"


@requires(
    "002.create_index.creates",
    "002.create_index.no-parameters",
    "002.create_index.returns",
    "002.create_index.docs-stats",
    "002.create_index.confirmation",
    "002.create_index.index-exists",
    "002.get_index_status.ready",
    "002.get_index_status.paths",
    "002.get_index_status.last-updated",
    "002.get_index_status.storage-size",
    "002.get_index_status.hybrid",
    "002.get_config.returns",
    "002.get_config.config",
)
def test_a_yes_creates_the_index_and_status_and_config_tell_of_it(drive: Drive) -> None:
    drive.without_index()
    made = drive("create_index", "accept")
    assert made["status"] == "created"
    assert same_path(made["projectPath"], drive.workspace)
    assert made["stats"]["filesIndexed"] == CODE_FILES
    assert made["stats"]["chunksCreated"] >= CODE_FILES
    assert made["stats"]["durationMs"] > 0
    assert made["stats"]["errorCount"] == 0
    assert made["docsStats"]["filesIndexed"] == 2
    failed = refused(drive, "create_index")
    assert failed.code == "INDEX_EXISTS"
    assert "This project already has an index." in failed.message
    check_status(drive, drive("get_index_status"), made)
    check_config(drive("get_config"))


def check_status(drive: Drive, status: dict[str, Any], made: dict[str, Any]) -> None:
    assert status["status"] == "ready"
    assert same_path(status["projectPath"], drive.workspace)
    assert status["indexPath"] == made["indexPath"]
    assert Path(status["indexPath"]).is_dir()
    assert not Path(status["indexPath"]).resolve().is_relative_to(drive.workspace.resolve())
    assert Path(status["configPath"]).is_absolute()
    assert status["totalFiles"] == CODE_FILES + 2
    assert status["totalChunks"] == made["stats"]["chunksCreated"] + made["docsStats"]["chunksCreated"]
    assert datetime.fromisoformat(status["lastUpdated"]).tzinfo is not None
    assert re.fullmatch(r"\d+(\.\d)?(B|KB|MB|GB)", status["storageSize"])
    assert status["indexingStrategy"] == "realtime"
    assert isinstance(status["watcherActive"], bool)
    hybrid = status["hybridSearch"]
    assert (hybrid["enabled"], hybrid["defaultAlpha"]) == (True, 0.5)
    assert hybrid["ftsEngine"] == "native"
    assert hybrid["ftsChunks"] == status["totalChunks"]


def check_config(config: dict[str, Any]) -> None:
    assert config["exists"] is True
    assert Path(config["configPath"]).is_file()
    assert config["message"]
    assert {key: type(config["config"][key]) for key in CONFIG} == CONFIG


@requires("002.create_index.in-progress", "002.get_index_status.indexing")
def test_a_second_create_while_one_runs_is_refused(another: Another) -> None:
    many = {f"src/file{n}.py": f"def function_{n}(value):\n    return value + {n}\n" * 40 for n in range(300)}
    door = another(many)
    running: list[Future[dict[str, Any]]] = [door.begin("create_index", "accept") for _ in range(2)]
    # Both calls have the same answer: an MCP client that cannot ask would be a second client, and the first one would
    # end.
    seen = {door("get_index_status", "accept")["status"]}
    until(
        lambda: all(future.done() for future in running),
        lambda: seen.add(door("get_index_status", "accept")["status"]),
    )
    # One shell process does not know what another one does.
    assert "indexing" in seen or door.name == "cli"
    outcomes = []
    for future in running:
        try:
            outcomes.append(future.result(PATIENCE_S)["status"])
        except ToolFailed as error:
            outcomes.append(error.code)
    # Two shell processes meet at the index's lock, or run one after the other.
    allowed = {"INDEXING_IN_PROGRESS", "INDEX_EXISTS"} | ({"INDEX_LOCKED"} if door.name == "cli" else set())
    if door.name == "rest":  # an answer counts once, so the second request asks again
        allowed.add("CONFIRMATION_REQUIRED")
    assert outcomes.count("created") == 1
    assert set(outcomes) - {"created"} <= allowed


@requires("002.reindex_file.reindexes", "002.reindex_file.removed", "002.reindex_file.returns")
def test_one_file_is_indexed_again_and_removed(another: Another) -> None:
    drive = another(env=UNWATCHED).with_index()
    drive.write("src/extra.py", "def calculate_orbit(planet):\n    return planet\n")
    again = drive("reindex_file", file_path="src/extra.py")
    assert again == {"status": "reindexed", "filePath": "src/extra.py", "chunksCreated": 1}
    found = drive("search_code", query="calculate_orbit", mode="fts")
    assert found["results"][0]["path"] == "src/extra.py"
    (drive.workspace / "src/extra.py").unlink()
    gone = drive("reindex_file", file_path="src/extra.py")
    assert gone == {"status": "removed", "filePath": "src/extra.py", "chunksCreated": 0}
    assert drive("search_by_path", pattern="src/extra.py")["matches"] == []


@requires(
    "002.reindex_file.file_path-required",
    "002.reindex_file.file-not-found",
    "002.reindex_file.file-excluded",
    "002.errors.path-traversal",
)
@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ({}, "INVALID_PARAMS", "file_path"),
        ({"file_path": "src/nowhere.py"}, "FILE_NOT_FOUND", "File not found."),
        ({"file_path": "ignored/skipped.py"}, "FILE_EXCLUDED", "File is excluded by configuration."),
        pytest.param(
            {"file_path": "node_modules/a.js"}, "FILE_EXCLUDED", "File is excluded by configuration.", marks=VARIANT
        ),
        pytest.param({"file_path": "../outside.py"}, "PATH_TRAVERSAL", "", marks=VARIANT),
        pytest.param({"file_path": "/etc/hostname"}, "PATH_TRAVERSAL", "", marks=VARIANT),
        ({"file_path": "src/a\0.py"}, "PATH_TRAVERSAL", ""),
    ],
)
def test_a_file_that_cannot_be_indexed_again_says_why(
    drive: Drive, arguments: dict[str, Any], code: str, sentence: str
) -> None:
    failed = refused(drive.with_index(), "reindex_file", **arguments)
    assert failed.code == code
    assert sentence in failed.message


@requires("002.reindex_project.cancelled", "002.reindex_project.confirmation")
def test_a_no_rebuilds_nothing(drive: Drive) -> None:
    drive.with_index()
    before = drive("get_index_status")
    answer = drive("reindex_project", "decline")
    assert answer["status"] == "cancelled"
    assert drive("get_index_status")["generation"] == before["generation"]


@requires("002.reindex_project.rebuilds", "002.reindex_project.returns")
def test_a_rebuild_sees_what_changed(another: Another) -> None:
    drive = another(env=UNWATCHED).with_index()
    drive.write("src/parser.py", "def read_yaml_settings(path):\n    return path\n")
    (drive.workspace / "tools/report.py").unlink()
    answer = drive("reindex_project", "accept")
    assert answer["status"] == "reindexed"
    assert same_path(answer["projectPath"], drive.workspace)
    assert answer["stats"]["filesIndexed"] == CODE_FILES - 1
    assert answer["docsStats"]["filesIndexed"] == 2
    found = drive("search_code", query="read_yaml_settings", mode="fts")
    assert found["results"][0]["path"] == "src/parser.py"
    assert drive("search_by_path", pattern="tools/*")["matches"] == []


@requires("002.delete_index.confirmation", "002.delete_index.cancelled")
@pytest.mark.parametrize("answer", [None, "decline"])
def test_without_a_yes_nothing_is_deleted(drive: Drive, answer: Any) -> None:
    drive.with_index()
    result = drive("delete_index", answer)
    assert result["status"] == "cancelled"
    assert drive("get_index_status")["status"] == "ready"


@requires("002.delete_index.deletes", "002.delete_index.returns")
def test_a_yes_deletes_the_index_and_no_source(drive: Drive) -> None:
    drive.with_index()
    result = drive("delete_index", "accept")
    assert result["status"] == "deleted"
    assert same_path(result["projectPath"], drive.workspace)
    assert drive("get_index_status")["status"] == "not_found"
    assert not list(Path(result["indexPath"]).rglob("manifest.sqlite"))
    assert (drive.workspace / "src/network.py").is_file()


@requires("002.errors.model-load-failed")
def test_a_model_that_is_not_there_is_named(another: Another) -> None:
    door = another(env={"SIDECAR_MODEL": "no-such-model"})
    with pytest.raises(ToolFailed) as failed:
        door("create_index", "accept")
    assert failed.value.code == "MODEL_LOAD_FAILED"
    assert "no-such-model" in failed.value.message
    assert door("get_config")["configPath"]


@requires("002.get_index_status.strategy", "002.get_index_status.pending")
def test_what_waits_under_the_lazy_strategy_is_seen_by_the_next_search(another: Another) -> None:
    drive = another(env={"SIDECAR_INDEXING_STRATEGY": "lazy"}).with_index()
    if drive.name != "cli":  # every shell process checks the files itself
        until(lambda: drive("get_index_status")["watcherActive"])
    drive.write("src/late.py", "def measure_rainfall(days):\n    return days\n")
    if drive.name != "cli":
        until(lambda: drive("get_index_status")["pendingFiles"] == 1)
    assert drive("get_index_status")["indexingStrategy"] == "lazy"
    answers: list[dict[str, Any]] = []

    def says_nothing_is_missing() -> bool:
        """On a busy machine the file is not indexed within the time that a search waits, and the answer says so."""
        answers.append(drive("search_code", query="measure_rainfall", mode="fts"))
        return not answers[-1].get("notice")

    until(says_nothing_is_missing)
    assert answers[-1]["results"][0]["path"] == "src/late.py"
    assert drive("get_index_status")["pendingFiles"] == 0


@requires("002.errors.index-corrupt", "002.get_index_status.failed")
def test_a_damaged_index_is_reported_and_can_be_rebuilt(another: Another) -> None:
    first = another()
    first("create_index", "accept")
    index = Path(first("get_index_status")["indexPath"])
    first.close()
    for manifest in index.rglob("manifest.sqlite*"):
        with contextlib.suppress(FileNotFoundError):
            manifest.unlink() if manifest.suffix != ".sqlite" else manifest.write_bytes(b"no database" * 1000)
    second = another(like=first)
    failed = refused(second, "search_code", query="x")
    assert failed.code == "INDEX_CORRUPT"
    status = second("get_index_status")
    assert status["status"] == "failed"
    assert status["warning"]
    assert second("reindex_project", "accept")["status"] == "reindexed"
    assert second("search_code", query="parse_settings_file", mode="fts")["results"]
