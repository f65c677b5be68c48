"""For the tests: a real `sidecar serve --share` with TLS, its callers, and clients that trust its certificate."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.chroma_server import certificate
from tests.patience import PATIENCE_S
from tests.surfaces.http_client import Reply, Served, environment


class GroupServer(Served):
    """Shares the folders `api` and `web` of `place`. `tokens` are those of the callers, by name. `variables` are
    further ones of the environment."""

    def __init__(
        self, place: Path, callers: Mapping[str, Sequence[str]], options: Sequence[str] = (), **variables: str
    ) -> None:
        self.place = place
        self.env = environment(place / "home", **variables)
        self.certificate = certificate(place, "localhost")
        self.tokens = {name: self.add(name, *rights) for name, rights in callers.items()}
        shares = [f"--share={name}={place / name}" for name in ("api", "web")]
        tls = ["--tls-cert", str(self.certificate), "--tls-key", str(self.certificate)]
        super().__init__(place, self.env, [*shares, *tls, *options])

    def url_for_clients(self) -> str:
        return super().url_for_clients().replace("127.0.0.1", "localhost")

    def first_token(self) -> str:
        return next(iter(self.tokens.values()))

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPSConnection(self.host, timeout=PATIENCE_S, context=self.trusting())

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def add(self, name: str, *rights: str) -> str:
        """Adds a caller as a person does, and returns the token."""
        return str(json.loads(said(self.env, "add", name, *rights))["token"])

    def as_caller(self, caller: str, method: str, path: str, arguments: Any = None, **headers: str | None) -> Reply:
        given = {"Authorization": f"Bearer {self.tokens[caller]}", "Content-Type": "application/json", **headers}
        return self.send(method, path, None if arguments is None else json.dumps(arguments).encode(), given)

    def call(self, caller: str, tool: str, arguments: Mapping[str, Any], answer: str | None = None) -> Reply:
        return self.as_caller(caller, "POST", f"/tools/{tool}", arguments, **{"Sidecar-Answer": answer})

    def agree(self, caller: str, tool: str, arguments: Mapping[str, Any]) -> Reply:
        """Calls a tool and answers its question with yes."""
        asked = self.call(caller, tool, arguments)
        assert asked.status == 409, asked.body
        return self.call(caller, tool, arguments, f"{asked.json['question']['id']}=accept")

    def log(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self.place / "home" / "logs" / "sidecar.log").read_text()
        return ""


def said(env: Mapping[str, str], *words: str) -> str:
    """What `sidecar serve token` prints as JSON."""
    command = [sys.executable, "-m", "sidecar", "serve", "token", *words, "--json"]
    done = subprocess.run(command, env=dict(env), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
