"""A server whose certificate is not accepted is told nothing, whichever part of sidecar would ask it, and one sentence
says what is wrong with it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.chroma_server import Listener, certificate

pytestmark = pytest.mark.process


class Fault(NamedTuple):
    """A certificate: the name and the days of its validity, whether the client knows who signed it, what is said about
    it, and the advice."""

    name: str = "localhost"
    days: tuple[float, float] = (-1, 1)
    known: bool = True
    said: str = ""
    advice: str = ""


CLOCK = r"this machine's clock says 20\d\d-\d\d-\d\d \d\d:\d\d UTC, and if that is right, the server needs a new one"
FAULTS = {
    "expired": Fault(days=(-9, -2), said="certificate has expired", advice=CLOCK),
    "of the future": Fault(days=(2, 9), said="certificate is not yet valid", advice=CLOCK),
    "of another name": Fault("other.example", said="Hostname mismatch, certificate", advice="check the address"),
    "of a stranger": Fault(known=False, said="self-signed certificate", advice="set SSL_CERT_FILE to the file with"),
}
GOOD = "good"

BEGIN = """
import json, sys
from pathlib import Path
from sidecar.errors import SidecarError
from sidecar.parts.shared_vectors.places import ChromaPlace, VectorFiles
from sidecar.parts.team.heads import Head
from sidecar.parts.team.places import SignIn, opened
from sidecar.parts.vectors.chroma_server import MadeFor, ServerStore
from sidecar.parts.vectors.server_link import ChromaServer
from sidecar.settings.address import server_address
SECRET = {"Authorization": "Bearer of-mine"}
folder = Path(sys.argv[1])
(folder / "file").write_bytes(b"content")

def ask(url):
"""
CLIENTS = {
    "a reader of snapshots": """
    with opened(url, SignIn("Bearer of-mine"), "snapshotSource") as place:
        place.heads()
""",
    "a writer of snapshots": """
    with opened(url, SignIn("Bearer of-mine"), "The target") as place:
        place.put(folder / "file", Head("0" * 40, "", "0" * 64, 7, "2026-11-23", 3, 7, {"format": "1"}))
""",
    "a reader of shared vectors": """
    VectorFiles(url, SECRET).fetch([b"n" * 16], 100)
""",
    "a writer of shared vectors": """
    VectorFiles(url, SECRET).keep({b"n" * 16: b"v" * 100})
""",
    "shared vectors on a Chroma server": """
    place = ChromaPlace(ChromaServer(server_address(url), SECRET))
    try:
        place.fetch([b"n" * 16], 100)
    finally:
        place.close()
""",
    "a vector store on a Chroma server": """
    store = ServerStore(folder / "store", MadeFor("r", "m", 4), ChromaServer(server_address(url), SECRET))
    try:
        store.count("code")
    finally:
        store.close()
""",
}
END = """
said = {}
for kind, url in json.loads(sys.argv[2]).items():
    try:
        ask(url)
    except SidecarError as error:
        said[kind] = error.detail
print(json.dumps(said))
"""


class Servers(NamedTuple):
    """One server for each kind of certificate, and the file with the certificates that clients know."""

    listeners: dict[str, Listener]
    known: Path


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("certificates")
    known, listeners = folder / "known.pem", dict[str, Listener]()
    with known.open("ab") as every:
        for kind, fault in {**FAULTS, GOOD: Fault()}.items():
            (folder / kind).mkdir()
            file = certificate(folder / kind, fault.name, days=fault.days)
            if fault.known:
                every.write(file.read_bytes())
            listeners[kind] = Listener(lambda *_: (404, "text/plain", b"no"), file)
    yield Servers(listeners, known)
    for listener in listeners.values():
        listener.close()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_certificate_that_is_not_accepted_ends_everything_before_a_word_is_sent(
    client: str, servers: Servers, tmp_path: Path
) -> None:
    urls = {kind: f"https://localhost:{listener.port}" for kind, listener in servers.listeners.items()}
    # In a process of its own, because libraries read SSL_CERT_FILE once.
    line = [sys.executable, "-c", BEGIN + CLIENTS[client] + END, str(tmp_path), json.dumps(urls)]
    env = {**os.environ, "SSL_CERT_FILE": str(servers.known)}
    said = json.loads(subprocess.run(line, env=env, capture_output=True, text=True, check=True).stdout)
    assert servers.listeners[GOOD].heard, "with a good certificate it asks"
    servers.listeners[GOOD].heard.clear()
    assert "certificate" not in said.get(GOOD, "")
    for kind, fault in FAULTS.items():
        sentence = said[kind]
        assert servers.listeners[kind].heard == [], kind
        assert urls[kind] in sentence
        assert f"its certificate was not accepted, so nothing was sent ({fault.said}" in sentence
        assert re.search(fault.advice, sentence), sentence
        assert "_ssl.c" not in sentence
        assert "\n" not in sentence
