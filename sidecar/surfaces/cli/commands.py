"""The function of each command: it calls a tool, shows the result and returns the exit status."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from sidecar import shown
from sidecar.errors import Cancelled, IndexNotFound, InvalidParams, NotFound, SidecarError
from sidecar.parts.paths import path_here
from sidecar.settings.home import current_folder
from sidecar.surfaces.cli.formats import yaml_lines
from sidecar.surfaces.cli.options import NOT_CONFIRMED
from sidecar.surfaces.cli.presentation import TOOL_COMMANDS
from sidecar.surfaces.cli.session import CliSession, Reply, write_json
from sidecar.surfaces.cli.tool_options import arguments_of, missing_position, shell_facts
from sidecar.tools.lines import upgrade_lines

if TYPE_CHECKING:
    from sidecar.engine.every_index import IndexFolder


def index(session: CliSession) -> int:
    """Brings the index of the whole workspace up to date and shows what was done."""
    reply = _refresh(session, whole=True)
    status = _show(session, reply)
    if not reply.declined:
        _note_settings(session)
    return status


def _show(session: CliSession, reply: Reply) -> int:
    """Shows a result and its notes, and returns the exit status."""
    _note(session, reply)
    session.show(reply.value, reply.lines)
    return NOT_CONFIRMED if reply.declined else 0


def _note(session: CliSession, reply: Reply) -> None:
    for note in reply.notes:
        session.note(note)


def _refresh(session: CliSession, whole: bool = False) -> Reply:
    """Brings the index up to date, and waits until a model upgrade is done too."""
    return session.refresh(whole)


def _note_settings(session: CliSession) -> None:
    """Notes the settings that have no effect: invalid values, and `device: cuda` on a machine whose GPU does not
    work."""
    config = session.call("get_config", {}).value
    for problem in config["problems"]:
        session.note(problem)
    status = session.call("get_index_status", {}).value
    if config.get("config", {}).get("device") == "cuda" and status.get("device") == "cpu":
        session.note(status.get("deviceNote", ""))


def run_tool(session: CliSession) -> int:
    """Calls the tool of the command and shows the result."""
    return _show(session, _call(session))


def _call(session: CliSession, tool: str = "", **instead: object) -> Reply:
    """Calls the command's first tool, or `tool` if it is given, with the arguments that were typed; `instead` replaces
    some of them."""
    command = next(one for one in TOOL_COMMANDS if one.name == session.args.command)
    tool = tool or command.tools[0]
    arguments = {**arguments_of(command, session.args, tool, session.stdin), **instead}
    try:
        return session.call(shell_facts()["tools"][tool]["name"], arguments)
    except InvalidParams as error:
        name, missing = missing_position(command, arguments)
        # If the tool's own error is about another field, or about several, it says more than the manual does.
        if not missing or {field["field"] for field in error.facts.get("fields", ())} != {name}:
            raise
        example = command.examples.strip().split("  ")[0].split("\n")[0]
        raise type(error)(f"sidecar {command.name} needs {missing}, for example: {example}") from error


def search_index(session: CliSession) -> int:
    """Indexes files by pattern."""
    reply = _call(session, patterns=[_from_here(session, pattern) for pattern in session.args.patterns])
    _show_formatted(session, reply)
    result = reply.value
    if reply.declined:
        return NOT_CONFIRMED
    if result["indexed_files"] or result["skipped_files"] or not result["failed_files"]:
        return 0
    session.note("To search for these words instead: sidecar search -- index ...")
    return NotFound.exit_status


def search_query(session: CliSession) -> int:
    """Searches by meaning alone."""
    _show_formatted(session, _call(session))
    return 0


_PLACE = re.compile(r"(.+?):(\d{1,9})(?:-(\d{1,9}))?:?")


def similar(session: CliSession) -> int:
    """Finds code like the code at a place, which may also be typed as PATH:LINE or PATH:FIRST-LAST."""
    place = _PLACE.fullmatch(session.args.path)
    if session.args.line is not None:
        return _show(session, _call(session))
    if place is None:
        example = f"sidecar similar {shown.path(session.args.path.partition(':')[0])}:42"
        raise InvalidParams(f"sidecar similar needs a line too, for example: {example}")
    path, first, last = place.groups()
    end = int(last) if last else session.args.end_line
    return _show(session, _call(session, path=path, line=int(first), end_line=end))


def _from_here(session: CliSession, pattern: str) -> str:
    """Returns the pattern relative to the workspace if it was typed relative to a folder inside the workspace; others
    stay."""
    here, root = Path(current_folder() or session.root), Path(session.root).resolve()
    if pattern.startswith(("/", "~")) or here == root or not here.is_relative_to(root):
        return pattern
    return f"{here.relative_to(root).as_posix()}/{pattern}"


def _show_formatted(session: CliSession, reply: Reply) -> None:
    _note(session, reply)
    if session.args.format == "json":
        write_json(session.stdout, reply.value)
    else:
        as_yaml = session.args.format == "yaml" and not session.args.json
        session.show(reply.value, yaml_lines(reply.value) if as_yaml else reply.lines)


def reindex(session: CliSession) -> int:
    """Indexes the named files again, or everything."""
    if not session.args.file_path:
        return _reindex_all(session)
    replies = [_call(session, "reindex_file", file_path=path) for path in session.args.file_path]
    values = [reply.value for reply in replies]
    session.show(values[0] if len(values) == 1 else values, (line for reply in replies for line in reply.lines))
    return 0


def _reindex_all(session: CliSession) -> int:
    reply = _call(session)
    # The tool answers before the model upgrade is done. This may be the only process that can finish it, so the command
    # waits.
    if reply.declined or "modelUpgrade" not in session.call("get_index_status", {}).value:
        return _show(session, reply)
    upgraded = _refresh(session).value["upgraded"]
    session.show({**reply.value, "upgraded": upgraded}, [*reply.lines, *upgrade_lines(upgraded)])
    return 0


def completion(session: CliSession) -> int:
    """Prints the completion script of a shell."""
    script = Path(__file__).parent / "completion" / f"sidecar.{session.args.shell}"
    text = script.read_text(encoding="utf-8")
    session.show({"shell": session.args.shell, "script": text}, text.rstrip("\n").split("\n"))
    return 0


def indexes(session: CliSession) -> int:
    """Lists all indexes of this user."""
    from sidecar.tools.every_index import EveryIndexTool

    found = EveryIndexTool().every()
    session.show(found.value, found.as_lines())
    return 0


def prune(session: CliSession) -> int:
    """Removes the indexes that are no longer needed, after a person has seen the list and agreed."""
    from sidecar.tools.every_index import EveryIndexTool

    args, tool = session.args, EveryIndexTool()
    found = tool.unneeded(_days(args.unused))
    if not found.folders:
        done = tool.remove((), args.all_data)
        session.show(done.value, ["nothing to remove: the workspace of every index exists"])
        return 0
    title = f"Remove {shown.count(len(found.folders), 'index', 'indexes')}?"
    needs_person = args.all_data or any(not one.is_gone for one in found.folders)
    if not session.agrees(title, found.as_lines(), needs_person):
        session.note(f"Nothing was removed.{_why_not(session, needs_person)}")
        return NOT_CONFIRMED
    done = tool.remove(found.folders, args.all_data)
    session.show(done.value, done.as_lines())
    return 0


def _why_not(session: CliSession, needs_person: bool) -> str:
    """Returns why nothing was agreed to, after a space; empty in a terminal, where a person has said no."""
    if session.stdin.isatty():
        return ""
    what = "a person has to answer in a terminal" if needs_person else "answer in a terminal, or give --yes"
    return f" Nobody could be asked: {what}."


def delete(session: CliSession) -> int:
    """Deletes the index; with `--all-data` also what is kept beside it, after a second question. Deletes nothing if
    there is something beside it and nobody can be asked that question."""
    from sidecar.tools.every_index import EveryIndexTool

    tool, all_data = EveryIndexTool(), session.args.all_data
    kept = _kept(tool.what_stays(session.root))
    if all_data and kept and not session.stdin.isatty():
        session.note(f"Nothing was deleted, because nothing could make it again: {kept}.{_why_not(session, True)}")
        return NOT_CONFIRMED
    status = 0
    try:
        status = _show(session, _call(session))
    except IndexNotFound:
        if not all_data:
            raise
    left = tool.what_stays(session.root)
    kept = _kept(left)
    if status or left is None or not kept:
        return status
    if not all_data:
        session.note(f"What nothing could make again stays: {kept}. `sidecar delete --all-data` takes it too.")
        return 0
    return _delete_beside(session, left, kept)


def _delete_beside(session: CliSession, folder: IndexFolder, kept: str) -> int:
    """Deletes what outlived the index, after asking."""
    from sidecar.tools.every_index import EveryIndexTool

    stays = f"Kept, because nothing could make it again: {kept}."
    try:
        agreed = session.agrees(f"Delete {kept} of {shown.quoted(session.root)} too?", (), needs_person=True)
    except Cancelled:
        raise Cancelled(stays) from None
    if not agreed:
        session.note(stays)
        return NOT_CONFIRMED
    for line in EveryIndexTool().remove((folder,), all_data=True).as_lines():
        session.note(line)
    return 0


def _kept(folder: IndexFolder | None) -> str:
    """Returns what outlives the index in its folder, as words; empty if nothing does."""
    names = folder.keeps if folder else ()
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _days(typed: object) -> int | None:
    if typed is None or (isinstance(typed, int) and typed >= 0):
        return typed
    raise InvalidParams(f"--unused takes a number of days, not {shown.quoted(str(typed))}.")


def doctor(session: CliSession) -> int:
    """Checks the installation; the exit status is 1 if a check finds a problem."""
    from sidecar.tools.diagnose import run_checks

    found = run_checks(_flags(session), session.root)
    session.show(found.value, found.as_lines())
    return 0 if found.ok else 1


def models(session: CliSession) -> int:
    """Lists, shows or downloads models."""
    from sidecar.tools.models import ModelList

    args, list_of = session.args, ModelList(_flags(session), session.root)
    if args.action == "list":
        known = list_of.every()
        session.show(known.value, known.as_lines())
    elif not args.id:
        raise InvalidParams(f"sidecar models {args.action} needs the id of a model; sidecar models lists them.")
    elif args.action == "show":
        model = list_of.one(args.id)
        session.show(model.value, model.as_lines())
    else:
        try:
            with session.progress() as progress:
                done = list_of.download(args.id, progress, lambda: False)
        except KeyboardInterrupt:  # ends at once, because a server may hang; only complete files are in place
            raise Cancelled("What has been downloaded is kept; run the same command again to continue.") from None
        session.show(done.value, done.as_lines())
    return 0


def install(session: CliSession) -> int:
    """Adds sidecar to an agent's settings, or removes it from them."""
    from sidecar.surfaces.cli.install import install

    return install(session)


def snapshot(session: CliSession) -> int:
    """Makes, gets or sends a team snapshot."""
    from sidecar.tools.snapshots import MAKE_SNAPSHOT, OwnSnapshots

    args, own = session.args, OwnSnapshots(_flags(session))
    if args.action == "get":
        return _show(session, session.refresh(True, _place_here(args.place)))
    folder = Path(path_here(args.folder)) if args.folder else own.folder
    if args.action == "make":
        key = path_here(args.key) if args.key else ""
        base = _place_here(args.base)
        made = {"out": str(folder), "texts": args.with_texts, "key": key, "base": base}
        return _show(session, session.call_here(MAKE_SNAPSHOT, made))
    if not args.place:
        raise InvalidParams("sidecar snapshot push needs a folder or an address: sidecar snapshot push https://...")
    pushed = own.push(folder, _place_here(args.place))
    session.show(pushed.value, pushed.as_lines())
    return 0


def serve_token(session: CliSession) -> int:
    """Adds, lists or removes the callers of a server for a group."""
    from sidecar.surfaces.cli.sharing import change_callers

    return change_callers(session)


def _place_here(typed: str | None) -> str:
    """An address as it was typed, or the absolute path of a folder that was typed; empty if nothing was typed."""
    if not typed:
        return ""
    return typed if "://" in typed else path_here(typed)


def call(session: CliSession) -> int:
    """Calls a tool by name with JSON."""
    tool = session.service.tool(session.args.tool)
    arguments: Mapping[str, object] = {}
    try:
        arguments = _arguments(session)
        reply = session.call(session.args.tool, arguments)
    except SidecarError as error:
        dialect = tool.meant_by(arguments).dialect
        if not session.args.json or dialect.error_body is None:
            raise
        write_json(session.stderr, dialect.shape_error(error))
        return error.exit_status
    session.show(reply.value, shown.as_json(reply.value, indent=2, ascii_only=True).split("\n"))
    return NOT_CONFIRMED if reply.declined else 0


def _arguments(session: CliSession) -> Mapping[str, object]:
    """Returns the parameters from the command line, or from standard input if `-` was typed."""
    given = session.args.arguments
    try:
        arguments: Mapping[str, object] = json.loads(session.stdin.read() if given == "-" else given)
    except RecursionError:
        raise InvalidParams("The parameters are nested too deeply.") from None
    except ValueError as error:
        raise InvalidParams(f"The parameters must be one JSON object: {shown.reason(error)}.") from error
    return arguments


def _flags(session: CliSession) -> dict[str, object]:
    return {"model": session.args.model, "device": session.args.device, "offline": session.args.offline}


RUN: Mapping[str, Callable[[CliSession], int]] = MappingProxyType(
    {
        **dict.fromkeys((command.name for command in TOOL_COMMANDS), run_tool),
        "index": index,
        "search index": search_index,
        "search query": search_query,
        "reindex": reindex,
        "similar": similar,
        "delete": delete,
        "completion": completion,
        "indexes": indexes,
        "prune": prune,
        "doctor": doctor,
        "models": models,
        "install": install,
        "snapshot": snapshot,
        "serve token": serve_token,
        "call": call,
    }
)
"""The function that runs each command other than a server."""
