"""Neovim, headless, as a second real client: our Lua file against the real server and the real engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.surfaces.lsp_client import REPOSITORY

LUA = REPOSITORY / "extension" / "neovim" / "sidecar.lua"
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(shutil.which("nvim") is None, reason="nvim is not installed (apt-get install neovim)"),
]
DRIVE = """
local seen, asked, answers = {}, {}, { 'accept', 'none', 'accept' }
local function ask(params)
  table.insert(asked, params)
  return table.remove(answers, 1) == 'accept' and params.actions[1] or vim.NIL
end
local sidecar = dofile(vim.env.LUA)
sidecar.start({ cmd = { vim.env.PYTHON, '-m', 'sidecar', '--stdio' }, root_dir = vim.env.WORKSPACE, ask = ask })
local function await(ready) assert(vim.wait(300000, ready, 5), 'waited in vain') end
await(function() return sidecar.client ~= nil and sidecar.client.initialized end)
local function call(method, params)
  local answer
  sidecar.call(method, params or vim.empty_dict(), function(err, result) answer = { err = err, result = result } end)
  await(function() return answer ~= nil end)
  return answer
end
seen.missing = call('searchCode', { query = 'parse a header' })
seen.created = call('createIndex')
seen.progress = sidecar.progress
vim.cmd('SidecarSearch parse a header')
await(function() return vim.fn.getqflist({ size = 0 }).size > 0 end)
seen.quickfix = vim.tbl_map(function(item)
  return { path = vim.api.nvim_buf_get_name(item.bufnr), line = item.lnum }
end, vim.fn.getqflist())
vim.cmd('edit ' .. vim.env.WORKSPACE .. '/headers.py')
vim.api.nvim_buf_set_lines(0, -1, -1, false, { '', 'def zyzzyva_unsaved(value):', '    return value' })
seen.unsaved = call('searchCode', { query = 'zyzzyva unsaved', mode = 'fts' })
seen.kept = call('deleteIndex')
seen.deleted = call('deleteIndex')
await(function() return sidecar.status ~= nil and sidecar.status.status == 'not_found' end)
seen.asked = asked
sidecar.client.stop()
await(function() return sidecar.client.is_stopped() end)
seen.stopped = true
local out = io.open(vim.env.SEEN, 'w')
out:write(vim.json.encode(seen))
out:close()
vim.cmd('qa!')
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One session in Neovim, and what it saw."""
    base = tmp_path_factory.mktemp("neovim")
    workspace = base / "work"
    workspace.mkdir()
    (workspace / "headers.py").write_text("def parse_header(line):\n    return line.split(':', 1)\n")
    (workspace / "send.py").write_text(
        "def send_all(socket, pieces):\n    for piece in pieces:\n        socket.send(piece)\n"
    )
    (base / "drive.lua").write_text(
        f"local ok, why = pcall(function()\n{DRIVE}\nend)\n"
        "if not ok then io.stderr:write(tostring(why)); vim.cmd('cquit 3') end\n"
    )
    env = {
        **os.environ,
        "SIDECAR_HOME": str(base / "home"),
        "XDG_STATE_HOME": str(base),
        "XDG_CACHE_HOME": str(base),
        "XDG_DATA_HOME": str(base),
        "PYTHONPATH": str(REPOSITORY),
        "PYTHON": sys.executable,
        "LUA": str(LUA),
        "WORKSPACE": str(workspace),
        "SEEN": str(base / "seen.json"),
    }
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {base / 'drive.lua'}"]
    done = subprocess.run(command, cwd=base, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads((base / "seen.json").read_text())
    seen["workspace"] = str(workspace)
    seen["log"] = "".join(path.read_text() for path in base.rglob("lsp.log"))
    return seen


def test_a_search_fills_the_quickfix_list(seen: dict[str, Any]) -> None:
    assert seen["quickfix"][0] == {"path": f"{seen['workspace']}/headers.py", "line": 1}


def test_an_error_has_its_code(seen: dict[str, Any]) -> None:
    assert seen["missing"]["err"]["code"] == -32010
    assert seen["missing"]["err"]["data"]["code"] == "INDEX_NOT_FOUND"


def test_questions_are_asked_and_their_answers_are_kept_to(seen: dict[str, Any]) -> None:
    assert [question["type"] for question in seen["asked"]] == [3, 2, 2]
    assert seen["asked"][1]["message"].startswith('Delete the search index of "')
    statuses = [seen[call]["result"]["status"] for call in ("created", "kept", "deleted")]
    assert statuses == ["created", "cancelled", "deleted"]


def test_progress_is_seen_from_begin_to_end(seen: dict[str, Any]) -> None:
    kinds = [value["kind"] for value in seen["progress"]]
    assert (kinds[0], kinds[-1]) == ("begin", "end") and "report" in kinds


def test_unsaved_text_is_found(seen: dict[str, Any]) -> None:
    assert "zyzzyva_unsaved" in seen["unsaved"]["result"]["results"][0]["content"]


def test_the_server_stops_and_has_written_nothing_to_the_clients_log(seen: dict[str, Any]) -> None:
    assert seen["stopped"] is True
    assert "rpc" not in seen["log"] and "ERROR" not in seen["log"]


def test_the_lua_file_is_short() -> None:
    assert len(LUA.read_text().splitlines()) <= 60
