"""The shell: one process per call. A person who says no sits at a pseudo-terminal."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from tests.spec.doors import Answer, ToolFailed

NOT_CONFIRMED = 9
COMMANDS = {
    "search_code": "search",
    "search_docs": "docs",
    "get_index_status": "status",
    "get_config": "config",
    "delete_index": "delete",
    "reindex_project": "reindex",
}
OPTIONS = {"top_k": "-k", "mode": "-m", "alpha": "-a"}
TYPED = {
    ("search_index", "patterns"),
    ("search_index", "force", "patterns"),
    ("search_query", "query"),
    ("search_query", "limit", "query"),
}
LONGEST = 100_000
"""Longer arguments are sent on standard input, because Linux allows 128 KiB for one argument."""


class Door:
    name: ClassVar[str] = "cli"

    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._env = dict(env)

    async def __aenter__(self) -> Door:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def call(self, tool: str, arguments: dict[str, Any], answer: Answer | None = None) -> dict[str, Any]:
        words = ["--json", "--quiet", *(["--yes"] if answer == "accept" else []), *command_line(tool, arguments)]
        status, out, err = await self._run(
            words, typed="n\n" if answer == "decline" else None, given=json.dumps(arguments) if words[-1] == "-" else ""
        )
        if status in (0, NOT_CONFIRMED) or out:
            value: dict[str, Any] = json.loads(out)
            assert status in (0, NOT_CONFIRMED) or value["failed_files"]
            assert (status == NOT_CONFIRMED) is (value.get("status") == "cancelled")
            return value
        assert out == ""
        body = json.loads(err[err.index("{") :])
        error = body.get("error")
        if isinstance(error, dict):
            raise ToolFailed(error["code"], f"{error['userMessage']} {error.get('detail', '')}".strip(), error)
        raise ToolFailed(body.get("code", f"exit {status}"), body.get("message") or error, body)

    async def _run(self, words: list[str], typed: str | None, given: str) -> tuple[int, str, str]:
        person, terminal = pty.openpty() if typed is not None else (None, None)
        nobody = asyncio.subprocess.PIPE if given else asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sidecar", *words),
            cwd=self._workspace,
            env=self._env,
            stdin=terminal if terminal is not None else nobody,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        if person is not None and terminal is not None and typed is not None:
            os.write(person, typed.encode())
        out, err = await process.communicate(given.encode() or None)
        for end in (person, terminal):
            if end is not None:
                os.close(end)
        return process.returncode or 0, out.decode(), err.decode()


def command_line(tool: str, arguments: dict[str, Any]) -> list[str]:
    """Returns the command that a person would type; `sidecar call` for tools without a command and for arguments that
    cannot be typed."""
    if tool == "search_by_path" and "pattern" in arguments and set(arguments) <= {"pattern", "limit"}:
        limit = ["-n", str(arguments["limit"])] if "limit" in arguments else []
        return ["paths", *limit, "--", arguments["pattern"]]
    if tool == "reindex_file" and set(arguments) == {"file_path"} and "\0" not in arguments["file_path"]:
        return ["reindex", "--", arguments["file_path"]]
    if tool in ("search_code", "search_docs") and typable(arguments):
        options = [word for name, flag in OPTIONS.items() if name in arguments for word in (flag, str(arguments[name]))]
        return [COMMANDS[tool], *options, *(["--compact"] if arguments.get("compact") else []), arguments["query"]]
    if (tool, *sorted(arguments)) in TYPED:
        return two_words(tool, arguments)
    if tool in COMMANDS and not arguments:
        return [COMMANDS[tool]] if not tool.startswith("search") else ["call", tool]
    given = json.dumps(arguments)
    return ["call", tool, given if len(given) < LONGEST else "-"]


def two_words(tool: str, arguments: dict[str, Any]) -> list[str]:
    """The two commands that specification 004 has."""
    if tool == "search_index":
        return ["search", "index", *(["--force"] if arguments.get("force") else []), "--", *arguments["patterns"]]
    limit = ["--limit", str(arguments["limit"])] if "limit" in arguments else []
    return ["search", "query", *limit, "--format", "json", "--", arguments["query"]]


def typable(arguments: dict[str, Any]) -> bool:
    known = set(arguments) <= {"query", "compact", *OPTIONS}
    return known and isinstance(arguments.get("query"), str) and not isinstance(arguments.get("top_k"), str)
