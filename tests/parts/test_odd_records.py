"""Whatever a record of sidecar's own contains, whoever reads it gets an answer, or an error that says what to do."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar import shown
from sidecar.agents.record import WriteRecord
from sidecar.daemon.endpoint import Endpoint, connect, read_record
from sidecar.daemon.replay_mcp import Hello, McpReplay
from sidecar.engine.diagnostics.status import origin_of
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.stored_limit import StoredLimit
from sidecar.errors import IndexLocked, SidecarError
from sidecar.lock_file import LockFile
from sidecar.parts.asking import answer_in
from sidecar.parts.embed.catalog import load_catalog, resolve_model
from sidecar.parts.lease import Lease
from sidecar.parts.team import heads
from sidecar.settings.load import load_settings
from sidecar.tools.callers import CallerList

DEEP = 60_000
PLAIN: tuple[bytes, ...] = (
    *(b"", b" ", b"null", b"[]", b"{}", b'"text"', b"7", b"-1", b"1e400", b"NaN", b"true", b"{", b'{"a"', b"\0" * 5000),
    *(b"\xff\xfe\0\0", b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b"caf\xe9", b"9" * 5000, bytes(range(256))),
    *(b"[" * DEEP, b'{"a":' * (DEEP // 5), b"[" * DEEP + b"]" * DEEP),
)
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, float("inf"), float("nan"), 10**400, 2**63, [], {}, [[]], [{}], {"a": []}),
    *("", "\ud800", "a\0b", "\x1b[2J\nforged", "caf\u00e9\u202e", "x" * 70_000),
)
FORGED = re.compile("[\x00-\x1f\x7f\u202e\ud800-\udfff]")


def odd(valid: Any) -> Iterator[bytes]:
    """Yields contents that are not what was written: those of another program, and a valid one in which a value is
    missing or another one."""
    yield from PLAIN
    for changed in changes(valid):
        yield json.dumps(changed).encode()


def changes(value: Any) -> Iterator[Any]:
    yield from VALUES
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {name: held for name, held in value.items() if name != key}
            for changed in changes(inner):
                yield {**value, key: changed}
    if isinstance(value, list):
        for number, inner in enumerate(value):
            for changed in changes(inner):
                yield [*value[:number], changed, *value[number + 1 :]]


# ---------------------------------------------------------------- who reads them


def a_daemons_record(path: Path) -> None:
    record = read_record(path)
    if record is not None:
        assert 0 < record.pid < 2**31, "a signal would reach another process, or all of them"
        found = connect(record)
        assert found is None
    assert isinstance(Endpoint(path.parent, "1").others(), list)


def a_leases_holder(path: Path) -> None:
    """Somebody has the lock, and the file says something else."""
    lease = Lease(path.parent, patience_s=0, pause=lambda seconds: None)
    held = LockFile(path)
    content = path.read_bytes()
    assert held.take()
    try:
        path.write_bytes(content)
        assert isinstance(lease.announced(), str)
        with pytest.raises(IndexLocked) as locked:
            lease.acquire()
    finally:
        held.release()
    assert not re.search(r"[Pp]rocess (-|0\b)|kill (-|0\b)", locked.value.message), locked.value.message
    shows(locked.value)


def an_answer_to_a_reader(path: Path) -> None:
    reply = answer_in(path)
    if reply is not None:
        "".join(reply.awaiting).encode()
        assert isinstance(reply.fresh, bool)


def what_install_has_written(path: Path) -> None:
    record = WriteRecord(path)
    written = record.of(Path("/there"))
    if written is not None:
        written.taken_back("a text")
        assert not Path("/elsewhere/a").is_relative_to(written.made or "/there")

    record.put(Path("/elsewhere"), None)


def the_answers_to_initialize(path: Path) -> None:
    hello = Hello(path)
    hello.known()
    replay = McpReplay(hello)
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "1"}}
    replay.from_client(replay.frame(first), json.dumps(first).encode())
    for message in replay.at_once():
        replay.frame(message)
    hello.learn("1", {"a": 1})


def the_patterns(path: Path) -> None:
    layout = IndexLayout(path.parent, "", path.parent)
    assert layout.patterns == path
    limit = StoredLimit(layout).current()
    if limit is not None:
        limit.names("src/a.py")
        limit.summary.encode()


def the_current_generation(path: Path) -> None:
    layout = IndexLayout(path.parent, "", path.parent)
    for name in ("1", "\u00b2", "\u0663", "007", "9" * 200):
        (path.parent / "generations" / name).mkdir(parents=True, exist_ok=True)
    assert 1 in layout.generations()
    assert layout.manifest(layout.current() or 0).parent.is_dir()
    layout.stamp()


def the_settings(path: Path) -> None:
    for problem in load_settings(path, path, {}, {}, {}).problems:
        problem.encode()


def the_callers(path: Path) -> None:
    path.chmod(0o600)
    for caller in CallerList(path).every():
        shown.quoted(caller.name).encode()


def the_list_of_snapshots(path: Path) -> None:
    for head in heads.parse(path.read_bytes(), "there"):
        heads.written([head])


def the_origin_of_an_index(path: Path) -> None:
    found = origin_of(path.read_bytes().decode("utf-8", "replace"))
    if found is not None:
        assert isinstance(found.files, int)
        shown.sentence(f"{found.commit[:8]} {found.made} {found.source} {found.files:,} {found.taken:,}").encode()


def a_model_of_the_users(path: Path) -> None:
    resolve_model(str(path.parent))


def the_models(path: Path) -> None:
    load_catalog(path.parent)


HEAD = {
    "commit": "a" * 40,
    "folder": "",
    "sha256": "b" * 64,
    "size": 5,
    "made": "2026-11-23",
    "files": 3,
    "chunks": 7,
    "kind": {"format": "1"},
    "signature": "",
    "base": {"sha256": "c" * 64, "size": 5, "signature": ""},
}
CALLER = {"name": "ann", "sha256": "d" * 64, "workspaces": ["/work"], "tools": ["search_code"], "metrics": False}
MODEL = {"id": "own", "dimension": 256, "kind": "transformer", "max_tokens": 512}
RECORDS: dict[Callable[[Path], None], tuple[str, Any]] = {
    a_daemons_record: ("lock", {"pid": 77, "socket": "/nowhere/at.all", "since": "2026-11-23"}),
    a_leases_holder: ("lock", {"pid": 1, "since": "2026-11-23", "command": "sidecar index", "job": "rebuild"}),
    an_answer_to_a_reader: ("a.answered", {"fresh": True, "awaiting": ["src/a.py"]}),
    what_install_has_written: (
        "agents.json",
        {"/there": {"after": hashlib.sha256(b"a text").hexdigest(), "added": [[0, 3]], "made": "/there"}},
    ),
    the_answers_to_initialize: (
        "hello.json",
        {"1": {"protocolVersion": "1", "capabilities": {"tools": {}}, "serverInfo": {"name": "sidecar"}}},
    ),
    the_patterns: (
        "patterns.json",
        {"patterns": [{"text": "src/*.py", "glob": True}, {"text": "docs", "glob": False}]},
    ),
    the_current_generation: ("current", 1),
    the_settings: ("config.json", {"maxFileSize": "1MB", "include": ["**/*"], "vectorStore": {"kind": "memory"}}),
    the_callers: ("callers.json", {"version": 1, "callers": [CALLER]}),
    the_list_of_snapshots: ("heads.json", {"format": 1, "heads": [HEAD]}),
    the_origin_of_an_index: ("origin", {"commit": "a", "made": "b", "source": "c", "files": 1, "taken": 1}),
    a_model_of_the_users: ("sidecar-model.json", MODEL),
    the_models: ("catalog.json", {"default": "own", "models": [MODEL]}),
}


def shows(error: SidecarError) -> None:
    assert error.message
    assert not FORGED.search(error.message), repr(error.message)
    assert len(error.message) < 2000


@pytest.mark.parametrize("read", RECORDS, ids=lambda read: str(getattr(read, "__name__", read)))
def test_whatever_a_record_contains_nobody_who_reads_it_fails(tmp_path: Path, read: Callable[[Path], None]) -> None:
    name, valid = RECORDS[read]
    faults: dict[str, bytes] = {}
    for content in (json.dumps(valid).encode(), *odd(valid)):
        path = tmp_path / name
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        try:
            read(path)
        except SidecarError as error:
            shows(error)
        except (Exception, pytest.fail.Exception) as error:
            faults.setdefault(f"{type(error).__name__}: {error}"[:200], content[:120])
    assert not faults, "\n".join(f"{said}\n    {content!r}" for said, content in faults.items())
