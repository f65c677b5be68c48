"""What the daemon's own commands print of folders and clients with hostile names, by real processes."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.data_folder import DataFolder, call, write_workspace
from tests.surfaces.hostile import flaws


async def test_status_and_log_show_a_hostile_folder_on_one_line_each(data_folder: DataFolder, tmp_path: Path) -> None:
    work = write_workspace(tmp_path / "work\n  mcp  process 1 in forged\x1b[2J\u202e\u200b")
    async with data_folder.mcp(work) as agent:
        await call(agent, "create_index", {})
        status = data_folder.run("daemon", "status").stdout
        searched = data_folder.run("search", "convert_unit_1", "-w", str(work))
        listed = data_folder.status()
    assert listed["sessions"][0]["folder"] == str(work)
    assert flaws(status) == []
    assert sum("process" in line and " in " in line for line in status.splitlines()) == len(listed["sessions"])
    assert flaws(searched.stdout + searched.stderr) == []
    assert flaws(data_folder.run("daemon", "logs", "-n", "200").stdout) == []
