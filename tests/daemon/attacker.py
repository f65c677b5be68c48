"""Another user of the machine, who knows no token and holds connections open. Tests start it as a process.

    python tests/daemon/attacker.py HOST PORT COUNT

Every second connection sends the beginning of headers that never end. Prints `ready` when all connections have been
tried and `N open` for each line of input, and ends with its input.
"""

from __future__ import annotations

import contextlib
import encodings.idna  # noqa: F401 - loaded while the interpreter's own files can still be read
import os
import resource
import socket
import sys

NOBODY = 65534


def become_somebody_else() -> None:
    """Becomes another user if that is allowed; otherwise stays the same user, who knows no token either."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def knock(address: tuple[str, int], number: int) -> socket.socket:
    connection = socket.create_connection(address, timeout=30)
    if number % 2:
        with contextlib.suppress(OSError):
            connection.sendall(b"GET /status HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    return connection


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return bool(connection.recv(65536))
    except BlockingIOError:
        return True
    except OSError:
        return False


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    address, count = (sys.argv[1], int(sys.argv[2])), int(sys.argv[3])
    become_somebody_else()
    held = []
    for number in range(count):
        with contextlib.suppress(OSError):
            held.append(knock(address, number))
    say("ready")
    for _ in sys.stdin:
        held = [connection for connection in held if is_open(connection)]
        say(f"{len(held)} open")


if __name__ == "__main__":
    main()
