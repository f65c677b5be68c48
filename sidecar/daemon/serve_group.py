"""`sidecar serve --share`: several workspaces behind one address, for callers who each have a token and rights.

It always serves in its own process: a server for others must not depend on one person's editors, ask them, or end with
their daemon. `tools/callers.py` has the callers' rights, `tools/group.py` limits what they see, and
`surfaces/http/group.py` handles the requests.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sidecar import shown
from sidecar.errors import InvalidParams
from sidecar.settings.home import data_home
from sidecar.surfaces.cli.main import Serving
from sidecar.surfaces.cli.sharing import Sharing
from sidecar.surfaces.http.app import make_app
from sidecar.surfaces.http.group import Group
from sidecar.surfaces.http.limits import CallerLimits
from sidecar.surfaces.http.routes import MCP
from sidecar.surfaces.http.run import hosts_of, run, tls_of, url_of
from sidecar.surfaces.loopback.listening import listening
from sidecar.surfaces.mcp.http import make_http_app
from sidecar.tools.callers import ALL_WORKSPACES, NAME, CallerList, GroupCaller, callers_file
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions

_NEEDS_TLS = "give --tls-cert and --tls-key, or --behind-proxy if a proxy in front of it does TLS."
_NEEDS_CALLERS = "first let somebody in: sidecar serve token add NAME --workspace {name}."


def serve_group(service: Service, serving: Serving, shared: Sharing) -> int:
    """Serves until a signal ends it and returns 0; the caller closes the service.

    Raises `InvalidParams` if it may not or cannot listen at the address, `WorkspaceNotFound`, and the errors of the
    list of callers and of the certificate.
    """
    folders = {name: service.workspace(folder).root for name, folder in _named(shared.folders).items()}
    callers = CallerList(callers_file(shared.callers_file))
    someone = callers.every()
    _note_unknown(someone, folders, serving)
    tls = tls_of(shared.certificate, shared.key) if shared.certificate else None
    secure = "yes" if tls is not None or shared.behind_proxy else _NEEDS_TLS
    missing = secure if someone else _NEEDS_CALLERS.format(name=next(iter(folders)))
    listener = listening("--host", serving.host, serving.port, elsewhere=missing)
    try:
        group = Group(
            callers,
            _Applications(service, folders, serving).of,
            limits=CallerLimits(shared.per_minute, shared.at_once),
            hosts={*hosts_of(listener), urlsplit(shared.url).netloc.lower()} if shared.url else None,
            behind_proxy=shared.behind_proxy,
        )
        url = shared.url or url_of(listener, "https" if tls else "http")
        return run(group, listener, lambda: _announce(serving, url, folders, callers), tls)
    finally:
        listener.close()


class _Applications:
    """Makes each caller's application."""

    def __init__(self, service: Service, folders: Mapping[str, str], serving: Serving) -> None:
        self._service = service
        self._folders = folders
        self._hidden = (str(data_home(os.environ)), str(Path.home()))

    def of(self, caller: GroupCaller) -> Any:
        """Returns REST and MCP with the tools and workspaces of this caller."""
        every = ALL_WORKSPACES in caller.workspaces
        folders = {name: folder for name, folder in self._folders.items() if every or name in caller.workspaces}
        tools = [tool for tool in self._service.tools if folders and caller.may_use(tool)]
        own = self._service.for_caller(tools, folders, self._hidden)
        sessions = Sessions(lambda: 0)
        mcp = make_http_app(own, "", None, MCP, sessions)
        return make_app(
            own, "", mcp=mcp, mcp_lifespan=mcp.router.lifespan_context, sessions=sessions, names=tuple(folders)
        )


def _named(shares: Sequence[str]) -> dict[str, str]:
    """Returns the folder of each workspace, by name. Raises InvalidParams."""
    found: dict[str, str] = {}
    for share in shares:
        name, equals, folder = share.partition("=")
        if not equals:
            name, folder = Path(share).expanduser().absolute().name, share
        if not NAME.fullmatch(name):
            raise InvalidParams(
                f"--share {shown.place(share)}: {shown.quoted(name)} is no name for a workspace; give one, for example"
                f" --share project={shown.place(folder)}."
            )
        if name in found:
            raise InvalidParams(f"--share: two folders have the name {shown.quoted(name)}; give one as NAME=DIR.")
        if not folder:
            raise InvalidParams(f"--share {name}= names no folder.")
        found[name] = str(Path(folder).expanduser().absolute())
    return found


def _note_unknown(callers: Sequence[GroupCaller], folders: Mapping[str, str], serving: Serving) -> None:
    for caller in callers:
        for name in caller.workspaces:
            if name != ALL_WORKSPACES and name not in folders:
                said = f"sidecar: {caller.name} may use the workspace {name}, which is not shared here"
                serving.stderr.write(shown.line(said) + "\n")


def _announce(serving: Serving, url: str, folders: Mapping[str, str], callers: CallerList) -> None:
    """Reports where the server listens; it already accepts connections."""
    if serving.as_json:
        said = {"url": url, "mcp": url + MCP, "workspaces": dict(folders), "callersFile": str(callers.path)}
        serving.stdout.write(shown.as_json({**said, "pid": os.getpid()}, ascii_only=True) + "\n")
        serving.stdout.flush()
        return
    listed = ", ".join(folders)
    serving.stderr.write(shown.line(f"sidecar: serving {listed} on {url} for the callers in {callers.path}") + "\n")
    serving.stderr.flush()
