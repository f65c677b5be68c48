"""`sidecar install`: adds sidecar to an agent's list of servers after showing the change, and removes it again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sidecar import shown
from sidecar.agents.catalog import AGENTS, BY_NAME, PASTED, Agent
from sidecar.agents.change import (
    AgentPlace,
    Change,
    carry_out,
    entering,
    is_ours,
    is_there,
    leaving,
    pasted,
    place_of,
    started_by,
)
from sidecar.agents.damaged import NotChanged
from sidecar.agents.machine import Machine
from sidecar.agents.program import Installation, Program, find_program
from sidecar.agents.record import WriteRecord
from sidecar.errors import ConfigInvalid, InvalidParams, PermissionDenied
from sidecar.settings.home import data_home
from sidecar.surfaces.cli.options import NOT_CONFIRMED, did_you_mean
from sidecar.surfaces.cli.session import CliSession
from sidecar.tools.lines import ASIDE, BAD, GOOD, PLACE, STRONG, Line

_SHARED = "This file may be shared with people who have it elsewhere; put sidecar on the PATH first if it is."
_NOBODY = "Nothing was written: there is no terminal to ask in. With -y it is written without asking."
_ROLES = {"+": GOOD, "-": BAD, "@": ASIDE}


class Circumstances(NamedTuple):
    """The machine, the running installation, and the record of earlier writes."""

    machine: Machine
    installation: Installation
    record: WriteRecord

    @classmethod
    def here(cls, project: str) -> Circumstances:
        """Returns the circumstances of this process. Raises ConfigInvalid if the data folder is not an absolute
        path."""
        machine = Machine(sys.platform, Path.home(), os.environ, Path(project))
        return cls(machine, Installation.own(), WriteRecord(data_home(os.environ) / "agents.json"))


def install(session: CliSession) -> int:
    """Runs `sidecar install` on this machine and returns the exit status."""
    return run_install(session, Circumstances.here(session.root))


def run_install(session: CliSession, here: Circumstances) -> int:
    """Lists the agents, or changes one agent's list of servers, and returns the exit status."""
    if session.args.list:
        rows = [_row(agent, project, here.machine) for agent in AGENTS for project in (False, True)]
        rows = [row for row in rows if row]
        session.show({"agents": rows}, _table(rows, here.machine.home))
        return 0
    agent = _agent(session.args.agent)
    program = find_program(here.machine, here.installation)
    place = place_of(agent, session.args.project, here.machine)
    if place is None:
        return _by_hand(session, agent, program)
    try:
        change = _planned(session, place, program, here)
        return _ask_and_write(session, place, change, here, "" if session.args.remove else _notes(session, program))
    except NotChanged as reason:
        raise _not_changed(session, place, program, reason) from None


def _agent(name: str | None) -> Agent:
    known = ", ".join(agent.id for agent in AGENTS)
    if name is None:
        raise InvalidParams(f"sidecar install needs an agent: {known}. --list says which are here.")
    if name not in BY_NAME:
        meant = did_you_mean(name, BY_NAME) or f": {known}."
        raise InvalidParams(f"{shown.quoted(name)} is no agent that sidecar knows{meant}")
    return BY_NAME[name]


def _by_hand(session: CliSession, agent: Agent, program: Program) -> int:
    if agent.user is not None:
        raise InvalidParams(f"{agent.name} has no list of servers for one project; leave --project out.")
    if agent.project is not None:
        raise InvalidParams(f"{agent.name} has a list of servers for each project only; add --project.")
    if session.args.remove:
        session.note(f"{agent.name} keeps its servers in settings that only it changes; remove sidecar there.")
        return 0
    text = pasted(PASTED, program.words)
    session.note(f"{agent.name} names no file for this, so nothing was written. {agent.then} {program.note}".rstrip())
    session.show({"agent": agent.id, "file": None, "written": False, "entry": text}, text.splitlines())
    return 0


def _planned(session: CliSession, place: AgentPlace, program: Program, here: Circumstances) -> Change:
    if session.args.remove:
        return leaving(place, here.record)
    return entering(place, program.words, session.args.replace)


def _notes(session: CliSession, program: Program) -> str:
    is_path = Path(program.words[0]).is_absolute()
    return f"{program.note} {_SHARED if session.args.project and is_path else ''}".strip()


def _ask_and_write(session: CliSession, place: AgentPlace, change: Change, here: Circumstances, note: str) -> int:
    where = _from_home(place.file, here.machine.home)
    if not change.is_one:
        session.show(_value(place, change, False), [_nothing_to_do(session, place, where)])
        return 0
    if not session.args.json:
        session.show(None, _diff_lines(change))
    session.note(note)
    if not _agreed(session, where):
        if session.args.json:
            session.show(_value(place, change, False), [])
        return NOT_CONFIRMED
    carry_out(change, here.record)
    done = "is out of" if session.args.remove else "is in"
    then = "" if session.args.remove else place.agent.then
    session.show(_value(place, change, True), [[(GOOD, f"sidecar {done} {where}."), f" {then}" if then else ""]])
    return 0


def _nothing_to_do(session: CliSession, place: AgentPlace, where: str) -> str:
    if session.args.remove:
        return f"{place.agent.name} has no entry for sidecar in {where}."
    return f"{place.agent.name} has sidecar already, in {where}."


def _agreed(session: CliSession, where: str) -> bool:
    """Whether the person agrees: -y agrees, otherwise the terminal is asked. Without a terminal the answer is no."""
    if not session.args.yes and not session.stdin.isatty():
        session.note(_NOBODY)
    return session.agrees(f"Write this to {where}?", (), needs_person=False)


def _diff_lines(change: Change) -> Iterator[Line]:
    for line in change.diff():
        role = _ROLES.get(line[:1], "")
        yield [(STRONG if line.startswith(("+++", "---")) else role, line)]


def _value(place: AgentPlace, change: Change, written: bool) -> dict[str, Any]:
    return {
        "agent": place.agent.id,
        "file": str(place.file),
        "changed": change.is_one,
        "written": written,
        "diff": list(change.diff()),
    }


def _not_changed(session: CliSession, place: AgentPlace, program: Program, reason: NotChanged) -> ConfigInvalid:
    """Returns the error that gives the reason, after showing the text that a person can add by hand."""
    message = f"{shown.place(place.file)} {reason}, so nothing was changed."
    if session.args.remove:
        return ConfigInvalid(message)
    text = pasted(place.settings, program.words)
    session.show({"agent": place.agent.id, "file": str(place.file), "written": False, "entry": text}, text.splitlines())
    return ConfigInvalid(f"{message} The entry to put in by hand is above.")


def _row(agent: Agent, project: bool, machine: Machine) -> dict[str, Any]:
    """One line of the list; empty for the project's file if the agent has no such file."""
    place = place_of(agent, project, machine)
    if place is None and project:
        return {}
    scope = "project" if project else "user"
    row = {"agent": agent.id, "name": agent.name, "there": is_there(agent, machine), "scope": scope}
    if place is None:
        return {**row, "file": None, "state": "by hand"}
    return {**row, "file": str(place.file), "state": _state(place)}


def _state(place: AgentPlace) -> str:
    try:
        words = started_by(place)
    except NotChanged as reason:
        return str(reason)
    except PermissionDenied:
        return "cannot be read"
    if not words:
        return "no"
    return "yes" if is_ours(words) else "another sidecar"


def _table(rows: Sequence[dict[str, Any]], home: Path) -> Iterator[Line]:
    yield [(ASIDE, f"{'agent':<14}{'here':<6}{'listed':<9}{'whose':<9}file")]
    for row in rows:
        here = "yes" if row["there"] else "no"
        file = _from_home(Path(row["file"]), home) if row["file"] else BY_NAME[row["agent"]].then
        state = row["state"]
        role = GOOD if state == "yes" else ""
        yield [
            (STRONG, f"{row['agent']:<14}"),
            f"{here:<6}",
            (role, f"{state:<9}"),
            f"{row['scope']:<9}",
            (PLACE, file),
        ]


def _from_home(path: Path, home: Path) -> str:
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)
