"""What each command does: it calls a tool, shows the result and returns the exit status."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sidecar import shown
from sidecar.errors import Cancelled, InvalidParams, NotFound, SidecarError
from sidecar.surfaces.cli import render
from sidecar.surfaces.cli.formats import Table, index_table, query_table, yaml_lines
from sidecar.surfaces.cli.options import NOT_CONFIRMED
from sidecar.surfaces.cli.session import CliSession, interruptible, write_json
from sidecar.surfaces.cli.terminal import in_shell_words

if TYPE_CHECKING:
    from sidecar.model import BuildReport


def index(session: CliSession) -> int:
    """Brings the index up to date and shows what was done."""
    started = time.monotonic()
    report = _refresh(session)
    seconds = time.monotonic() - started
    value = {
        "status": "indexed",
        "files": report.code.files + report.docs.files,
        "chunks": report.code.chunks + report.docs.chunks,
        "docsFiles": report.docs.files,
        "docsChunks": report.docs.chunks,
        "embedded": report.embedded,
        "refined": report.refined,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "withheld": report.withheld,
        "masked": report.masked,
        "errors": report.errors,
        "seconds": round(seconds, 3),
        **({"notice": report.notice} if report.notice else {}),
    }
    session.note(in_shell_words(report.notice))
    session.show(value, render.build_lines(report, seconds, session.style))
    _note_settings(session)
    return 0


def _refresh(session: CliSession) -> BuildReport:
    """Brings the index up to date, and waits for a model upgrade too."""
    with interruptible() as interrupt, session.progress() as progress:
        return session.tools.refresh(session.root, progress, interrupt.came)


def _note_settings(session: CliSession) -> None:
    """Notes the settings that have no effect: wrong values, and a graphics card that does not work."""
    config = session.call("get_config", {})
    for problem in config["problems"]:
        session.note(problem)
    status = session.call("get_index_status", {})
    if config.get("config", {}).get("device") == "cuda" and status.get("device") == "cpu":
        session.note(status.get("deviceNote", ""))


def search(session: CliSession) -> int:
    """Searches code."""
    return _search(session, "search_code")


def search_index(session: CliSession) -> int:
    """Indexes files by pattern."""
    patterns = [_from_here(session, pattern) for pattern in session.args.patterns]
    result = session.call("search_index", {"patterns": patterns, "force": session.args.force})
    _show_formatted(session, result, index_table)
    if result["indexed_files"] or result["skipped_files"] or not result["failed_files"]:
        return 0
    session.note("To search for these words instead: sidecar search -- index ...")
    return NotFound.exit_status


def search_query(session: CliSession) -> int:
    """Searches by meaning alone."""
    given = {"query": " ".join(session.args.words) if session.args.words else None, "limit": session.args.limit}
    result = session.call("search_query", given)
    session.note(result.get("notice", ""))
    _show_formatted(session, result, query_table)
    return 0


def _from_here(session: CliSession, pattern: str) -> str:
    """Returns a pattern of the current folder as a pattern of the workspace, if the folder lies in the workspace."""
    here, root = Path.cwd(), Path(session.root).resolve()
    if pattern.startswith(("/", "~")) or here == root or not here.is_relative_to(root):
        return pattern
    return f"{here.relative_to(root).as_posix()}/{pattern}"


def _show_formatted(session: CliSession, result: Mapping[str, Any], table: Table) -> None:
    if session.args.format == "json":
        write_json(session.stdout, result)
    elif session.args.format == "yaml" and not session.args.json:
        session.show(result, yaml_lines(result))
    else:
        session.show(result, table(result, session.style))


def docs(session: CliSession) -> int:
    """Searches documentation."""
    return _search(session, "search_docs")


def _search(session: CliSession, tool: str) -> int:
    args = session.args
    given = {
        "query": " ".join(args.words) if args.words else None,
        "top_k": args.top_k,
        "mode": args.mode,
        "alpha": args.alpha,
        "paths": args.path,
        "languages": args.lang,
        "kinds": args.kind,
        "offset": args.offset,
        "max_tokens": args.max_tokens,
        "compact": args.compact,
        "explain": args.explain,
    }
    result = session.call(tool, given)
    session.note(result.get("notice", ""))
    if not result.get("results", result.get("r")):
        session.note("Nothing found.")
    style = session.style
    lines = render.compact_lines(result, style) if args.compact else render.search_lines(result, args.words, style)
    session.show(result, lines)
    return 0


def paths(session: CliSession) -> int:
    """Lists indexed files by glob."""
    result = session.call("search_by_path", {"pattern": session.args.pattern, "limit": session.args.limit})
    rest = result["totalMatches"] - len(result["matches"])
    session.show(result, result["matches"])
    session.note(f"{rest} more; raise --limit" if rest else "")
    return 0


def status(session: CliSession) -> int:
    """Shows the state of the index."""
    result = session.call("get_index_status", {})
    session.show(result, render.status_lines(result, session.style))
    return 0


def config(session: CliSession) -> int:
    """Shows the configuration of the index."""
    result = session.call("get_config", {})
    session.show(result, render.config_lines(result, session.style))
    return 0


def reindex(session: CliSession) -> int:
    """Indexes the named files again, or everything."""
    if not session.args.files:
        return _reindex_all(session)
    results = [session.call("reindex_file", {"file_path": path}) for path in session.args.files]
    session.show(results[0] if len(results) == 1 else results, (line for r in results for line in render.deed_lines(r)))
    return 0


def _reindex_all(session: CliSession) -> int:
    result = session.call("reindex_project", {})
    # The tool answers before the model upgrade is done. This may be the only process that can finish it, so it waits.
    if result["status"] != "cancelled" and "refining" in session.call("get_index_status", {}):
        result["refined"] = _refresh(session).refined
    session.show(result, render.deed_lines(result))
    return _confirmed(result)


def delete(session: CliSession) -> int:
    """Deletes the index."""
    result = session.call("delete_index", {})
    session.show(result, render.deed_lines(result))
    return _confirmed(result)


def explain(session: CliSession) -> int:
    """Shows why a path is or is not in the index."""
    result = session.call("explain_path", {"path": session.args.path})
    session.show(result, render.explain_lines(result, session.style))
    return 0


def doctor(session: CliSession) -> int:
    """Checks the installation; the exit status is 1 when there is a problem."""
    from sidecar.tools.diagnose import run_checks

    checks = run_checks(_flags(session), session.root)
    session.show(
        {"ok": all(check["ok"] for check in checks), "checks": checks}, render.check_lines(checks, session.style)
    )
    return 0 if all(check["ok"] for check in checks) else 1


def models(session: CliSession) -> int:
    """Lists, shows or downloads models."""
    from sidecar.tools.models import ModelList

    args, list_of = session.args, ModelList(_flags(session), session.root)
    if args.action == "list":
        known = list_of.every()
        session.show({"models": known}, render.model_lines(known, session.style))
    elif not args.id:
        raise InvalidParams(f"sidecar models {args.action} needs the id of a model; sidecar models lists them.")
    elif args.action == "show":
        model = list_of.one(args.id)
        session.show(model, render.model_card_lines(model, session.style))
    else:
        try:
            with session.progress() as progress:
                done = list_of.download(args.id, progress, lambda: False)
        except KeyboardInterrupt:  # at once, because a server may hang; only complete files are in place
            raise Cancelled("What has been downloaded is kept; the same command continues from there.") from None
        session.show(done, render.downloaded_lines(done))
    return 0


def call(session: CliSession) -> int:
    """Calls a tool by name with JSON."""
    tool = session.service.tool(session.args.tool)
    arguments: Mapping[str, object] = {}
    try:
        arguments = _arguments(session)
        result = session.call(session.args.tool, arguments)
    except SidecarError as error:
        dialect = tool.meant_by(arguments).dialect
        if not session.args.json or dialect.error_body is None:
            raise
        write_json(session.stderr, dialect.shape_error(error))
        return error.exit_status
    session.show(result, shown.as_json(result, indent=2, ascii_only=True).split("\n"))
    return _confirmed(result)


def _arguments(session: CliSession) -> Mapping[str, object]:
    """Returns the parameters from the command line, or from standard input when they are too long for it."""
    given = session.args.arguments
    try:
        arguments: Mapping[str, object] = json.loads(session.stdin.read() if given == "-" else given)
    except RecursionError:
        raise InvalidParams("The parameters are nested too deeply.") from None
    except ValueError as error:
        raise InvalidParams(f"The parameters must be one JSON object: {error}.") from error
    return arguments


def _confirmed(result: Mapping[str, Any]) -> int:
    return NOT_CONFIRMED if result.get("status") == "cancelled" else 0


def _flags(session: CliSession) -> dict[str, object]:
    return {"model": session.args.model, "device": session.args.device, "offline": session.args.offline}


RUN: Mapping[str, Callable[[CliSession], int]] = MappingProxyType(
    {
        "index": index,
        "search": search,
        "search index": search_index,
        "search query": search_query,
        "docs": docs,
        "paths": paths,
        "status": status,
        "config": config,
        "reindex": reindex,
        "delete": delete,
        "explain": explain,
        "doctor": doctor,
        "models": models,
        "call": call,
    }
)
