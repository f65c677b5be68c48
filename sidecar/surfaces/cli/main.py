"""The shell's door: runs a command line and returns its exit status. The code that serves other doors is passed in.

The module imports little: the tools and the engine are imported by the commands that need them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO, TypeAlias, Union, cast

from sidecar import shown
from sidecar.errors import Cancelled, ConfigInvalid, IndexNotFound, Internal, InvalidParams, SidecarError, access_error
from sidecar.surfaces.cli.options import PIPE_CLOSED, UsageError, build_parser, parse
from sidecar.surfaces.cli.sharing import Sharing, sharing_of
from sidecar.surfaces.cli.terminal import Output, absent_stream
from sidecar.tools.wording import Wording

if TYPE_CHECKING:
    from sidecar.surfaces.cli.session import Tools
    from sidecar.tools.service import Service


ServiceSource: TypeAlias = Union["Service", Callable[[Mapping[str, object]], "Service"]]
"""A service, or a function that makes one from the settings that an editor sends when it connects."""


OF_NO_WORKSPACE = frozenset({"indexes", "prune", "completion", "serve token"})
"""The commands that work in a folder that does not exist any more."""

IN_THIS_PROCESS = OF_NO_WORKSPACE | {"doctor", "models", "install"}
"""The commands that concern this installation. The last three also look at the workspace."""

OF_THE_INDEX = frozenset({"search", "search query", "docs", "symbols", "similar"})
"""The commands that open the whole index to answer."""

LISTING = ("mcp", "serve")
"""The commands that serve agents. Each listed tool costs an agent tokens."""


class Serving(NamedTuple):
    """Where `serve` listens and how it reports that. If `token_file` is empty, a new file is made and removed at the
    end. `sharing` is set only for a server for a group."""

    workspace: str
    host: str
    port: int
    token_file: str
    as_json: bool
    stdout: TextIO
    stderr: TextIO
    sharing: Sharing | None = None


class DaemonDoor(Protocol):
    """The daemon, as the command line uses it. `asked` holds workspace, flags, toolsets and unset_toolsets."""

    def pipe(self, kind: str, **asked: Any) -> int | None:
        """Serves an editor (lsp) or an agent (mcp) through the daemon and returns the exit status; None if the daemon
        cannot be reached."""

    def serve(self, serving: Serving, **asked: Any) -> int | None:
        """Serves scripts through the daemon and returns the exit status; None if the daemon cannot be reached."""

    def tools(self, of_large_index: bool, quiet: bool, **asked: Any) -> Tools | None:
        """Returns the daemon's tools, or None when no daemon runs.

        With `of_large_index` a daemon is started if the workspace's index is a large one; a notice says so unless
        `quiet` is set.
        """

    def command(self, action: str, as_json: bool, lines: int, ready_fd: int | None, out: TextIO) -> int:
        """Runs an action of `sidecar daemon` and returns the exit status."""


class Doors(NamedTuple):
    """The other surfaces, which the command line starts. Each returns the exit status when its client has left.

    `lsp_tcp` takes the host, the port and the token file (empty: a new one). `daemon` is None if no daemon can be used,
    as in tests.
    """

    lsp_stdio: Callable[[ServiceSource], int]
    lsp_tcp: Callable[[ServiceSource, str, int, str], int]
    mcp_stdio: Callable[[Service, str | None], int]
    serve: Callable[[Service, Serving], int]
    daemon: Callable[[], DaemonDoor] | None = None


def main(
    argv: Sequence[str] | None = None,
    *,
    service: Service | None = None,
    doors: Doors | None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Runs one command line and returns its exit status.

    Tests and `sidecar.__main__` pass `service`, `doors` and the streams.
    """
    raw, err = stdout or sys.stdout or absent_stream(), stderr or sys.stderr or absent_stream()
    _never_raise_for_a_character(raw, err)
    out = cast(TextIO, Output(raw))
    words = sys.argv[1:] if argv is None else argv
    report = _Report(err, as_json="--json" in words, quiet=not {"-q", "--quiet"}.isdisjoint(words))
    try:
        args = _parsed(words, out)
        _resolve_paths(args)
        status = _run(args, service, doors, (stdin or sys.stdin or absent_stream(), out, err))
        out.flush()
    except SidecarError as error:
        return report(error)
    except KeyboardInterrupt:
        return report(Cancelled("Run the same command again to continue."))
    except BrokenPipeError:
        return PIPE_CLOSED
    except Exception as error:
        if (denied := access_error(error)) is not None:
            return report(denied)
        if not report.as_json:
            raise
        return report(Internal(f"{type(error).__name__}: {shown.reason(error)}. Run it without --json to see where."))
    return status


def _parsed(words: Sequence[str], out: TextIO) -> argparse.Namespace:
    with redirect_stdout(out):  # argparse prints help and version to sys.stdout
        try:
            return parse(words)
        finally:
            out.flush()


def _never_raise_for_a_character(*streams: TextIO) -> None:
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _run(
    args: argparse.Namespace, service: Service | None, doors: Doors | None, streams: tuple[TextIO, TextIO, TextIO]
) -> int:
    serves = args.stdio or args.tcp or args.command in LISTING
    if not serves and args.command is None:
        if args.json:
            raise UsageError("No command was given; sidecar -h lists them all.")
        build_parser().print_help(streams[1])
        return UsageError.exit_status
    if (serves or args.command == "daemon") and doors is None:
        raise InvalidParams("This entry point cannot serve; run the sidecar command.")
    if doors is not None and args.command == "daemon":
        return _daemon(args, doors, streams[1])
    attachable = service is None and doors is not None and doors.daemon is not None and not _standalone(args)
    daemon = doors.daemon() if attachable and doors is not None and doors.daemon is not None else None
    if daemon is not None and serves:
        status = _attach(args, daemon, streams)
        if status is not None:
            return status
    if doors is not None and serves:
        return _serve(args, service, doors, streams)
    return _command(args, service, daemon, streams)


def _attach(args: argparse.Namespace, daemon: DaemonDoor, streams: tuple[TextIO, TextIO, TextIO]) -> int | None:
    """Serves through the daemon and returns the exit status; None if the daemon cannot be reached.

    LSP over TCP (`--tcp`) is for debugging and stays in this process.
    """
    if args.stdio:
        return daemon.pipe("lsp", **_asked(args))
    if args.command == "mcp":
        return daemon.pipe("mcp", **_asked(args))
    return daemon.serve(_serving(args, streams), **_asked(args)) if args.command == "serve" else None


def _serve(
    args: argparse.Namespace, service: Service | None, doors: Doors, streams: tuple[TextIO, TextIO, TextIO]
) -> int:
    """Serves in this process."""
    address = _address(args.tcp) if args.tcp else None
    if service is None:
        _log()
    if args.stdio:
        return doors.lsp_stdio(service or (lambda editor: _make_service(args, editor)))
    if address is not None:
        return doors.lsp_tcp(service or (lambda editor: _make_service(args, editor)), *address, _token_file(args))
    own = service or _make_service(args)
    try:
        return (
            doors.mcp_stdio(own, args.workspace) if args.command == "mcp" else doors.serve(own, _serving(args, streams))
        )
    finally:
        if service is None:
            own.close()


def _command(
    args: argparse.Namespace,
    service: Service | None,
    daemon: DaemonDoor | None,
    streams: tuple[TextIO, TextIO, TextIO],
) -> int:
    """Runs one command for a person, through the daemon if it runs, otherwise in this process."""
    from sidecar.surfaces.cli.commands import RUN
    from sidecar.surfaces.cli.session import CliSession, OwnTools

    made: list[Service] = []

    @cache
    def own() -> Service:
        if service is not None:
            return service
        _log()
        made.append(_make_service(args, goes_on=False))
        return made[0]

    root = args.workspace or _workspace_here(may_be_gone=args.command in OF_NO_WORKSPACE)
    at_daemon = daemon is not None and args.command not in IN_THIS_PROCESS
    asked = {**_asked(args), "workspace": root, "terminal": streams[0].isatty(), "yes": bool(args.yes)}
    starts = args.command in OF_THE_INDEX
    remote = daemon.tools(starts, bool(args.quiet), **asked) if daemon is not None and at_daemon else None
    if remote is None and args.command != "install":
        own()
    tools = remote or OwnTools(own, streams[0].isatty(), bool(args.yes))
    try:
        return RUN[args.command](CliSession(args, tools, own, root, *streams))
    except IndexNotFound as error:
        raise _naming_the_index_above(error, root) from error
    finally:
        for one in made:
            one.close()


def _daemon(args: argparse.Namespace, doors: Doors, out: TextIO) -> int:
    if doors.daemon is None:
        raise InvalidParams("This system has no daemon: every command does its work in its own process.")
    return doors.daemon().command(args.action, bool(args.json), args.lines, args.ready_fd, out)


def _standalone(args: argparse.Namespace) -> bool:
    """Whether everything runs in this process: with `--standalone`; in CI, which must leave no process running; and for
    a group's server, which must not depend on one person's daemon."""
    return bool(args.standalone) or _is_ci() or bool(args.command == "serve" and args.share)


def _is_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _asked(args: argparse.Namespace) -> dict[str, Any]:
    return {"workspace": args.workspace, "flags": _flags(args), **_offered(args)}


def _flags(args: argparse.Namespace) -> dict[str, object]:
    return {"model": args.model, "device": args.device, "toolsets": args.toolsets, "offline": args.offline}


def _offered(args: argparse.Namespace) -> dict[str, Any]:
    """Returns which tools are offered.

    Agents get the default set, because each listed tool costs tokens. Editors and people at a shell may call any tool:
    the setting is about agents and scripts, and an editor's commands need theirs whatever it says.
    """
    if args.command in LISTING:
        return {}
    if args.command == "call":
        return {"unset_toolsets": "all"}
    return {"toolsets": args.toolsets or "all"}


def _make_service(
    args: argparse.Namespace, editor: Mapping[str, object] | None = None, *, goes_on: bool = True
) -> Service:
    from sidecar.settings.load import load_settings
    from sidecar.tools.assemble import make_service

    flags = _flags(args)
    problems = load_settings(None, None, {}, {}, flags).problems
    if problems:
        raise ConfigInvalid(" ".join(problems))
    # In CI, nobody but the user who started this process can answer or decide.
    for_user = args.command in LISTING and _is_ci()
    return make_service(flags=flags, editor=editor, for_user=for_user, goes_on=goes_on, **_offered(args))


def _log() -> None:
    from sidecar.surfaces.cli.log import log_to_file

    log_to_file()


def _resolve_paths(args: argparse.Namespace) -> None:
    """Makes the typed paths absolute, so that they mean the same in every process. Raises WorkspaceNotFound and
    InvalidParams."""
    if args.workspace is not None:
        from sidecar.parts.paths import path_here

        if not args.workspace:
            raise InvalidParams("--workspace is empty; name a folder, or leave the option out for the current project.")
        args.workspace = path_here(args.workspace)
    if args.model is not None:
        args.model = _model_here(args.model)


def _model_here(model: str) -> str:
    from sidecar.settings.home import current_folder, model_seen_from

    return model_seen_from(current_folder(), model)


def _workspace_here(may_be_gone: bool = False) -> str:
    """Returns the workspace of the current folder. If that folder is gone, returns "" with `may_be_gone`, else raises
    WorkspaceNotFound."""
    from sidecar.parts.paths import find_project_root, path_here
    from sidecar.settings.home import current_folder

    return "" if may_be_gone and not current_folder() else find_project_root(path_here("."))


def _naming_the_index_above(error: IndexNotFound, root: str) -> SidecarError:
    """Returns the error; if a folder above the workspace `root` has an index, with how to use that."""
    from sidecar.tools.every_index import EveryIndexTool

    above = EveryIndexTool().above(root)
    if not above:
        return error
    choice = f"Or add -w {shown.place(above)}: that folder, above {shown.place(root)}, has an index."
    return error.worded(lambda said: f"{said} {choice}")


def _serving(args: argparse.Namespace, streams: tuple[TextIO, TextIO, TextIO]) -> Serving:
    workspace = args.workspace or _workspace_here()
    if not isinstance(args.port, int) or not 0 <= args.port <= 65535:
        raise InvalidParams(
            f"--port takes a number from 0 (any free one) to 65535, not {shown.quoted(str(args.port))}."
        )
    sharing = sharing_of(args)
    return Serving(workspace, args.host, args.port, _token_file(args), bool(args.json), *streams[1:], sharing)


def _token_file(args: argparse.Namespace) -> str:
    """Returns the token file that was named before or after the command; empty if none was."""
    return getattr(args, "token_file", None) or args.own_token_file or ""


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InvalidParams(f"--tcp takes HOST:PORT, for example 127.0.0.1:7777, not {shown.quoted(text)}.")
    return host.strip("[]") or "127.0.0.1", int(port)


class _Report:
    """Reports on standard error why a command line failed. Called with the error, it returns the exit status.

    It is made before the command line is parsed, so it also reports a command line that cannot be parsed.
    """

    def __init__(self, stderr: TextIO, as_json: bool, quiet: bool) -> None:
        self._stderr = stderr
        self.as_json = as_json
        self._quiet = quiet

    def __call__(self, failed: SidecarError) -> int:
        error = failed.worded(Wording("shell", ()))
        if self.as_json:
            from sidecar.surfaces.cli.session import write_json

            write_json(self._stderr, {"error": error.as_dict()})
        elif isinstance(error, UsageError):
            self._stderr.write(error.usage + shown.line(f"sidecar: error: {error.detail}") + "\n")
        elif not isinstance(error, Cancelled):
            self._stderr.write(shown.line(f"sidecar: {error.message} [{error.code}]") + "\n")
        elif not self._quiet:
            self._stderr.write(shown.line(f"sidecar: interrupted. {error.detail}".rstrip()) + "\n")
        return error.exit_status
