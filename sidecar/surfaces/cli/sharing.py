"""The options of a server for a group, and the command that manages its list of callers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sidecar import shown
from sidecar.errors import InvalidParams
from sidecar.surfaces.cli.options import did_you_mean

if TYPE_CHECKING:
    from sidecar.surfaces.cli.session import CliSession

MOST_PER_MINUTE = 1_000_000
MOST_AT_ONCE = 1000


class Sharing(NamedTuple):
    """The options of a server for a group. `folders` are as typed: `NAME=DIR` or `DIR`. An option that was not given is
    an empty text."""

    folders: Sequence[str]
    callers_file: str
    certificate: str
    key: str
    behind_proxy: bool
    url: str
    per_minute: int
    at_once: int


def sharing_of(args: argparse.Namespace) -> Sharing | None:
    """Returns the group options of `sidecar serve`; None without `--share`. Raises InvalidParams."""
    alone = {
        "--callers": args.callers,
        "--tls-cert": args.tls_cert,
        "--tls-key": args.tls_key,
        "--behind-proxy": args.behind_proxy,
        "--url": args.url,
    }
    if not args.share:
        for option in (option for option, value in alone.items() if value):
            raise InvalidParams(f"{option} belongs to a server for a group; name the workspaces too: --share NAME=DIR.")
        return None
    if args.token_file or args.own_token_file:
        raise InvalidParams(
            "--token-file is for one caller. With --share, each has a token: sidecar serve token add NAME."
        )
    if bool(args.tls_cert) is not bool(args.tls_key):
        raise InvalidParams("--tls-cert and --tls-key belong together; give both.")
    if args.tls_cert and args.behind_proxy:
        raise InvalidParams("Give either --tls-cert and --tls-key, or --behind-proxy: a proxy does the TLS itself.")
    if args.url and not args.url.startswith(("https://", "http://")):
        raise InvalidParams(f"--url takes an address such as https://search.example.org, not {shown.quoted(args.url)}.")
    _in_range("--per-minute", args.per_minute, 1, MOST_PER_MINUTE)
    _in_range("--at-once", args.at_once, 2, MOST_AT_ONCE)  # answering a tool's question takes a second request
    return Sharing(
        tuple(args.share),
        args.callers or "",
        args.tls_cert or "",
        args.tls_key or "",
        bool(args.behind_proxy),
        (args.url or "").rstrip("/"),
        args.per_minute,
        args.at_once,
    )


def _in_range(option: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or not least <= value <= most:
        raise InvalidParams(f"{option} takes a number from {least} to {most:,}, not {shown.quoted(str(value))}.")


def change_callers(session: CliSession) -> int:
    """Adds a caller and shows the token once, lists the callers, or removes one."""
    from sidecar.tools.callers import CallerList, callers_file

    args = session.args
    callers = CallerList(callers_file(args.callers or ""))
    if args.action == "list":
        rows = [
            {"name": one.name, "workspaces": one.workspaces, "tools": one.tools, "metrics": one.metrics}
            for one in callers.every()
        ]
        lines = [
            f"{one.name}  workspaces: {', '.join(one.workspaces) or 'none'}; tools: {', '.join(one.tools)}"
            + ("; metrics" if one.metrics else "")
            for one in callers.every()
        ]
        session.show({"callers": rows, "file": str(callers.path)}, map(shown.line, lines))
        if not rows:
            session.note(f"There are no callers in {shown.place(callers.path)}; sidecar serve token add NAME adds one.")
        return 0
    if not args.name:
        raise InvalidParams(f"sidecar serve token {args.action} needs the name of a caller.")
    if args.action == "remove":
        callers.remove(args.name)
        session.show({"removed": args.name}, [f"removed {args.name}: its token is refused from now on"])
        return 0
    token = callers.add(args.name, args.may_search or (), _tools(args.tools), metrics=bool(args.metrics))
    session.show({"name": args.name, "token": token, "file": str(callers.path)}, [token])
    session.note("This token is shown once and stored nowhere: give it to its holder now.")
    if not args.may_search:
        session.note("It opens no workspace; add the caller with --workspace NAME (or '*' for all).")
    return 0


def _tools(typed: str | None) -> list[str]:
    """Returns the tools that were named. Raises InvalidParams for one that does not exist."""
    from sidecar.tools.callers import EVERY, READING
    from sidecar.tools.registry import ALL_SPECS

    known = [READING, EVERY, *(tool.name for tool in ALL_SPECS)]
    named = [name.strip() for name in (typed or READING).split(",") if name.strip()]
    for name in named:
        if name not in known:
            meant = did_you_mean(name, known) or f"; give {READING}, {EVERY} or names of tools."
            raise InvalidParams(f"--tools: there is no tool {shown.quoted(name)}{meant}")
    return named
