"""What the sidecar command does with the daemon: pipes for editors and agents, tool calls for shells, `sidecar daemon`.

Every command starts here, so this module imports little.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from sidecar import shown
from sidecar.daemon.endpoint import Endpoint
from sidecar.daemon.handshake import Handshake, of_here, read_line
from sidecar.daemon.spawn import COMMAND, Attached, Daemon, NotReachedError
from sidecar.errors import DaemonUnavailable, InvalidParams, NotFound, SidecarError
from sidecar.lock_file import is_locked
from sidecar.settings.home import data_home
from sidecar.small_files import open_to_read

if TYPE_CHECKING:
    from sidecar.daemon.alone import Alone
    from sidecar.daemon.replay_mcp import Hello
    from sidecar.daemon.shell_client import ShellClient
    from sidecar.surfaces.cli.main import Serving

STOPPING_S = 30.0
"""How long a daemon may take to answer a control word, and to end after `stop`."""
FROM_CHUNKS = "SIDECAR_DAEMON_FROM_CHUNKS"
"""The environment variable with the number of chunks from which on a search in a shell starts the daemon."""
LARGE_INDEX_CHUNKS = 50_000
"""From this size on, opening an index takes longer than the rest of one search."""
_POLL_S = 0.02
_MOST_LOG_BYTES = 4 << 20


class Client:
    """The daemon as this installation reaches it.

    `version` and `command` are the installation's own, except in tests.
    """

    def __init__(self, env: Mapping[str, str], version: str, command: Sequence[str] = COMMAND) -> None:
        self._env = env
        self.place = Endpoint(data_home(env), version)
        self._daemon = Daemon(self.place, env, command)

    # ------------------------------------------------------------ sessions

    def pipe(self, kind: str, **asked: Any) -> int | None:
        """Serves the client at stdin and stdout through the daemon, and returns the exit status.

        Returns None if no daemon can be reached; nothing has been read from stdin then. Raises the daemon's own error,
        such as ConfigInvalid.
        """
        greeting = of_here("lsp" if kind == "lsp" else "mcp", self._env, **asked)
        # An agent's handshake is answered while the daemon starts, unless the daemon might refuse an option.
        early = kind == "mcp" and not greeting.flags and self.place.record() is None and bool(self._hello().known())
        first = None if early else self._attached(greeting)
        if first is None and not early:
            return None
        from sidecar.daemon.pipe import Pipe, end_on_signals
        from sidecar.stdio import take_stdio

        fds = take_stdio()
        end_on_signals()
        script, make_cutter = self._protocol(kind)

        with self._again(greeting) as again:
            # A daemon that ends normally removes its record first; a crash leaves the record behind.
            pipe = Pipe(script, make_cutter, again, lambda: self.place.record() is None, fds)
            return pipe.run(first.connection if first is not None else None)

    def tools(self, of_large_index: bool, quiet: bool, **asked: Any) -> ShellClient | None:
        """Returns a shell's session with the running daemon, or None if no daemon runs or answers.

        With `of_large_index` a daemon is started if the workspace's index is a large one; a notice says so unless
        `quiet` is set. Raises InvalidParams if SIDECAR_DAEMON_FROM_CHUNKS is not a number.
        """
        greeting = of_here("call", self._env, **asked)
        try:
            attached = self._daemon.attach_running(greeting)
            if attached is None and of_large_index:
                attached = self._attached_for_large_index(greeting, quiet)
        except NotReachedError as error:
            sys.stderr.write(shown.line(f"sidecar: working without the daemon. {error}") + "\n")
            return None
        if attached is None:
            return None
        for note in attached.facts.get("notes", ()):
            sys.stderr.write(shown.line(f"sidecar: {note}") + "\n")
        from sidecar.daemon.shell_client import ShellClient

        return ShellClient(attached.connection)

    def _attached_for_large_index(self, greeting: Handshake, quiet: bool) -> Attached | None:
        """Returns a session with a daemon that is started now; None if the workspace's index is not large."""
        least = _from_chunks(self._env)
        if not least or greeting.workspace is None:
            return None
        from sidecar.tools.index_size import chunks_of

        chunks = chunks_of(self._env, greeting.workspace)
        if chunks < least:
            return None
        attached = self._daemon.attach(greeting)
        if not quiet:
            kept = f"It keeps the {shown.count(chunks, 'chunk')} of this index open, so that later searches are fast"
            sys.stderr.write(shown.line(f"sidecar: started the daemon. {kept}; --standalone does without.") + "\n")
        return attached

    def _hello(self) -> Hello:
        from sidecar.daemon.replay_mcp import Hello

        return Hello(self.place.folder / f"hello-{self.place.version}.json")

    def _protocol(self, kind: str) -> tuple[Any, Any]:
        if kind == "mcp":
            from sidecar.daemon.replay_mcp import LineCutter, McpReplay

            return McpReplay(self._hello()), LineCutter
        from sidecar.daemon.pipe import end_with
        from sidecar.daemon.replay_lsp import HeaderCutter, LspReplay

        def watch(pid: int) -> None:
            threading.Thread(target=end_with, args=(pid,), name="sidecar-editor", daemon=True).start()

        return LspReplay(watch), HeaderCutter

    def _attached(self, greeting: Handshake) -> Attached | None:
        """Returns a session with the daemon, which is started if none runs.

        Returns None if no daemon can be reached, and says why on stderr.
        """
        try:
            return self._daemon.attach(greeting)
        except NotReachedError as error:
            sys.stderr.write(shown.line(f"sidecar: working without the daemon. {error}") + "\n")
            return None

    def serve(self, serving: Serving, **asked: Any) -> int | None:
        """Serves REST and MCP over HTTP from the daemon, and returns the exit status.

        Returns None if no daemon can be reached.
        """
        greeting = of_here("rest", self._env, **{**asked, "workspace": serving.workspace})
        first = self._attached(greeting)
        if first is None:
            return None
        from sidecar.daemon.serve import serve_attached

        with self._again(greeting) as again:
            return serve_attached(first.connection, again, serving, first.facts["root"])

    @contextlib.contextmanager
    def _again(self, greeting: Handshake) -> Iterator[Callable[[], socket.socket]]:
        """Yields a function that begins the session again with another daemon.

        If no daemon can be reached, that function serves the session in this process.
        """
        made: list[Alone] = []

        def again() -> socket.socket:
            if (attached := self._attached(greeting)) is not None:
                return attached.connection
            if not made:
                from sidecar.daemon.alone import Alone

                made.append(Alone(self._env))
            return made[0].attach(greeting)

        try:
            yield again
        finally:
            for alone in made:
                alone.close()

    # ------------------------------------------------------------ sidecar daemon

    def command(self, action: str, as_json: bool, lines: int, ready_fd: int | None, out: TextIO) -> int:
        """Runs `start`, `stop`, `status`, `logs` or `run`, and returns the exit status. Raises SidecarError."""
        if action == "run":
            from sidecar.daemon.run import run_daemon

            return run_daemon(self.place, self._env, ready_fd)
        answer, text = getattr(self, f"_{action}")(lines)
        out.write(shown.as_json(answer, indent=2, ascii_only=True) + "\n" if as_json else shown.visible(text))
        return 0 if answer.get("running", True) or action == "stop" else NotFound.exit_status

    def _start(self, _: int) -> tuple[dict[str, Any], str]:
        running = self._ask("status")
        if running is None:
            try:
                self._daemon.attach(Handshake("control", pid=os.getpid())).connection.close()
            except NotReachedError as error:
                raise DaemonUnavailable(str(error)) from error
        answer = self._ask("status") or {}
        word = "started" if running is None else "runs already"
        return {
            "running": True,
            "started": running is None,
            **answer,
        }, f"The daemon {word}: process {answer.get('pid')}.\n"

    def _stop(self, _: int) -> tuple[dict[str, Any], str]:
        answer = self._ask("stop")
        pid = answer["pid"] if answer else self._unreachable_pid()
        if pid is None:
            return {"running": False, "stopped": False}, "No daemon is running.\n"
        self._wait_for_end(pid, answer is not None)
        return {"running": False, "stopped": True, "pid": pid}, f"The daemon has ended: process {pid}.\n"

    def _status(self, _: int) -> tuple[dict[str, Any], str]:
        answer = self._ask("status")
        if answer is None:
            pid = self._unreachable_pid()
            why = "No daemon is running." if pid is None else f"The daemon does not answer: process {pid}."
            return {"running": False, "pid": pid}, why + "\n"
        return {"running": True, **answer}, status_text(answer)

    def _logs(self, lines: int) -> tuple[dict[str, Any], str]:
        path = self.place.home / "logs" / "daemon.log"
        try:
            with open_to_read(path) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_LOG_BYTES))
                text = file.read(_MOST_LOG_BYTES).decode("utf-8", "replace")
        except OSError:
            text = ""
        last = text.splitlines()[-lines:] if lines > 0 else []
        return {"log": str(path), "lines": last}, "\n".join([shown.line(f"# {path}"), *map(shown.line, last)]) + "\n"

    def _ask(self, word: str) -> dict[str, Any] | None:
        """Sends a control word and returns the answer; None if no daemon answers."""
        try:
            attached = self._daemon.attach_running(Handshake("control", pid=os.getpid()))
        except (NotReachedError, SidecarError, ValueError):
            return None
        if attached is None:
            return None
        with attached.connection as connection:
            connection.settimeout(STOPPING_S)
            try:
                connection.sendall(word.encode() + b"\n")
                answer = json.loads(read_line(connection) or b"null")
            except (OSError, ValueError):
                return None
        return answer if isinstance(answer, dict) else None

    def _unreachable_pid(self) -> int | None:
        """Returns the process id of a daemon that is alive but does not answer, otherwise None."""
        record = self.place.record()
        return record.pid if record is not None and is_locked(self.place.lock) else None

    def _wait_for_end(self, pid: int, asked: bool) -> None:
        """Waits until the daemon's lock is free.

        A daemon that was not reached, or that does not end in time, gets SIGTERM and then SIGKILL. Raises
        DaemonUnavailable if it does not end even then.
        """
        import signal

        if asked and self._is_free_within(STOPPING_S):
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            if self._is_free_within(2 * self._daemon.patience_s):
                return
        raise DaemonUnavailable(f"Process {pid} does not end, not even when it is killed.")

    def _is_free_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while is_locked(self.place.lock):
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True


def _from_chunks(env: Mapping[str, str]) -> int:
    """Returns the number of chunks from which on an index counts as large; 0: never. Raises InvalidParams."""
    text = env.get(FROM_CHUNKS, "")
    if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InvalidParams(f"{FROM_CHUNKS} takes a number of chunks, or 0 for never, not {shown.quoted(text)}.")
    return int(text) if text else LARGE_INDEX_CHUNKS


def status_text(answer: Mapping[str, Any]) -> str:
    """Returns the daemon's status as lines for a person."""
    lines = [
        f"process   {answer['pid']}, version {answer['version']}, since {answer['since']}",
        f"memory    {answer['memoryBytes'] / 1e6:.0f} MB",
        f"data      {answer['home']}",
        f"socket    {answer['socket']}",
        f"log       {answer['log']}",
        f"ends      after {answer['idleMinutes']:g} minutes without a session",
        f"sessions  {len(answer['sessions'])}",
    ]
    lines += [
        f"  {one['kind']:<4} process {one['pid']} in {one['folder']}, since {one['since']}"
        for one in answer["sessions"]
    ]
    return "\n".join(map(shown.line, lines)) + "\n"
