"""For tests: the real `sidecar serve` as a process, and a client from the standard library that shows raw answers."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)


class Served:
    """A serving process, from its announcement (`announced`) to its end."""

    def __init__(
        self,
        workspace: Path,
        env: Mapping[str, str],
        options: Sequence[str] = (),
        program: Sequence[str] = ("-m", "sidecar", "serve"),
    ) -> None:
        self._command = [sys.executable, *program, "--json", "--workspace", str(workspace), *options]
        self._env = dict(env)

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate(timeout=PATIENCE_S)[1])
        self.announced = json.loads(line)
        self.url = self.url_for_clients()
        self.host = urlsplit(self.url).netloc
        self.token = self.first_token()
        return self

    def url_for_clients(self) -> str:
        return str(self.announced["url"])

    def first_token(self) -> str:
        return Path(self.announced["tokenFile"]).read_text().strip()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.end()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Returns the exit status and the text written to standard error."""
        self.process.send_signal(number)
        try:
            _, err = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, err

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, timeout=PATIENCE_S)

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str | None] | None = None
    ) -> Reply:
        """Sends one request with the token. A header of None is left out."""
        given: dict[str, str | None] = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        connection = self.connect()
        try:
            connection.request(method, path, body, {name: value for name, value in given.items() if value is not None})
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, /, **query: Any) -> Reply:
        return self.send("GET", f"{path}?{urlencode(query, doseq=True)}" if query else path)

    def post(self, tool: str, arguments: Mapping[str, Any] | None = None, answer: str | None = None) -> Reply:
        headers = {"Content-Type": "application/json", "Sidecar-Answer": answer}
        return self.send("POST", f"/tools/{tool}", json.dumps(arguments or {}).encode(), headers)

    def say(self, tool: str, arguments: Mapping[str, Any], said: str) -> Reply:
        """Does what a person's client does: repeats the request with the answer to the returned question."""
        asked = self.post(tool, arguments)
        return self.post(tool, arguments, f"{asked.json['question']['id']}={said}") if asked.status == 409 else asked


def environment(home: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "SIDECAR_HOME": str(home), "PYTHONPATH": str(ROOT), **more}
