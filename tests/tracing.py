"""Records by strace what a command and its descendants ask of a network and write to disk.

This is the kernel's view: it includes native code, threads, grandchildren and failed attempts. Python's hooks do not
see native code, and an empty network does not tell which process wanted to use it.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_STARTS = ("execve", "clone", "clone3", "fork", "vfork")
_SENDS = ("connect", "sendto", "sendmsg", "sendmmsg")
_OPENS = ("open", "openat", "openat2", "creat")
_CHANGES = (
    *("mkdir", "mkdirat", "mknod", "mknodat", "rename", "renameat", "renameat2", "link", "linkat", "symlink"),
    *("symlinkat", "unlink", "unlinkat", "rmdir", "truncate", "chmod", "fchmodat", "utimensat"),
)
_CALL = re.compile(r"^(\w+)\((.*)\)\s+= (-?\d+|\?)")
_ADDRESS = re.compile(r'(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"')
_PORT = re.compile(r"sin6?_port=htons\((\d+)\)")
_SOCKET_PATH = re.compile(r'sun_path=@?"([^"]*)"')
_NAMED = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
_WRITING = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)")
_RESOLVER_FILES = ("/etc/resolv.conf", "/etc/hosts")
"""For every name lookup, every resolver reads one of these files, with or without a network."""
_RESOLVER_SOCKETS = ("systemd.Resolve", "avahi-daemon")
_RESOLVER_PORTS = (53, 853, 5353)


class Deed(NamedTuple):
    """`command` is the process, or the process of which it is a thread or fork."""

    command: str
    what: str

    def __str__(self) -> str:
        return f"{self.what} (by {self.command})"


class Trace(NamedTuple):
    """`asked`: names looked up, and connections and packets to other machines. `written`: paths that were to be made,
    changed or removed."""

    commands: list[str]
    asked: list[Deed]
    written: list[Deed]


def why_not() -> str:
    """Returns why nothing can be traced here; empty if it can."""
    if sys.platform != "linux":
        return "strace is a program of Linux"
    if (strace := shutil.which("strace")) is None:
        return "strace is missing; scripts/dev/install-test-tools installs it"
    done = subprocess.run([strace, "-qq", "true"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"this machine forbids strace: {done.stderr.strip()}"


def traced(command: Sequence[str], folder: Path, cwd: Path, env: Mapping[str, str], limit_s: float) -> Trace:
    """Runs `command` to its end, and waits for all processes that it has left behind. Raises CalledProcessError."""
    folder.mkdir()
    # `?`: not every machine has each of these system calls.
    calls = ",".join(f"?{call}" for call in (*_STARTS, *_SENDS, *_OPENS, *_CHANGES))
    line = ["strace", "-f", "-ff", "-qq", "-y", "-s", "512", "--seccomp-bpf", "-e", f"trace={calls}"]
    line += ["-e", "signal=none", "-o", str(folder / "calls"), "--", *command]
    subprocess.run(line, timeout=limit_s, check=True, cwd=cwd, env=env)
    return read_trace({int(path.suffix[1:]): path.read_text("utf-8", "replace") for path in folder.glob("calls.*")})


def read_trace(of_thread: Mapping[int, str]) -> Trace:
    """`of_thread`: strace's output for each thread."""
    calls = {thread: list(_calls(text)) for thread, text in of_thread.items()}
    parents = {
        int(result): thread
        for thread, lines in calls.items()
        for name, _, result in lines
        if name in _STARTS[1:] and result.isdecimal()
    }
    started = {thread: found for thread, lines in calls.items() if (found := _command(lines))}

    def command_of(thread: int) -> str:
        while thread not in started and thread in parents:
            thread = parents[thread]
        return started.get(thread, f"process {thread}")

    asked, written = [], []
    for thread, lines in calls.items():
        for name, arguments, _ in lines:
            asked += [Deed(command_of(thread), what) for what in _asked(name, arguments)]
            written += [Deed(command_of(thread), what) for what in _written(name, arguments)]
    return Trace(sorted(set(started.values())), asked, written)


def _calls(text: str) -> Iterator[tuple[str, str, str]]:
    for line in text.splitlines():
        if found := _CALL.match(line):
            yield found[1], found[2], found[3]


def _command(lines: Sequence[tuple[str, str, str]]) -> str:
    """Returns the command line of the last program that this thread executed."""
    became = [arguments for name, arguments, result in lines if name == "execve" and result == "0"]
    if not became:
        return ""
    words = became[-1].partition("[")[2].rpartition("]")[0]
    return " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', words))


def _asked(name: str, arguments: str) -> Iterator[str]:
    if name in _SENDS:
        ports = [int(port) for port in _PORT.findall(arguments)]
        for number, address in enumerate(_ADDRESS.findall(arguments)):
            port = ports[number] if number < len(ports) else 0
            if port in _RESOLVER_PORTS or not _is_here(address):
                yield f"{name} to {address} port {port}"
        for path in _SOCKET_PATH.findall(arguments):
            if any(resolver in path for resolver in _RESOLVER_SOCKETS):
                yield f"a name looked up at {path}"
    elif name in _OPENS and any(f'"{path}"' in arguments for path in _RESOLVER_FILES):
        yield f"a name looked up ({arguments.split(', ')[1]})"


def _is_here(address: str) -> bool:
    known = ipaddress.ip_address(address)
    known = getattr(known, "ipv4_mapped", None) or known
    return known.is_loopback or known.is_unspecified


def _written(name: str, arguments: str) -> Iterator[str]:
    if name in _CHANGES or (name in _OPENS and (name == "creat" or _WRITING.search(arguments))):
        for folder, path in _NAMED.findall(arguments):
            yield os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - a path that need not exist, or be here
