"""Neovim, headless, as a second real client: our Lua file against the real server and the real engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from tests.daemon.conftest import made_data_folder
from tests.patience import PATIENCE_S
from tests.surfaces.lsp_client import REPOSITORY

PLUGIN = REPOSITORY / "extension" / "neovim"
LUA = PLUGIN / "sidecar.lua"
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(shutil.which("nvim") is None, reason="nvim is not installed (apt-get install neovim)"),
]
START = """
local sidecar = dofile(vim.env.LUA)
local questions = require('sidecar.questions')
sidecar.start({ cmd = { vim.env.PYTHON, '-m', 'sidecar', '--stdio' }, root_dir = vim.env.WORKSPACE })
"""
HELPERS = """
local function await(ready) assert(vim.wait(300000, ready, 5), 'waited in vain') end
"""
DRIVE = rf"""
{HELPERS}
{START}
await(function() return sidecar.client ~= nil and sidecar.client.initialized end)
local function begin(method, params)
  local call = {{}}
  sidecar.call(method, params or vim.empty_dict(), function(err, result)
    call.answer = {{ err = err, result = result }}
  end)
  return call
end
local function finish(call)
  await(function() return call.answer ~= nil end)
  return call.answer
end
local function call(method, params) return finish(begin(method, params)) end
local function press(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xt', false)
end
seen.lists = {{}}
local function call_and_answer(method, keys)
  local running = begin(method)
  await(function() return #questions.waiting == 1 end)
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  table.insert(seen.lists, {{ lines = lines, on = vim.api.nvim_get_current_line() }})
  press(keys)
  return finish(running)
end
seen.missing = call('searchCode', {{ query = 'parse a header' }})
seen.created = call_and_answer('createIndex', 'j<CR>')
seen.progress = sidecar.progress
local function quickfix_is_open() return vim.fn.getqflist({{ winid = 0 }}).winid ~= 0 end
seen.open_before = quickfix_is_open()
vim.cmd('SidecarSearch parse a header')
await(quickfix_is_open)
seen.quickfix = vim.tbl_map(function(item)
  return {{ path = vim.api.nvim_buf_get_name(item.bufnr), line = item.lnum }}
end, vim.fn.getqflist())
seen.in_quickfix = vim.bo.buftype
vim.cmd('cclose')
vim.ui.select = function(items, options, choose)
  seen.picked = {{ prompt = options.prompt, row = options.format_item(items[1]) }}
  choose(items[1])
end
vim.cmd('SidecarPick send pieces over a socket')
await(function() return vim.api.nvim_buf_get_name(0):match('send%.py$') ~= nil end)
seen.picked.line = vim.api.nvim_win_get_cursor(0)[1]
-- Telescope, as far as a picker needs it.
local telescope = {{}}
package.preload['telescope'] = function() return {{ register_extension = function(extension) return extension end }} end
package.preload['telescope.config'] = function()
  local values = {{ grep_previewer = function() return 'grep' end, generic_sorter = function() return 'generic' end }}
  return {{ values = values }}
end
package.preload['telescope.finders'] = function() return {{ new_table = function(finder) return finder end }} end
package.preload['telescope.pickers'] = function()
  return {{
    new = function(options, shown)
      telescope = {{ options = options, shown = shown }}
      return {{ find = function() telescope.found = true end }}
    end,
  }}
end
local function picked_in_telescope()
  await(function() return telescope.found end)
  local finder = telescope.shown.finder
  local entry = finder.entry_maker(finder.results[1])
  entry.value = nil
  return {{ title = telescope.options.prompt_title, entry = entry, previewer = telescope.shown.previewer }}
end
vim.cmd('SidecarPick send pieces over a socket')
seen.telescope = picked_in_telescope()
telescope = {{}}
require('telescope._extensions.sidecar').exports.sidecar({{ query = 'parse a header' }})
seen.telescope_command = picked_in_telescope()
package.loaded['telescope'], package.preload['telescope'] = nil, nil
local function health()
  vim.cmd('checkhealth sidecar')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), ' ')
  vim.cmd('bwipeout!')
  return text
end
seen.health = health()
local request_sync = sidecar.client.request_sync
local function health_of(status)
  sidecar.client.request_sync = function() return {{ result = status }} end
  local text = health()
  sidecar.client.request_sync = request_sync
  return text
end
seen.health_words = health_of({{ status = 'incomplete', wordsOnly = true, warning = 'There is no model.' }})
seen.health_failed = health_of({{ status = 'failed', warning = 'It is damaged.' }})
vim.cmd('edit ' .. vim.env.WORKSPACE .. '/headers.py')
vim.api.nvim_buf_set_lines(0, -1, -1, false, {{ '', 'def zyzzyva_unsaved(value):', '    return value' }})
seen.unsaved = call('searchCode', {{ query = 'zyzzyva unsaved', mode = 'fts' }})
seen.kept = call_and_answer('deleteIndex', '<CR>')
seen.deleted = call_and_answer('deleteIndex', 'j<CR>')
await(function() return sidecar.status ~= nil and sidecar.status.status == 'not_found' end)
seen.lists_left = #vim.fn.win_findbuf(vim.fn.bufnr('sidecar://questions'))
local client = sidecar.client
vim.cmd('SidecarStop')
await(function() return client.is_stopped() and sidecar.client == nil end)
seen.stopped = true
seen.health_stopped = health()
"""
TYPED = rf"""
{HELPERS}
local socket = vim.env.SIDECAR_HOME .. '/nvim.sock'
local command = {{ 'nvim', '-u', 'NONE', '-i', 'NONE', '-n', '--listen', socket, vim.env.BASE .. '/letter.txt' }}
local terminal = vim.fn.jobstart(command, {{ pty = true, width = 80, height = 24, env = {{ TERM = 'xterm' }} }})
await(function() return vim.fn.filereadable(socket) == 1 or vim.loop.fs_stat(socket) ~= nil end)
local channel = vim.fn.sockconnect('pipe', socket, {{ rpc = true }})
local function lua(code) return vim.fn.rpcrequest(channel, 'nvim_exec_lua', code, {{}}) end
local function type_keys(keys) vim.fn.chansend(terminal, keys) end
-- Where the person is: a question asked by a dialog would be `blocking`.
local function here()
  local mode = vim.fn.rpcrequest(channel, 'nvim_get_mode')
  if mode.blocking then return {{ blocking = true }} end
  -- In one request, so that it is one moment.
  return lua([=[return {{
    mode = vim.api.nvim_get_mode().mode,
    blocking = false,
    letter = vim.api.nvim_buf_get_lines(vim.fn.bufnr('letter.txt'), 0, -1, false),
    on = vim.api.nvim_get_current_line(),
    waiting = #require('sidecar.questions').waiting,
    windows = #vim.api.nvim_list_wins(),
    said = vim.split(vim.fn.execute('messages'), '\n'),
    command = vim.fn.getcmdline(),
  }}]=])
end
local function await_here(is_so)
  local now
  await(function()
    now = here()
    return not now.blocking and is_so(now)
  end)
  return now
end
local function agent(name)
  local calls = {{ cwd = vim.env.WORKSPACE, on_exit = function(_, code) seen[name .. '_ended'] = code end }}
  calls.stdout_buffered, calls.on_stdout = true, function(_, lines) seen[name] = table.concat(lines, '\n') end
  return vim.fn.jobstart({{ vim.env.PYTHON, '-m', 'sidecar', 'call', 'delete_index' }}, calls)
end
local function await_end(name) await(function() return seen[name .. '_ended'] ~= nil and seen[name] ~= nil end) end
vim.fn.writefile({{ vim.json.encode({{ threads = string.rep('many', 40) }}) }}, vim.env.SIDECAR_HOME .. '/config.json')
lua([==[{START}]==])
await(function() return lua("return require('sidecar').client ~= nil and require('sidecar').client.initialized") end)
seen.index = vim.fn.system({{ vim.env.PYTHON, '-m', 'sidecar', 'index', '-w', vim.env.WORKSPACE, '--yes' }})

await_here(function(now) return table.concat(now.said):find('threads') ~= nil end)
seen.wrong_setting = here()
type_keys('iDear ')
await_here(function(now) return now.letter[1] == 'Dear ' end)
agent('typed')
await_here(function(now) return now.waiting == 1 end)
seen.announced = here()
type_keys('2\r')
type_keys('3\r')
seen.typed_on = await_here(function(now) return #now.letter == 3 end)
type_keys('\27')
await_here(function(now) return now.mode == 'n' end)
type_keys(':SidecarQuestions\r')
seen.opened = await_here(function(now) return now.windows == 2 end)
type_keys('\r')
seen.kept = await_here(function(now) return now.waiting == 0 end)
await_end('typed')

type_keys(':echomsg 2')
await_here(function(now) return now.command == 'echomsg 2' end)
agent('in_command')
seen.in_command_line = await_here(function(now) return now.waiting == 1 end)
type_keys('2\r')
await_here(function(now) return now.mode == 'n' end)
seen.command_done = here()
local second = agent('second')
await_here(function(now) return now.waiting == 2 end)
type_keys(':SidecarQuestions\r')
await_here(function(now) return now.windows == 2 end)
type_keys('j')
seen.on_yes = await_here(function(now) return now.on == '  [Delete index]' end)
type_keys('q')
await_here(function(now) return now.windows == 1 end)
vim.fn.jobstop(second)
seen.withdrawn = await_here(function(now) return now.waiting == 1 end)
type_keys(':SidecarQuestions\r')
await_here(function(now) return now.windows == 2 end)
type_keys('j\r')
seen.accepted = await_here(function(now) return now.waiting == 0 end)
await_end('in_command')
vim.fn.rpcrequest(channel, 'nvim_exec_lua', "vim.schedule(function() vim.cmd('qa!') end)", {{}})
await(function() return vim.fn.jobwait({{ terminal }}, 0)[1] ~= -1 end)
"""


def driven(base: Path, script: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Runs a script in a headless Neovim beside a folder with two files, and returns what it recorded."""
    workspace = base / "work"
    workspace.mkdir()
    (workspace / "headers.py").write_text("def parse_header(line):\n    return line.split(':', 1)\n")
    (workspace / "send.py").write_text(
        "def send_all(socket, pieces):\n    for piece in pieces:\n        socket.send(piece)\n"
    )
    (base / "drive.lua").write_text(
        f"local seen = {{}}\nlocal ok, why = pcall(function()\n{script}\n"
        "local out = io.open(vim.env.BASE .. '/seen.json', 'w')\nout:write(vim.json.encode(seen))\nout:close()\nend)\n"
        "if not ok then io.stderr:write(tostring(why), vim.inspect(seen)) end\nvim.cmd(ok and 'qa!' or 'cquit 3')\n"
    )
    env = {
        **environment,
        "XDG_STATE_HOME": str(base),
        "XDG_CACHE_HOME": str(base),
        "XDG_DATA_HOME": str(base),
        "SIDECAR_QUESTION_SECONDS": f"{PATIENCE_S:.0f}",
        "PYTHON": sys.executable,
        "LUA": str(LUA),
        "WORKSPACE": str(workspace),
        "BASE": str(base),
    }
    command = [
        "nvim",
        "--headless",
        "-u",
        "NONE",
        "-i",
        "NONE",
        "-n",
        "-c",
        f"luafile {base / 'drive.lua'}",
        "-c",
        "cquit 4",
    ]
    done = subprocess.run(command, cwd=base, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads((base / "seen.json").read_text())
    seen["workspace"] = str(workspace)
    seen["log"] = "".join(path.read_text() for path in base.rglob("lsp.log"))
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One session in Neovim, by commands."""
    base = tmp_path_factory.mktemp("neovim")
    own = {"SIDECAR_HOME": str(base / "home"), "PYTHONPATH": str(REPOSITORY)}
    return driven(base, DRIVE, {**os.environ, **own})


@pytest.fixture(scope="module")
def seen_by_keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One session in a Neovim in a terminal, by keys, while agents ask through the daemon."""
    with made_data_folder() as data_folder:
        return driven(tmp_path_factory.mktemp("keys"), TYPED, data_folder.env)


def test_a_search_fills_the_quickfix_list_and_opens_it(seen: dict[str, Any]) -> None:
    assert seen["open_before"] is False
    assert seen["in_quickfix"] == "quickfix"
    assert seen["quickfix"][0] == {"path": f"{seen['workspace']}/headers.py", "line": 1}


def test_an_error_has_its_code(seen: dict[str, Any]) -> None:
    assert seen["missing"]["err"]["code"] == -32010
    assert seen["missing"]["err"]["data"]["code"] == "INDEX_NOT_FOUND"


def test_a_question_about_an_own_command_opens_with_the_no_first_and_its_answer_is_kept_to(
    seen: dict[str, Any],
) -> None:
    create, delete, again = seen["lists"]
    assert (create["on"], delete["on"], again["on"]) == ("  [Not now]", "  [Keep]", "  [Keep]")
    assert delete["lines"][2].startswith('Delete the search index of "work"?')
    assert delete["lines"][-3:] == ["  [Keep]", "  [Delete index]", ""]
    assert seen["lists_left"] == 0
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


@pytest.mark.parametrize(
    ("by", "query", "path", "text"),
    [
        ("telescope", "send pieces over a socket", "send.py", "def send_all(socket, pieces):"),
        ("telescope_command", "parse a header", "headers.py", "def parse_header(line):"),
    ],
)
def test_with_telescope_the_hits_are_a_picker_of_its_own(
    seen: dict[str, Any], by: str, query: str, path: str, text: str
) -> None:
    row = f"{seen['workspace']}/{path}:1  {text}"
    assert seen[by] == {
        "title": f"sidecar: {query}",
        "entry": {"filename": f"{seen['workspace']}/{path}", "lnum": 1, "display": ANY, "ordinal": ANY},
        "previewer": "grep",
    }
    assert row.endswith(seen[by]["entry"]["display"])
    assert seen[by]["entry"]["display"] == seen[by]["entry"]["ordinal"]


def test_a_question_of_an_agent_takes_no_key_from_somebody_who_types(seen_by_keys: dict[str, Any]) -> None:
    announced = seen_by_keys["announced"]
    assert (announced["mode"], announced["blocking"], announced["windows"]) == ("i", False, 1)
    assert announced["said"][-1] == 'sidecar (:SidecarQuestions): Delete the search index of "work"?'
    assert seen_by_keys["typed_on"]["letter"] == ["Dear 2", "3", ""]
    assert seen_by_keys["typed_on"]["waiting"] == 1


def test_a_wrong_setting_is_told_in_one_line_that_waits_for_no_key(seen_by_keys: dict[str, Any]) -> None:
    (said,) = filter(None, seen_by_keys["wrong_setting"]["said"])
    assert said.startswith("Sidecar: threads in ") and len(said) < 80
    assert seen_by_keys["wrong_setting"]["blocking"] is False


def test_the_list_of_questions_opens_on_the_no_and_closes_when_it_is_answered(seen_by_keys: dict[str, Any]) -> None:
    assert seen_by_keys["opened"]["on"] == "  [Keep]"
    assert seen_by_keys["kept"]["windows"] == 1
    assert json.loads(seen_by_keys["typed"])["status"] == "cancelled"


def test_a_question_takes_no_key_from_a_command_line(seen_by_keys: dict[str, Any]) -> None:
    assert (seen_by_keys["in_command_line"]["mode"], seen_by_keys["in_command_line"]["command"]) == ("c", "echomsg 2")
    assert seen_by_keys["command_done"]["waiting"] == 1
    assert "22" in seen_by_keys["command_done"]["said"]


def test_a_question_that_is_withdrawn_disappears_and_the_other_one_is_still_answered(
    seen_by_keys: dict[str, Any],
) -> None:
    assert seen_by_keys["on_yes"]["waiting"] == 2
    assert (seen_by_keys["withdrawn"]["waiting"], seen_by_keys["withdrawn"]["blocking"]) == (1, False)
    assert seen_by_keys["accepted"]["windows"] == 1
    assert json.loads(seen_by_keys["in_command"])["status"] == "deleted"


def test_checkhealth_tells_what_runs_and_what_is_missing(seen: dict[str, Any]) -> None:
    assert f"It runs and serves {seen['workspace']}" in seen["health"]
    assert ": 2 files" in seen["health"]
    assert "vim.ui.select" in seen["health"]
    assert "ERROR" not in seen["health"]
    assert "It is not running" in seen["health_stopped"]
    assert "WARNING: Searches find words only, not meaning. There is no model." in seen["health_words"]
    assert "ERROR: The index has failed. It is damaged." in seen["health_failed"]


def test_the_server_stops_and_has_written_nothing_to_the_clients_log(seen: dict[str, Any]) -> None:
    assert seen["stopped"] is True
    assert "rpc" not in seen["log"] and "ERROR" not in seen["log"]


def test_the_lua_files_are_short() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in PLUGIN.rglob("*.lua")}
    assert lengths and all(length <= 100 for length in lengths.values()), lengths
