"""The shell's door: from the words of a command line to an exit status. Serving editors and agents is passed in.

Starts light: the tools and the engine are imported by the command that needs them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO, TypeAlias, Union

from sidecar.errors import Cancelled, ConfigInvalid, InvalidParams, SidecarError
from sidecar.surfaces.cli.options import INTERRUPTED, PIPE_CLOSED, build_parser, join_commands
from sidecar.surfaces.cli.terminal import absent_stream, in_shell_words, one_line, silence_stdout

if TYPE_CHECKING:
    from sidecar.tools.service import Service


ServiceSource: TypeAlias = Union["Service", Callable[[Mapping[str, object]], "Service"]]
"""A service, or what makes one from the settings that an editor sends when it connects."""


LISTING = ("mcp", "serve")
"""The commands that serve agents: what they list costs an agent's tokens."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Where `serve` listens and how it says so. `token_file` empty: a new one, removed at the end."""

    workspace: str
    host: str
    port: int
    token_file: str
    as_json: bool
    stdout: TextIO
    stderr: TextIO


@dataclass(frozen=True, slots=True)
class Doors:
    """The other surfaces, started by this one's options. Each returns the exit status when its client is gone."""

    lsp_stdio: Callable[[ServiceSource], int]
    lsp_tcp: Callable[[ServiceSource, str, int], int]
    mcp_stdio: Callable[[Service, str | None], int]
    serve: Callable[[Service, Serving], int]


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
    parser = build_parser()
    args = parser.parse_args(join_commands(sys.argv[1:] if argv is None else argv))
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
    if serves and doors is None:
        raise InvalidParams("This entry point cannot serve; run the sidecar command.")
    address = _address(args.tcp) if args.tcp else None
    if service is None:
        from sidecar.surfaces.cli.log import log_to_file

        log_to_file()
    if doors is not None and (args.stdio or address is not None):
        return _serve_editors(service or (lambda editor: _make_service(args, editor)), doors, address)
    own = service or _make_service(args)
    try:
        if doors is not None and args.command == "mcp":
            return doors.mcp_stdio(own, args.workspace)
        if doors is not None and args.command == "serve":
            return doors.serve(own, _serving(args, streams))
        from sidecar.surfaces.cli.commands import RUN
        from sidecar.surfaces.cli.session import Session

        return RUN[args.command](Session(args, own, *streams))
    finally:
        if service is None:
            own.close()


def _serve_editors(source: ServiceSource, doors: Doors, address: tuple[str, int] | None) -> int:
    return doors.lsp_stdio(source) if address is None else doors.lsp_tcp(source, *address)


def _make_service(args: argparse.Namespace, editor: Mapping[str, object] | None = None) -> Service:
    from sidecar.settings.load import load_settings
    from sidecar.tools.assemble import make_service

    flags = {"model": args.model, "device": args.device, "toolsets": args.toolsets}
    problems = load_settings(None, None, {}, {}, flags).problems
    if problems:
        raise ConfigInvalid(" ".join(problems))
    if args.command in LISTING:
        return make_service(flags=flags, editor=editor)
    # An editor and a person at a shell may name any tool; only what is listed to an agent costs.
    if args.stdio or args.tcp or args.command == "call":
        return make_service(flags=flags, editor=editor, unset_toolsets="all")
    return make_service(flags=flags, editor=editor, toolsets=args.toolsets or "all")


def _serving(args: argparse.Namespace, streams: tuple[TextIO, TextIO, TextIO]) -> Serving:
    from sidecar.tools.assemble import find_workspace

    workspace = str(args.workspace) if args.workspace else find_workspace(".")
    if not isinstance(args.port, int) or not 0 <= args.port <= 65535:
        raise InvalidParams(f'--port takes a number from 0 (any free one) to 65535, not "{args.port}".')
    return Serving(workspace, args.host, args.port, args.token_file or "", bool(args.json), *streams[1:])


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InvalidParams(f'--tcp takes HOST:PORT, for example 127.0.0.1:7777, not "{text}".')
    return host.strip("[]") or "127.0.0.1", int(port)


def _report(error: SidecarError, args: argparse.Namespace, stderr: TextIO) -> None:
    if args.json:
        from sidecar.surfaces.cli.session import write_json

        write_json(stderr, {"error": error.as_dict()})
    elif not isinstance(error, Cancelled):
        stderr.write(f"sidecar: {in_shell_words(one_line(error.message))} [{error.code}]\n")
    elif not args.quiet:
        stderr.write(f"sidecar: interrupted. {one_line(error.detail)}\n")
