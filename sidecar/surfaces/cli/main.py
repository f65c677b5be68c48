"""The shell's door: from the words of a command line to an exit status. Serving editors and agents is passed in.

Starts light: the tools and the engine are imported by the command that needs them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO, TypeAlias, Union

from sidecar import shown
from sidecar.errors import Cancelled, ConfigInvalid, InvalidParams, SidecarError
from sidecar.surfaces.cli.options import INTERRUPTED, PIPE_CLOSED, build_parser, join_commands
from sidecar.surfaces.cli.terminal import absent_stream, in_shell_words, silence_stdout

if TYPE_CHECKING:
    from sidecar.surfaces.cli.session import Tools
    from sidecar.tools.service import Service


ServiceSource: TypeAlias = Union["Service", Callable[[Mapping[str, object]], "Service"]]
"""A service, or what makes one from the settings that an editor sends when it connects."""


IN_THIS_PROCESS = frozenset({"doctor", "models"})
"""The commands that look at this installation and not at a workspace."""

LISTING = ("mcp", "serve")
"""The commands that serve agents: what they list costs an agent's tokens."""


class Serving(NamedTuple):
    """Where `serve` listens and how it says so. `token_file` empty: a new one, removed at the end."""

    workspace: str
    host: str
    port: int
    token_file: str
    as_json: bool
    stdout: TextIO
    stderr: TextIO


class DaemonDoor(Protocol):
    """The one process per user that holds the open indexes. `asked`: workspace, flags, toolsets, unset_toolsets."""

    def pipe(self, kind: str, **asked: Any) -> int | None:
        """Serves an editor (lsp) or an agent (mcp) through it; None where it cannot be had."""

    def serve(self, serving: Serving, **asked: Any) -> int | None:
        """Serves scripts through it; None where it cannot be had."""

    def tools(self, **asked: Any) -> Tools | None:
        """None where none runs."""

    def command(self, action: str, as_json: bool, lines: int, ready_fd: int | None, out: TextIO) -> int: ...


class Doors(NamedTuple):
    """The other surfaces, started by this one's options. Each returns the exit status when its client is gone.

    `lsp_tcp` is given the host, the port and the token file (empty: a new one). `daemon`: None where there are no
    daemons, as in tests.
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
    """Run one command line. `service`, `doors` and the streams are given by tests and by `sidecar.__main__`."""
    out, err = stdout or sys.stdout or absent_stream(), stderr or sys.stderr or absent_stream()
    for stream in (out, err):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    words = join_commands(sys.argv[1:] if argv is None else argv)
    parser = build_parser(words)
    args = parser.parse_args(words)
    try:
        status = _run(parser, args, service, doors, (stdin or sys.stdin or absent_stream(), out, err))
        out.flush()
    except SidecarError as error:
        _report(error, args, err)
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        if out is sys.stdout:
            silence_stdout()
        return PIPE_CLOSED
    return status


def _run(
    parser: argparse.ArgumentParser,
    args: argparse.Namespace,
    service: Service | None,
    doors: Doors | None,
    streams: tuple[TextIO, TextIO, TextIO],
) -> int:
    serves = args.stdio or args.tcp or args.command in LISTING
    if not serves and args.command is None:
        parser.print_help(streams[1])
        return 2
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
    """Serves through the daemon; None where it cannot be had. Sockets (--tcp) are for debugging, and stay here."""
    if args.stdio:
        return daemon.pipe("lsp", **_asked(args))
    if args.command == "mcp":
        return daemon.pipe("mcp", **_asked(args))
    return daemon.serve(_serving(args, streams), **_asked(args)) if args.command == "serve" else None


def _serve(
    args: argparse.Namespace, service: Service | None, doors: Doors, streams: tuple[TextIO, TextIO, TextIO]
) -> int:
    """In this process."""
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
    """One command for a person: by the daemon that runs, else in this process."""
    from sidecar.surfaces.cli.commands import RUN
    from sidecar.surfaces.cli.session import CliSession, OwnTools

    made: list[Service] = []

    @cache
    def own() -> Service:
        if service is not None:
            return service
        _log()
        made.append(_make_service(args))
        return made[0]

    root = str(args.workspace) if args.workspace else _workspace_here()
    at_daemon = daemon is not None and args.command not in IN_THIS_PROCESS
    remote = daemon.tools(**{**_asked(args), "workspace": root}) if daemon is not None and at_daemon else None
    if remote is None:
        own()
    try:
        return RUN[args.command](CliSession(args, remote or OwnTools(own), own, root, *streams))
    finally:
        for one in made:
            one.close()


def _daemon(args: argparse.Namespace, doors: Doors, out: TextIO) -> int:
    if doors.daemon is None:
        raise InvalidParams("There are no daemons on this system: everything runs in the process that is started.")
    return doors.daemon().command(args.action, bool(args.json), args.lines, args.ready_fd, out)


def _standalone(args: argparse.Namespace) -> bool:
    """Whether everything stays in this process: asked for, or by CI, which must leave nothing behind."""
    return bool(args.standalone) or os.environ.get("CI", "").lower() not in ("", "0", "false")


def _asked(args: argparse.Namespace) -> dict[str, Any]:
    return {"workspace": args.workspace, "flags": _flags(args), **_offered(args)}


def _flags(args: argparse.Namespace) -> dict[str, object]:
    return {"model": args.model, "device": args.device, "toolsets": args.toolsets, "offline": args.offline}


def _offered(args: argparse.Namespace) -> dict[str, Any]:
    """An editor and a person at a shell may name any tool; only what is listed to an agent costs."""
    if args.command in LISTING:
        return {}
    if args.stdio or args.tcp or args.command == "call":
        return {"unset_toolsets": "all"}
    return {"toolsets": args.toolsets or "all"}


def _make_service(args: argparse.Namespace, editor: Mapping[str, object] | None = None) -> Service:
    from sidecar.settings.load import load_settings
    from sidecar.tools.assemble import make_service

    flags = _flags(args)
    problems = load_settings(None, None, {}, {}, flags).problems
    if problems:
        raise ConfigInvalid(" ".join(problems))
    return make_service(flags=flags, editor=editor, **_offered(args))


def _log() -> None:
    from sidecar.surfaces.cli.log import log_to_file

    log_to_file()


def _workspace_here() -> str:
    from sidecar.tools.places import find_workspace

    return find_workspace(".")


def _serving(args: argparse.Namespace, streams: tuple[TextIO, TextIO, TextIO]) -> Serving:
    workspace = str(args.workspace) if args.workspace else _workspace_here()
    if not isinstance(args.port, int) or not 0 <= args.port <= 65535:
        raise InvalidParams(
            f"--port takes a number from 0 (any free one) to 65535, not {shown.quoted(str(args.port))}."
        )
    return Serving(workspace, args.host, args.port, _token_file(args), bool(args.json), *streams[1:])


def _token_file(args: argparse.Namespace) -> str:
    """As it was named, before the command or after it."""
    return getattr(args, "token_file", None) or args.own_token_file or ""


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InvalidParams(f"--tcp takes HOST:PORT, for example 127.0.0.1:7777, not {shown.quoted(text)}.")
    return host.strip("[]") or "127.0.0.1", int(port)


def _report(error: SidecarError, args: argparse.Namespace, stderr: TextIO) -> None:
    if args.json:
        from sidecar.surfaces.cli.session import write_json

        write_json(stderr, {"error": error.as_dict()})
    elif not isinstance(error, Cancelled):
        stderr.write(shown.line(f"sidecar: {in_shell_words(error.message)} [{error.code}]") + "\n")
    elif not args.quiet:
        stderr.write(shown.line(f"sidecar: interrupted. {error.detail}") + "\n")
