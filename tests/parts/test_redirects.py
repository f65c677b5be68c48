"""What the user gives for one server goes to that server only, wherever it redirects to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from sidecar.errors import StoreFailed
from sidecar.parts.network import Server, Way

SECRET = "the password of the proxy"


@contextmanager
def answering(target: str = "") -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that redirects to the target, or answers. Yields its address and the headers of what was asked."""
    asked: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append({name.lower(): value for name, value in self.headers.items()})
            away = target if target and self.path != "/here" else ""
            self.send_response(307 if away else 200)
            if away:
                self.send_header("Location", away)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def read(source: str) -> None:
    way = Way("sharedVectors", StoreFailed, sign_in="Bearer one", headers={"X-Proxy-Key": SECRET})
    with Server(source, way) as server:
        server.read(f"{source}/a")


def test_headers_of_the_user_do_not_follow_a_redirect_to_another_server() -> None:
    with answering() as (elsewhere, asked_there), answering(f"{elsewhere}/b") as (source, asked):
        read(source)
    assert asked[0]["x-proxy-key"] == SECRET and asked[0]["authorization"] == "Bearer one"
    assert len(asked_there) == 1
    assert not {"x-proxy-key", "authorization"} & set(asked_there[0])


def test_they_do_follow_one_within_the_server() -> None:
    with answering("/here") as (source, asked):
        read(source)
    assert [one["x-proxy-key"] for one in asked] == [SECRET, SECRET]
