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

PLUGIN = REPOSITORY / "extension" / "neovim"
LUA = PLUGIN / "sidecar.lua"
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
local function quickfix_is_open() return vim.fn.getqflist({ winid = 0 }).winid ~= 0 end
seen.open_before = quickfix_is_open()
vim.cmd('SidecarSearch parse a header')
await(quickfix_is_open)
seen.quickfix = vim.tbl_map(function(item)
  return { path = vim.api.nvim_buf_get_name(item.bufnr), line = item.lnum }
end, vim.fn.getqflist())
seen.in_quickfix = vim.bo.buftype
vim.cmd('cclose')
vim.ui.select = function(items, options, choose)
  seen.picked = { prompt = options.prompt, row = options.format_item(items[1]) }
  choose(items[1])
end
vim.cmd('SidecarPick send pieces over a socket')
await(function() return vim.api.nvim_buf_get_name(0):match('send%.py$') ~= nil end)
seen.picked.line = vim.api.nvim_win_get_cursor(0)[1]
local function health()
  vim.cmd('checkhealth sidecar')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), ' ')
  vim.cmd('bwipeout!')
  return text
end
seen.health = health()
vim.cmd('edit ' .. vim.env.WORKSPACE .. '/headers.py')
vim.api.nvim_buf_set_lines(0, -1, -1, false, { '', 'def zyzzyva_unsaved(value):', '    return value' })
seen.unsaved = call('searchCode', { query = 'zyzzyva unsaved', mode = 'fts' })
seen.kept = call('deleteIndex')
seen.deleted = call('deleteIndex')
await(function() return sidecar.status ~= nil and sidecar.status.status == 'not_found' end)
seen.asked = asked
local client = sidecar.client
vim.cmd('SidecarStop')
await(function() return client.is_stopped() and sidecar.client == nil end)
seen.stopped = true
seen.health_stopped = health()
local out = io.open(vim.env.SEEN, 'w')
out:write(vim.json.encode(seen))
out:close()
vim.cmd('qa!')
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Runs one session in Neovim, and returns what it recorded."""
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


def test_a_search_fills_the_quickfix_list_and_opens_it(seen: dict[str, Any]) -> None:
    assert seen["open_before"] is False
    assert seen["in_quickfix"] == "quickfix"
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


def test_what_is_picked_from_the_hits_is_opened_at_its_line(seen: dict[str, Any]) -> None:
    assert seen["picked"]["prompt"] == "sidecar: send pieces over a socket"
    assert seen["picked"]["row"].endswith("send.py:1  def send_all(socket, pieces):")
    assert seen["picked"]["line"] == 1


def test_checkhealth_tells_what_runs_and_what_is_missing(seen: dict[str, Any]) -> None:
    assert f"It runs and serves {seen['workspace']}" in seen["health"]
    assert ": 2 files" in seen["health"]
    assert "vim.ui.select" in seen["health"]
    assert "ERROR" not in seen["health"]
    assert "It is not running" in seen["health_stopped"]


def test_the_server_stops_and_has_written_nothing_to_the_clients_log(seen: dict[str, Any]) -> None:
    assert seen["stopped"] is True
    assert "rpc" not in seen["log"] and "ERROR" not in seen["log"]


def test_the_lua_files_are_short() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in PLUGIN.rglob("*.lua")}
    assert lengths and all(length <= 100 for length in lengths.values()), lengths
