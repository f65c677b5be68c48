"""The shell at a daemon: the same output as without one, progress, questions, interrupts; and `sidecar daemon`."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest

from sidecar import shown
from tests.daemon.data_folder import SIDECAR, DataFolder, eventually, write_workspace
from tests.patience import PATIENCE_S

TIMES = re.compile(r"[0-9.]+ ?(m?s\b|MB|KB)|(?<=Ms\": )[0-9.]+|(?<=_ms: )[0-9.]+|[0-9]{4}-[0-9:T.+Z-]+")
UNHEARD = re.compile(r"The latest changes may not be indexed yet; results may be stale\.\n")
PROGRESS = re.compile(r"(\w[\w ]*: [\d,]+ of [\d,]+ files?\n)+")

COMMANDS = (
    ("search", "convert_unit_1"),
    ("search", "convert", "unit", "-k", "2", "--compact"),
    ("search", "index", "unit1.py"),
    ("search", "query", "convert a unit", "--format", "yaml"),
    ("docs", "nothing"),
    ("paths", "*.py"),
    ("explain", "unit1.py"),
    ("config",),
    ("reindex", "unit1.py"),
    ("index",),
    ("delete",),
    ("search", "--offset", "nine", "x"),
    ("call", "search_code", '{"query": "convert_unit_2", "top_k": 1}'),
    ("call", "no_such_tool"),
    ("search", "x", "--json", "--mode", "wrong"),
)


@pytest.fixture
def served(indexed: DataFolder) -> DataFolder:
    """A data folder with a running daemon, and with the workspace's index."""
    assert indexed.run("daemon", "start").returncode == 0
    return indexed


def test_every_command_prints_at_a_daemon_what_it_prints_without(served: DataFolder, work: Path) -> None:
    at_daemon = {words: printed(served.run(*words, cwd=work)) for words in COMMANDS}
    assert served.run("daemon", "stop").returncode == 0
    alone = {words: printed(served.run(*words, cwd=work)) for words in COMMANDS}
    assert served.processes() == {}
    assert at_daemon == alone


def printed(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """Returns the text without what depends on the machine's speed: times, lines of progress, and whether the system
    reported all changes in time."""
    said = UNHEARD.sub("", TIMES.sub("_", done.stderr))
    return done.returncode, TIMES.sub("_", done.stdout), PROGRESS.sub("progress\n", said)


def test_a_shell_starts_no_daemon(data_folder: DataFolder, work: Path) -> None:
    assert data_folder.run("index", cwd=work).returncode == 0
    assert data_folder.run("search", "convert_unit_1", cwd=work).returncode == 0
    assert data_folder.processes() == {}


@pytest.mark.parametrize("words", [("search", "convert"), ("similar", "unit1.py:1"), ("symbols", "convert_unit_1")])
def test_a_search_of_a_large_index_starts_the_daemon_says_so_and_is_answered_by_it(
    indexed: DataFolder, work: Path, words: tuple[str, ...]
) -> None:
    first = indexed.run(*words, cwd=work, env={"SIDECAR_DAEMON_FROM_CHUNKS": "3"})
    assert first.returncode == 0
    assert first.stderr.startswith("sidecar: started the daemon. It keeps the 3 chunks of this index open")
    assert len(indexed.daemons()) == 1
    later = indexed.run(*words, cwd=work, env={"SIDECAR_DAEMON_FROM_CHUNKS": "3"})
    assert (later.returncode, later.stdout, "daemon" in later.stderr) == (0, first.stdout, False)
    assert len(indexed.daemons()) == 1


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("search", "convert"), {"SIDECAR_DAEMON_FROM_CHUNKS": "4"}),
        (("search", "convert"), {"SIDECAR_DAEMON_FROM_CHUNKS": "0"}),
        (("search", "convert"), {"SIDECAR_DAEMON_FROM_CHUNKS": "3", "CI": "1"}),
        (("search", "convert", "--standalone"), {"SIDECAR_DAEMON_FROM_CHUNKS": "3"}),
        (("config",), {"SIDECAR_DAEMON_FROM_CHUNKS": "3"}),
    ],
)
def test_no_daemon_is_started_where_the_index_is_smaller_or_somebody_forbids_it(
    indexed: DataFolder, work: Path, words: tuple[str, ...], env: dict[str, str]
) -> None:
    done = indexed.run(*words, cwd=work, env=env)
    assert (done.returncode, "daemon" in done.stderr) == (0, False)
    assert indexed.processes() == {}


def test_a_large_index_is_searched_in_this_process_where_no_daemon_can_be_started(
    indexed: DataFolder, work: Path
) -> None:
    (indexed.home / "run").write_text("not a folder")
    done = indexed.run("search", "convert", cwd=work, env={"SIDECAR_DAEMON_FROM_CHUNKS": "3"})
    assert done.returncode == 0
    assert done.stderr.startswith("sidecar: working without the daemon. ")
    assert "convert_unit_1" in done.stdout


def test_a_wrong_number_of_chunks_is_named(indexed: DataFolder, work: Path) -> None:
    done = indexed.run("search", "convert", cwd=work, env={"SIDECAR_DAEMON_FROM_CHUNKS": "many"})
    assert done.returncode == 2
    assert 'SIDECAR_DAEMON_FROM_CHUNKS takes a number of chunks, or 0 for never, not "many"' in done.stderr


def test_quiet_says_nothing_of_the_daemon_that_a_large_index_starts(indexed: DataFolder, work: Path) -> None:
    done = indexed.run("search", "convert", "--quiet", cwd=work, env={"SIDECAR_DAEMON_FROM_CHUNKS": "3"})
    assert (done.returncode, done.stderr) == (0, "")
    assert len(indexed.daemons()) == 1


def test_progress_comes_line_by_line_where_there_is_no_terminal(data_folder: DataFolder, tmp_path: Path) -> None:
    work = write_workspace(tmp_path / "large", 300)
    data_folder.run("daemon", "start")
    done = data_folder.run("index", cwd=work)
    assert re.search(r"^Indexing: \d+ of 300 files$", done.stderr, re.MULTILINE)
    assert "300 files" in done.stdout


@pytest.mark.parametrize(("typed", "left"), [("y", False), ("n", True)])
def test_a_question_is_asked_at_the_terminal(served: DataFolder, work: Path, typed: str, left: bool) -> None:
    person, terminal = pty.openpty()
    try:
        with subprocess.Popen(
            [*SIDECAR, "delete", "-w", str(work)],
            env=served.env, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            os.write(person, typed.encode() + b"\n")
            _, err = process.communicate(timeout=PATIENCE_S)
    finally:
        os.close(person)
        os.close(terminal)
    assert f"Delete the search index of {shown.quoted(work.name)}?" in err
    assert process.returncode == (9 if left else 0)
    assert (served.run("search", "convert_unit_1", cwd=work).returncode == 0) is left


def test_ctrl_c_cancels_what_the_daemon_does_for_this_shell(data_folder: DataFolder, tmp_path: Path) -> None:
    work = write_workspace(tmp_path / "large", 1500)
    data_folder.run("daemon", "start")
    with subprocess.Popen(
        [*SIDECAR, "index", "-w", str(work)],
        env=data_folder.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert "of 1,500 files" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert out == ""
    assert "interrupted" in err
    assert data_folder.run("index", cwd=work).returncode == 0


def test_a_shell_that_is_killed_leaves_nothing_running_in_the_daemon(data_folder: DataFolder, tmp_path: Path) -> None:
    work = write_workspace(tmp_path / "large", 1500)
    data_folder.run("daemon", "start")
    with subprocess.Popen(
        [*SIDECAR, "index", "-w", str(work)], env=data_folder.env, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.kill()
    assert eventually(lambda: data_folder.status()["sessions"] == [])


def test_an_option_that_cannot_hold_is_refused_and_a_variable_is_named(served: DataFolder, work: Path) -> None:
    with served.lsp() as editor:
        editor.start(work, initializationOptions={"maxFiles": 10})
        editor.request("sidecar/getIndexStatus")
        other = served.run("search", "convert_unit_1", cwd=work, env={"SIDECAR_MAX_FILES": "20"})
        assert other.returncode == 0
        assert other.stderr == (
            "sidecar: maxFiles is not 20 here: the workspace is open with 10 in the daemon,"
            " for an attached editor or agent.\n"
        )
        same = served.run("search", "convert_unit_1", cwd=work, env={"SIDECAR_MAX_FILES": "10"})
        assert (same.returncode, same.stderr) == (0, "")
        assert served.run("config", "--json", cwd=work, env={"SIDECAR_MAX_FILES": "20"}).stdout.count('"maxFiles": 10')
        assert editor.stop() == 0
    assert eventually(lambda: served.status()["sessions"] == [])
    alone = served.run("config", "--json", cwd=work, env={"SIDECAR_MAX_FILES": "20"})
    assert (alone.stdout.count('"maxFiles": 20'), alone.stderr) == (1, "")


def test_a_model_that_the_workspace_is_not_open_with_is_refused(served: DataFolder, work: Path) -> None:
    with served.lsp("--device", "cpu") as editor:
        editor.start(work)
        editor.request("sidecar/getIndexStatus")
        done = served.run("search", "convert_unit_1", "--device", "auto", cwd=work)
        assert done.returncode == 2
        assert "--device auto has no effect: the workspace is open with cpu" in done.stderr
        assert editor.stop() == 0


def test_toolsets_are_each_sessions_own(served: DataFolder, work: Path) -> None:
    assert "UNKNOWN_TOOL" in served.run("call", "memory_list", "--toolsets", "code", cwd=work).stderr
    assert served.run("call", "memory_list", cwd=work).returncode == 0


def test_the_daemon_command_starts_tells_and_stops(data_folder: DataFolder) -> None:
    assert data_folder.run("daemon", "status").returncode == 3
    started = json.loads(data_folder.run("daemon", "start", "--json").stdout)
    assert started["started"] is True
    again = json.loads(data_folder.run("daemon", "start", "--json").stdout)
    assert (again["started"], again["pid"]) == (False, started["pid"])
    status = data_folder.run("daemon", "status")
    assert status.returncode == 0
    assert f"process   {started['pid']}" in status.stdout
    assert "serves" in json.loads(data_folder.run("daemon", "logs", "--json").stdout)["lines"][0]
    stopped = json.loads(data_folder.run("daemon", "stop", "--json").stdout)
    assert stopped == {"running": False, "stopped": True, "pid": started["pid"]}
    assert data_folder.run("daemon", "stop").stdout == "No daemon is running.\n"
    assert data_folder.daemons() == []


def test_the_log_is_bounded(data_folder: DataFolder) -> None:
    log = data_folder.home / "logs" / "daemon.log"
    log.parent.mkdir()
    log.write_text("x" * 2_000_000)
    data_folder.run("daemon", "start")
    data_folder.run("daemon", "stop")
    assert sum(path.stat().st_size for path in log.parent.iterdir()) < 2_100_000
    assert log.stat().st_size < 10_000


def test_a_wrong_idle_time_is_named(data_folder: DataFolder) -> None:
    done = data_folder.run("daemon", "start", env={"SIDECAR_DAEMON_IDLE_MINUTES": "soon"})
    assert done.returncode == 7
    assert 'SIDECAR_DAEMON_IDLE_MINUTES takes a number of minutes, not "soon"' in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_wrong_environment_is_named_to_the_caller_at_a_daemon_as_without_one(served: DataFolder, work: Path) -> None:
    wrong = {"SIDECAR_MAX_FILES": "many", "SIDECAR_INDEXING_STRATEGY": "now", "SIDECAR_MAX_FILE_SIZE": "2 GB"}
    caller = DataFolder(served.home, **wrong)
    said = ("(SIDECAR_MAX_FILES)", "(SIDECAR_INDEXING_STRATEGY)", "(SIDECAR_MAX_FILE_SIZE)")
    for command in ("config", "status"):
        told_to_caller = caller.run(command, cwd=work).stdout
        assert all(part in told_to_caller for part in said)
        assert not any(part in served.run(command, cwd=work).stdout for part in said)


def test_hybrid_search_that_is_off_is_off_at_every_door(data_folder: DataFolder, work: Path) -> None:
    (data_folder.home / "config.json").write_text('{"hybridSearch": {"enabled": false}}')
    assert data_folder.run("index", cwd=work).returncode == 0
    for start in ((), ("daemon", "start")):
        if start:
            assert data_folder.run(*start).returncode == 0
        for words, mode in (
            (("search", "convert"), "vector"),
            (("search", "convert", "--mode", "hybrid"), "hybrid"),
            (("search", "convert", "--alpha", "0.3"), "hybrid"),
            (("search", "convert", "--mode", "fts"), "fts"),
        ):
            assert json.loads(data_folder.run(*words, "--json", cwd=work).stdout)["searchMode"] == mode
