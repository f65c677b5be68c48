"""Does everything that sidecar does on a small workspace, as `python -m tests.network_tour PYTHON WORK [WORD...]`.

If the system allows it, it runs in an empty network namespace. It then prints the kernel's count of packets without a
route, whether Python, a library's native code or a child process sent them.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_S

COUNTED = {"snmp": ("Ip:OutNoRoutes", "Udp:OutDatagrams"), "snmp6": ("Ip6OutNoRoutes", "Udp6OutDatagrams")}


def in_empty_network() -> list[str]:
    """Returns the words to put before a command; empty if such a network cannot be made."""
    unshare = shutil.which("unshare")
    for words in ([unshare, "-n"], [unshare, "-rn"]) if unshare else ():
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
            return [str(word) for word in words]
    return []


def raise_loopback() -> None:
    """Does `ip link set lo up`, because some doors listen on this machine."""
    request = struct.pack("16sh14x", b"lo", 0x1)  # IFF_UP
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS


def counters() -> dict[str, int]:
    """Returns the kernel's counts of packets without a route, and of datagrams, such as name lookups."""
    lines = Path("/proc/net/snmp").read_text("utf-8").splitlines()
    found: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        kind = names.split(":")[0]
        found |= {f"{kind}:{n}": int(v) for n, v in zip(names.split()[1:], values.split()[1:], strict=True)}
    six = Path("/proc/net/snmp6")
    found |= dict((line.split()[0], int(line.split()[1])) for line in six.read_text("utf-8").splitlines())
    return {name: found[name] for names in COUNTED.values() for name in names if name in found}


def copy_our_transformer(home: Path) -> None:
    """Puts the files of this checkout where a download puts them: an installed package has none."""
    ours, folder = Path(__file__).parents[1] / "models/minilm-code", home / "models/minilm-code-int8"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("int8.onnx", "weights.bin", "tokenizer.json"):
        shutil.copyfile(ours / name, folder / name)


class Tour:
    def __init__(self, python: str, work: Path, more: tuple[str, ...]) -> None:
        self._command = [python, "-P", "-m", "sidecar"]
        self._work = work
        self._more = more

    def run(self, *words: str, status: int = 0, said: str = "", ci: str = "1") -> str:
        done = subprocess.run(
            [*self._command, *words, *self._more],
            cwd=self._work,
            env={**os.environ, "CI": ci},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        output = done.stdout.decode() + done.stderr.decode()
        assert done.returncode == status, f"{words}: {done.returncode}\n{output}"
        assert said in output, f"{words}: {said!r} is not in\n{output}"
        return done.stdout.decode()

    def shell(self) -> None:
        self.run("index", said="chunks embedded")
        self.run("search", "open a socket", "-m", "vector", said="socket.py")
        self.run("search", "open a socket", said="socket.py")
        self.run("docs", "how to configure", said="README.md")
        self.run("paths", "**/*.py")
        self.run("status")
        self.run("explain", "socket.py")
        self.run("reindex", "--yes")
        self.run("doctor", said="vector store")
        self.run("models")
        self.run("models", "show", "bge-small-en-v1.5")
        self.run("index", "--model", "bge-small-en-v1.5", status=7, said="sidecar models download bge-small-en-v1.5")
        self.run("search", "a", "-m", "vector", "--model", "no-such-model", status=7)
        self.run("delete", "--yes")
        copy_our_transformer(Path(os.environ["SIDECAR_HOME"]))
        self.run("index", "--model", "minilm-code-int8")

    def doors(self) -> None:
        """Uses each door through the daemon."""
        self.run("delete", "--yes")
        self.run("daemon", "start", ci="")
        try:
            self.run("index", ci="")
            self.converse("mcp", given=b"".join(json.dumps(message).encode() + b"\n" for message in mcp()))
            first, last = lsp(self._work)
            self.converse("--stdio", given=b"".join(map(framed, first)), last=b"".join(map(framed, last)))
        finally:
            self.run("daemon", "stop", ci="")

    def converse(self, word: str, given: bytes, last: bytes = b"") -> None:
        """Sends `given` to a door, waits for the answer that contains the code, and sends `last`."""
        line, env = [*self._command, word, *self._more], {**os.environ, "CI": ""}
        with subprocess.Popen(line, cwd=self._work, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            watchdog = threading.Timer(PATIENCE_S, process.kill)
            watchdog.start()
            process.stdin.write(given)
            process.stdin.flush()
            seen = b""
            while b"def open_socket" not in seen:
                block = os.read(process.stdout.fileno(), 1 << 16)
                assert block, seen
                seen += block
            process.stdin.write(last)
            process.stdin.close()
            process.wait(PATIENCE_S)
            watchdog.cancel()

    def serve(self) -> None:
        line = [*self._command, "serve", "--json", *self._more]
        env = {**os.environ, "CI": "1"}
        with subprocess.Popen(line, cwd=self._work, env=env, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                announced = json.loads(process.stdout.readline())
                token = Path(announced["tokenFile"]).read_text("utf-8").strip()
                address = f"{announced['url']}/code/search?q=open+a+socket"
                request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                with opener.open(request, timeout=PATIENCE_S) as answer:
                    assert b"socket.py" in answer.read()
            finally:
                process.terminate()


def mcp() -> list[dict[str, Any]]:
    who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tour", "version": "1"}}
    search = {"name": "search_code", "arguments": {"query": "open a socket", "mode": "vector"}}
    return [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": who},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search},
    ]


def lsp(work: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    folder = {"uri": work.as_uri(), "name": "work"}
    who: dict[str, Any] = {"processId": None, "rootUri": work.as_uri(), "capabilities": {}}
    who["workspaceFolders"] = [folder]
    return [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": who},
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "sidecar/searchCode", "params": {"query": "open a socket"}},
    ], [{"jsonrpc": "2.0", "id": 2, "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}]


def framed(message: dict[str, Any]) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def main() -> None:
    python, work, alone = sys.argv[1], Path(sys.argv[2]), os.environ.get("TOUR_ALONE") == "1"
    if alone:
        raise_loopback()
    before = counters() if alone else {}
    words = tuple(sys.argv[3:])
    if words[:1] == ("only",):
        subprocess.run([python, "-P", "-m", "sidecar", *words[1:]], cwd=work, capture_output=True, check=False)
    else:
        tour = Tour(python, work, words)
        tour.shell()
        tour.doors()
        tour.serve()
    after = counters() if alone else {}
    sys.stdout.write(json.dumps({name: after[name] - before[name] for name in after}) + "\n")


if __name__ == "__main__":
    main()
