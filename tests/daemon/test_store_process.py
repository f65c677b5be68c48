"""A daemon runs no process for the vector store of a workspace whose vectors all fit into memory."""

from __future__ import annotations

import os
from pathlib import Path

from tests.daemon.data_folder import DataFolder, eventually


def store_processes(data_folder: DataFolder) -> list[str]:
    """The command lines of the vector store's processes that use this data folder."""
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if b"chroma_worker" in line and os.fsencode(data_folder.home) in line:
            lines.append(line.replace(b"\0", b" ").decode())
    return lines


def test_indexing_opening_searching_and_saving_a_small_workspace_start_no_process_of_the_vector_store(
    data_folder: DataFolder, work: Path
) -> None:
    assert data_folder.run("index", cwd=work).returncode == 0
    assert store_processes(data_folder) == []
    with data_folder.lsp() as editor:
        editor.start(work)
        assert editor.request("sidecar/searchCode", {"query": "convert a unit", "mode": "vector"})["results"]
        # The watcher is the last thing that an open workspace starts.
        assert eventually(lambda: editor.request("sidecar/getIndexStatus", {})["watcherActive"])
        (work / "late.py").write_text("def came_late(value):\n    return value\n")
        assert editor.request("sidecar/reindexFile", {"file_path": "late.py"})["status"] == "reindexed"
        found = editor.request("sidecar/searchCode", {"query": "came_late"})["results"]
        assert found[0]["path"] == "late.py"
        assert store_processes(data_folder) == []
        assert list(data_folder.home.glob("indexes/*/generations/*/store")) == []
        assert editor.stop() == 0
