"""What `sidecar doctor` reports about installations that a test cannot really have."""

import importlib.metadata
import sqlite3
from pathlib import Path

import pytest

from sidecar.engine.doctor import check_libraries, check_sqlite


def test_it_names_the_distribution_that_brings_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package for CUDA cards has another name and imports the same."""
    distribution = tmp_path / "onnxruntime_gpu-9.8.7.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: onnxruntime-gpu\nVersion: 9.8.7\n", "utf-8")
    (distribution / "top_level.txt").write_text("onnxruntime\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    check = check_libraries()
    assert check.ok
    assert "onnxruntime-gpu 9.8.7" in check.found


def test_it_names_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    check = check_libraries()
    assert not check.ok
    assert "onnxruntime" in check.advice


def test_libraries_whose_package_does_not_list_its_files_are_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "packages_distributions", dict)
    check = check_libraries()
    assert check.ok
    assert "chromadb (version unknown)" in check.found


def test_a_sqlite_without_json_functions_cannot_read_rows() -> None:
    """Before version 3.38 they could be left out when SQLite was built."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:")
        connection.set_authorizer(
            lambda _action, _table, name, *_: sqlite3.SQLITE_DENY if name and "json" in name else sqlite3.SQLITE_OK
        )
        return connection

    assert check_sqlite().ok
    check = check_sqlite(connect)
    assert not check.ok
    assert "JSON" in check.advice
