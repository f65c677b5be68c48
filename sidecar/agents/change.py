"""Plans the change that adds sidecar to an agent's list or removes it, as two texts, before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from sidecar.agents import files, jsonc, toml
from sidecar.agents.catalog import BLOCK_HEAD, Agent, AgentFile, Entry
from sidecar.agents.damaged import NotChanged
from sidecar.agents.machine import Machine
from sidecar.agents.program import NAME
from sidecar.agents.record import WriteRecord, Written, alike

SERVER = "mcp"
_LONGEST_LINE = 200
_LINES = re.compile(r"([-+])(\d+)")
"""The first line of the former or the new text in the head of a part of a diff, `@@ -3,2 +3,9 @@`."""


class AgentPlace(NamedTuple):
    """A settings file of an agent on this machine."""

    agent: Agent
    settings: AgentFile
    file: Path


class Change(NamedTuple):
    """The texts of a file before and after; None stands for a missing file.

    `leaves`: the change removes an entry. `made`: the outermost folder, or the file, that may then be deleted.
    """

    file: Path
    before: str | None
    after: str | None
    leaves: bool = False
    made: str = ""

    @property
    def is_one(self) -> bool:
        """Whether anything has to be written."""
        return self.before != self.after

    def diff(self) -> Iterator[str]:
        """Yields the lines of a unified diff, with one line around each change; long lines are cut."""
        before, after = ((text or "").splitlines() for text in (self.before, self.after))
        head = max(0, alike(before, after) - 1)
        tail = max(0, alike(before[head:][::-1], after[head:][::-1]) - 1)
        old, new = before[head : len(before) - tail], after[head : len(after) - tail]
        for line in unified_diff(old, new, str(self.file), str(self.file), n=1, lineterm=""):
            whole = _LINES.sub(lambda match: f"{match[1]}{int(match[2]) + head}", line) if line[:2] == "@@" else line
            yield whole if len(whole) <= _LONGEST_LINE else whole[:_LONGEST_LINE] + "…"


def place_of(agent: Agent, project: bool, machine: Machine) -> AgentPlace | None:
    """Returns the file of a scope; None if the agent's documentation names no file for it."""
    settings = agent.project if project else agent.user
    if settings is None:
        return None
    paths = [machine.path(pattern) for pattern in settings.elsewhere.get(machine.platform, settings.files)]
    return AgentPlace(agent, settings, next((path for path in paths if path.exists()), paths[-1]))


def is_there(agent: Agent, machine: Machine) -> bool:
    """Whether a program, file or folder of the agent exists on this machine."""
    return any(machine.path(sign).exists() if "/" in sign else machine.finds(sign) for sign in agent.signs)


def pasted(settings: AgentFile, words: Sequence[str]) -> str:
    """Returns the entry as text that a person can paste into the file."""
    entry = _entry(settings, words)
    if settings.form == "own":
        return str(entry["text"])
    if settings.form == "toml":
        return toml.printed(settings.way, entry)
    return jsonc.printed(jsonc.nest(settings.way, entry)) + "\n"


def started_by(place: AgentPlace) -> Sequence[str]:
    """Returns the command line with which the agent's entry `sidecar` starts its server; empty without an entry. Raises
    NotChanged."""
    return _words(place.settings, files.read(place.file) or "")


def is_ours(words: Sequence[str]) -> bool:
    """Whether this command line starts sidecar's server for agents."""
    names = (PurePosixPath(word.replace("\\", "/")).name.removesuffix(".exe") for word in words)
    return NAME in names and SERVER in words


def entering(place: AgentPlace, program: Sequence[str], replace: bool) -> Change:
    """Returns the change that adds the server. Members that a person has added to an existing entry of sidecar's stay.

    Raises NotChanged; also if the entry of that name starts another program, unless `replace` is set.
    """
    settings, before = place.settings, files.read(place.file)
    former = _words(settings, before or "")
    ours = is_ours(former)
    if former and not ours and not replace:
        raise NotChanged(f'has an entry "{NAME}" that starts something else; --replace puts this one in its place')
    options = former[former.index(SERVER) + 1 :] if ours else settings.options
    entry = settings.shape([*program, SERVER, *options])
    return Change(place.file, before, _with_entry(settings, before or "", entry, whole=not ours))


def leaving(place: AgentPlace, record: WriteRecord) -> Change:
    """Returns the change that removes the entry: exactly the text that was written if the file is unchanged since,
    otherwise the entry.

    Raises NotChanged; also if the entry of that name starts another program.
    """
    settings, before = place.settings, files.read(place.file)
    former = _words(settings, before or "")
    if before is None or not former:
        return Change(place.file, before, before)
    if not is_ours(former):
        raise NotChanged(f'has an entry "{NAME}" that starts something else, which is not sidecar\'s to remove')
    written = record.of(place.file)
    restored = None if written is None else written.taken_back(before)
    if written is not None and restored is not None:
        return Change(place.file, before, None if written.made else restored, leaves=True, made=written.made)
    if settings.form == "own":
        return Change(place.file, before, None, leaves=True, made=str(place.file))
    without = toml.without if settings.form == "toml" else jsonc.without
    return Change(place.file, before, without(before, settings.way), leaves=True)


def carry_out(change: Change, record: WriteRecord) -> None:
    """Writes the planned change if the file is still as it was planned from. Raises NotChanged and PermissionDenied."""
    if files.read(change.file) != change.before:
        raise NotChanged("has changed in the meantime; run the same command again")
    if change.after is None:
        files.delete(change.file, change.made)
        record.put(change.file, None)
        return
    made = files.write(change.file, change.after)
    record.put(change.file, None if change.leaves else Written.of(change.before or "", change.after, made))


def _entry(settings: AgentFile, program: Sequence[str]) -> Entry:
    return settings.shape([*program, SERVER, *settings.options])


def _with_entry(settings: AgentFile, text: str, entry: Entry, whole: bool) -> str:
    if settings.form == "own":
        return str(entry["text"])
    if settings.form == "toml":
        return toml.with_keys(toml.without(text, settings.way) if whole else text, settings.way, entry)
    return (jsonc.with_value if whole else jsonc.with_keys)(text, settings.way, dict(entry))


def _words(settings: AgentFile, text: str) -> list[str]:
    """Returns the command line in the entry `sidecar`. An entry of another form gives one word, its text."""
    if settings.form == "own":
        return _words_of_block(text)
    entry = toml.value_at(text, settings.way) if settings.form == "toml" else _json_value(text, settings.way)
    if entry is None:
        return []
    return _words_of_entry(entry) if isinstance(entry, Mapping) else [str(entry)]


def _json_value(text: str, way: Sequence[str]) -> Any:
    return jsonc.value_at(text, way) if text.strip("\ufeff \t\r\n") else None


def _words_of_entry(entry: Mapping[str, Any]) -> list[str]:
    command, args = entry.get("command", entry.get("url", "?")), entry.get("args", [])
    words = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [args])]
    return [str(word) for word in words]


def _words_of_block(text: str) -> list[str]:
    if not text.startswith(BLOCK_HEAD):
        return [text[:_LONGEST_LINE]] if text else []
    quoted = (line.partition('"')[2].rpartition('"')[0] for line in text.removeprefix(BLOCK_HEAD).splitlines())
    return [word for word in quoted if word]
