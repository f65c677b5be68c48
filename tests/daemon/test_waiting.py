"""A terminal that waits for an answer says where it is awaited, can answer itself, and one Ctrl-C ends the wait."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sidecar.shown import quoted
from tests.daemon.data_folder import SIDECAR, DataFolder
from tests.daemon.terminal import CTRL_C, terminal
from tests.daemon.test_questions_over_doors import ASK, agent, asked, editor, no, silent, status_of, yes
from tests.patience import PATIENCE_S

WAITING = 'Waiting for an answer in "Test Editor", Ctrl-C to leave'


def is_indexed(data_folder: DataFolder, work: Path) -> bool:
    return data_folder.run("search", "convert_unit_1", cwd=work).returncode == 0


@pytest.mark.parametrize(("typed", "status"), [("y", 0), ("n", 9), ("", 9)])
def test_the_terminal_may_answer_while_the_editor_is_asked(
    indexed: DataFolder, work: Path, typed: str, status: int
) -> None:
    with editor(indexed, work, silent) as client:
        with terminal(indexed, work, "delete") as shell:
            shown = shell.shows("[y/N] ")
            assert f"Delete the search index of {quoted(work.name)}?" in shown
            assert f"{WAITING}, or answer here. Delete index? [y/N] " in shown
            box = client.expect(lambda m: m.get("method") == ASK)
            shell.type(typed + "\n")
            assert shell.ends() == status, shell.text
        assert client.expect_method("$/cancelRequest") == {"id": box["id"]}
        closed = client.expect_method("sidecar/questionClosed")
        assert (closed["reason"], closed["answeredBy"]) == ("answered", "a shell")
    assert is_indexed(indexed, work) is (status == 9)


@pytest.mark.parametrize(("answer", "status"), [(yes, 0), (no, 9)])
def test_what_the_editor_answers_ends_the_waiting(indexed: DataFolder, work: Path, answer: object, status: int) -> None:
    with editor(indexed, work, answer) as client:  # type: ignore[arg-type]
        with terminal(indexed, work, "delete") as shell:
            assert shell.ends() == status
            assert 'Answered in "Test Editor".' in shell.text
        assert client.all_of("$/cancelRequest") == []
    assert is_indexed(indexed, work) is (status == 9)


def test_one_ctrl_c_ends_the_waiting_and_withdraws_the_question(indexed: DataFolder, work: Path) -> None:
    with editor(indexed, work, silent) as client:
        with terminal(indexed, work, "delete") as shell:
            shell.shows("[y/N] ")
            shell.type(CTRL_C)
            assert shell.ends() == 130
            assert "interrupted. The question is withdrawn" in shell.text
        assert client.expect_method("sidecar/questionClosed")["reason"] == "cancelled"
    assert is_indexed(indexed, work)


def test_without_a_terminal_it_says_where_it_waits_reads_nothing_and_is_left_by_one_signal(
    indexed: DataFolder, work: Path
) -> None:
    with editor(indexed, work, silent) as client:
        with subprocess.Popen(
            [*SIDECAR, "delete", "-w", str(work)],
            env=indexed.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stderr is not None
            assert process.stdin is not None
            assert f"{WAITING}." in process.stderr.readline()
            process.stdin.write("y\n")  # somebody else's data, perhaps
            process.stdin.flush()
            client.expect(lambda m: m.get("method") == ASK)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, "The question is withdrawn" in err) == (130, True)
        assert client.expect_method("sidecar/questionClosed")["reason"] == "cancelled"
    assert is_indexed(indexed, work)


def no_to_deleting(params: Any) -> Any:
    return no(params) if "delete" in params["message"] else silent(params)


async def test_editor_agent_and_shell_at_once(indexed: DataFolder, work: Path) -> None:
    """The shell and the agent each ask a question; an answer to one does not answer the other."""
    with editor(indexed, work, no_to_deleting) as client:
        async with agent(DataFolder(indexed.home, SIDECAR_CONFIRM="never"), work) as session:
            with terminal(indexed, work, "reindex") as shell:
                shell.shows("[y/N] ")
                await asked(client)  # and keeps silent
                assert status_of(await session.call_tool("delete_index", {})) == "cancelled"
                shell.type("y\n")
                assert shell.ends() == 0, shell.text
        assert len(client.all_of(ASK)) == 2
    assert is_indexed(indexed, work)
