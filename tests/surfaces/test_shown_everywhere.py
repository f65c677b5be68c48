"""No output lets names, contents or clients control a terminal, hide or reorder text, make links or imitate output.

The tools and commands are taken from their registries, so that a new one is tested without a change here.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitRequestParams, ElicitResult, Implementation

from sidecar.daemon.client import status_text
from sidecar.errors import SidecarError
from sidecar.logs import client_log
from sidecar.surfaces.cli.commands import RUN
from sidecar.surfaces.cli.log import LateFile
from sidecar.surfaces.cli.main import main
from sidecar.surfaces.cli.options import EXITS
from sidecar.surfaces.cli.terminal import ProgressBar
from sidecar.surfaces.http.app import make_app
from sidecar.surfaces.lsp.life import ClientLog
from sidecar.surfaces.lsp.server import SharedService
from sidecar.surfaces.lsp.server import make_server as make_lsp
from sidecar.surfaces.mcp.server import make_server as make_mcp
from sidecar.surfaces.mcp.status import URI
from sidecar.tools.assemble import make_service
from sidecar.tools.refresh import REFRESH
from sidecar.tools.registry import ALL_TOOLS
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions
from sidecar.tools.spec import ToolSpec
from tests.surfaces.hostile import CONTENTS, NASTY, argument_sets, counted, flaws, make_workspace
from tests.surfaces.lsp_client import NO_ANSWER
from tests.surfaces.lsp_in_process import InProcessEditor

ROOT = Path(__file__).resolve().parents[2]
BY_METHOD = {tool.lsp_method: tool for tool in ALL_TOOLS}


STATUSES = {int(number) for number in re.findall(r" (\d+)  [a-z]", EXITS)}
"""The exit statuses that the manual lists."""


class Hostile(NamedTuple):
    """A hostile workspace with an index, memories and documents, in this process."""

    root: Path
    service: Service
    sessions: Sessions
    env: dict[str, str]

    def value(self, tool: str, **arguments: object) -> dict[str, Any]:
        answers = {"": "accept"}
        done: Any = self.service.call(tool, arguments, workspace=str(self.root), answers=answers)  # type: ignore[arg-type]
        return dict(done.value)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    folder = tmp_path_factory.mktemp("hostile")
    env = {"SIDECAR_HOME": str(folder / "home\u202e"), "HOME": str(folder), "SIDECAR_MODLE": NASTY[:80]}
    root = make_workspace(folder)
    service = make_service(env=env, toolsets="all")
    service.call(REFRESH, {}, workspace=str(root))
    made = Hostile(root, service, Sessions(), env)
    made.value("memory_save", key="nasty", summary="needle", text=NASTY)
    made.value("search_add_document", doc_id=NASTY[:200], content=NASTY, metadata={"needle": NASTY})
    config = Path(made.value("get_config")["configPath"])
    config.write_text(json.dumps({NASTY[:60]: 1, "exclude": NASTY, "maxFileSize": "\x1b[2J\u202e"}))
    yield made
    service.close()


class Person:
    """Answers no to every question, and records what was asked."""

    def __init__(self) -> None:
        self.read: list[str] = []

    async def __call__(self, ctx: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert params.mode == "form"
        schema = params.requested_schema["properties"]["confirm"]
        self.read += [params.message, str(schema["title"]), str(schema["description"])]
        return ElicitResult(action="decline")


# ---------------------------------------------------------------- agents


def agent(hostile: Hostile, person: Person) -> Client:
    return Client(
        make_mcp(hostile.service, str(hostile.root), sessions=hostile.sessions),
        mode="legacy",
        elicitation_callback=person,  # type: ignore[arg-type]
        client_info=Implementation(name=NASTY, version=NASTY, title=NASTY),
    )


def rows_of(value: Mapping[str, Any]) -> list[Any]:
    return value.get("results") or value.get("r") or value.get("symbols") or []


@pytest.mark.parametrize("tool", ALL_TOOLS, ids=lambda tool: tool.name)
async def test_the_text_of_every_tool_is_visible_and_counts_as_it_should(hostile: Hostile, tool: ToolSpec) -> None:
    found: list[str] = []
    person = Person()
    messages: list[str] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        messages.append(message or "")

    async with agent(hostile, person) as client:
        for arguments in argument_sets(tool.input_schema()):
            result = await client.call_tool(tool.name, arguments, progress_callback=progress)  # type: ignore[arg-type]
            (content,) = result.content
            text = content.text  # type: ignore[union-attr]
            found += flaws(text, sentence=result.is_error)
            if not result.is_error and not text.startswith("{"):
                value = result.structured_content or {}
                rows = [
                    one for answer in (value, *value.get("further", ()), *value.get("f", ())) for one in rows_of(answer)
                ]
                assert counted(text) == len(rows)
    for sentence in (*person.read, *messages):
        found += flaws(sentence, sentence=True)
    assert sorted(set(found)) == []


def test_the_hostile_files_are_found_at_all(hostile: Hostile) -> None:
    """Otherwise the tests above would prove nothing."""
    found = hostile.value("search_code", query="needle", top_k=50)["results"]
    assert len(found) >= 10
    assert any("\n" in hit["path"] for hit in found)
    assert any("\x1b" in hit["path"] for hit in found)
    assert any("\u202e" in hit["content"] for hit in found)


async def test_a_resource_and_an_error_of_the_protocol_are_visible(hostile: Hostile) -> None:
    async with agent(hostile, Person()) as client:
        read = await client.read_resource(URI)
        assert flaws(read.contents[0].text) == []  # type: ignore[union-attr]
        for ask in (client.call_tool(NASTY, {}), client.read_resource("x:" + NASTY)):
            with pytest.raises(MCPError) as raised:
                await ask
            assert flaws(raised.value.error.message, sentence=True) == []


# ---------------------------------------------------------------- shells


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


WORDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "index": ((),),
    "serve token": (("list",), ("add", NASTY), ("remove", NASTY), ("add", "a", "--workspace", NASTY)),
    "search": (("needle",), ("--compact", "needle"), ("--explain", "needle"), (NASTY,), ("-k", NASTY, "x")),
    "search index": (("**/*.py",), (NASTY,), ("../" + NASTY,), ("--format", "yaml", "**/*.py")),
    "search query": (("needle",), ("--format", "json", "needle"), ("--format", "yaml", "needle"), (NASTY,)),
    "docs": (("needle",), ("--compact", "needle")),
    "paths": (("**",), (NASTY,), ("[" + NASTY,), ("half\udcff",)),
    "status": ((),),
    "config": ((),),
    "reindex": ((), ("new\nline.py",), ("half\udcff.py",), (NASTY,), ("../" + NASTY,)),
    "delete": ((),),
    "explain": (
        ("new\nline.py",),
        (".env\x1b[2J",),
        ("ignored\x1b[2J.py",),
        ("half\udcff.py",),
        (NASTY,),
        ("../" + NASTY,),
    ),
    "overview": ((), ("--central", "1")),
    "symbols": (("needle",), (NASTY,), ("--kind", NASTY, "needle")),
    "similar": (("new\nline.py:1",), (NASTY,), ("../" + NASTY, "--line", "1")),
    "memory save": (("key", NASTY), (NASTY, "text"), ("key", "text", "--tag", NASTY)),
    "memory get": (("key",), (NASTY,)),
    "memory list": ((), ("--namespace", NASTY)),
    "memory search": (("needle",), (NASTY,)),
    "memory words": (("needle",), (NASTY,)),
    "memory delete": (("key",), (NASTY,)),
    "documents create": ((NASTY,), ("plain", "--backend", NASTY), ("x", "--tokenizer-config", NASTY)),
    "documents add": ((NASTY, NASTY), ("id", "text", "--metadata", NASTY), ("-i", NASTY, "id", "text")),
    "documents search": (("needle",), (NASTY,), ("-i", NASTY, "needle")),
    "documents list": ((), ("-i", NASTY)),
    "documents indexes": ((),),
    "documents delete": ((NASTY,), ("-i", NASTY, "id")),
    "documents drop": ((NASTY,),),
    "completion": (("bash",), (NASTY,)),
    "indexes": ((),),
    "prune": ((), ("--unused", NASTY), ("--unused", "0")),
    "doctor": ((),),
    "models": (("list",), ("show", NASTY), ("download", NASTY)),
    "install": (("--list",), (NASTY,), ("jetbrains",), ("cursor", "--project")),
    "snapshot": (("get", "/nowhere/" + NASTY), ("push", "/nowhere/" + NASTY, "--from", "/nowhere/" + NASTY)),
    "call": (("search_code", NASTY), (NASTY, "{}")),
}


def run(hostile: Hostile, *words: str, typed: str = "") -> tuple[str, str]:
    out, err = Terminal(), io.StringIO()
    status = main(
        ["-w", str(hostile.root), *words],
        service=hostile.service,
        stdin=Terminal(typed),
        stdout=out,
        stderr=err,
    )
    assert status in STATUSES
    assert "\x1b[31mSTOLEN" not in out.getvalue() + err.getvalue()
    return uncoloured(out.getvalue()), uncoloured(err.getvalue())


def uncoloured(text: str) -> str:
    """Returns the text without our own colours, each of which surrounds a piece of one line."""
    return re.sub(r"\x1b\[(?:1|2|31|32|36|1;33)m([^\x1b\n]*)\x1b\[0m", r"\1", text)


def test_every_command_is_among_those_that_are_tried() -> None:
    assert set(WORDS) == set(RUN)


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", RUN)
def test_every_command_prints_only_what_can_be_seen(hostile: Hostile, command: str, options: tuple[str, ...]) -> None:
    found: list[str] = []
    for words in WORDS[command]:
        out, err = run(hostile, *options, *command.split(), *words, typed="n\n")
        found += flaws(out) + flaws(err)
    assert sorted(set(found)) == []


@pytest.mark.parametrize("tool", [tool for tool in ALL_TOOLS if tool.question is None], ids=lambda tool: tool.name)
def test_every_tool_that_a_shell_calls_prints_only_what_can_be_seen(hostile: Hostile, tool: ToolSpec) -> None:
    found: list[str] = []
    for arguments in argument_sets(tool.input_schema()):
        for option in ((), ("--json",)):
            out, err = run(hostile, *option, "call", tool.name, json.dumps(arguments))
            found += flaws(out) + flaws(err)
            if out:
                assert json.loads(out) is not None
    assert sorted(set(found)) == []


def test_a_shell_counts_as_many_results_as_there_are(hostile: Hostile) -> None:
    value = hostile.value("search_code", query="needle", top_k=50)
    out, _ = run(hostile, "search", "-k", "50", "needle")
    assert sum(not re.match(r" *\d+ \|", line) for line in out.splitlines() if line) == len(value["results"])
    out, _ = run(hostile, "search", "-k", "50", "--compact", "needle")
    assert len(out.splitlines()) == len(value["results"])
    out, _ = run(hostile, "paths", "**", "-n", "100")
    assert len(out.splitlines()) == len(hostile.value("search_by_path", pattern="**", limit=100)["matches"])


@pytest.mark.parametrize(
    "words", [(NASTY,), ("search", "--needle\x1b[2J\u202e\nforged"), ("search", "-m", NASTY), ("daemon", NASTY)]
)
def test_a_wrong_command_line_is_quoted_visibly(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    err = io.StringIO()
    with contextlib.suppress(SystemExit):
        main(list(words), stderr=err)
    said = capsys.readouterr().err + err.getvalue()
    assert "needle" in said
    assert flaws(said) == []


def test_a_progress_bar_shows_a_message_and_obeys_none() -> None:
    terminal = Terminal()
    with ProgressBar(terminal, quiet=False) as bar:
        bar(1, 2, NASTY)
    drawn = terminal.getvalue()
    assert "needle" in drawn
    assert not any(bad in drawn for bad in ("\x1b[31mSTOLEN", "\x1b]8", "\u202e", "\x07", "\x85", "\u200b", "\x1b[2J"))


def test_the_status_of_the_daemon_is_visible() -> None:
    one = {"kind": "mcp", "pid": 7, "folder": NASTY, "since": "now"}
    status = {"pid": 1, "version": "1", "since": "now", "memoryBytes": 1, "home": NASTY, "socket": NASTY, "log": NASTY}
    text = status_text({**status, "idleMinutes": 1, "sessions": [one, one]})
    assert flaws(text) == []
    assert len(text.splitlines()) == 9


# ---------------------------------------------------------------- scripts


async def test_every_answer_over_rest_is_visible_and_exact(hostile: Hostile) -> None:
    app = make_app(hostile.service, str(hostile.root), sessions=hostile.sessions)
    found: list[str] = []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        for tool in ALL_TOOLS:
            for arguments in argument_sets(tool.input_schema()):
                agent = {"user-agent": NASTY.encode().replace(b"\n", b" ").replace(b"\r", b" ")}
                reply = await client.post(f"/tools/{tool.name}", json=arguments, headers=agent)  # type: ignore[arg-type]
                found += flaws(reply.text)
                body = reply.json()
                for sentence in (
                    (body.get("userMessage", ""), body.get("detail", "")) if reply.status_code > 299 else ()
                ):
                    found += flaws(sentence, sentence=True)
        for path in ("/" + "%0aforged%1b[2J%e2%80%ae", "/tools/%0aforged%1b"):
            found += flaws((await client.get(path)).text)
        assert (await client.post("/tools/search_by_path", json={"pattern": "new*"})).json()["matches"] == [
            "new\nline.py"
        ]
    assert sorted(set(found)) == []


# ---------------------------------------------------------------- editors


SENTENCES: dict[str, Callable[[Any], list[str]]] = {
    "window/showMessageRequest": lambda p: [*p["message"].split("\n", 1), *(a["title"] for a in p["actions"])],
    "window/logMessage": lambda p: [p["message"]],
    "$/progress": lambda p: [p["value"].get("title", ""), p["value"].get("message", "")],
    "sidecar/questionClosed": lambda p: [*p["message"].split("\n", 1), p.get("answeredBy", "")],
}
"""Returns the parts that an editor shows unchanged. Everything else is data, which must be exact."""


def editor_of(hostile: Hostile, answer: Callable[[Any], Any]) -> InProcessEditor:
    server = make_lsp(
        SharedService(hostile.service), closes_service=False, sessions=hostile.sessions, question_timeout_s=60
    )
    return InProcessEditor(server, {"window/showMessageRequest": answer})


def rebuild(params: Any) -> Any:
    """Answers yes to a rebuild, so that its progress is shown, and no to everything else."""
    return {"title": "Rebuild"}


async def test_an_editor_is_shown_one_visible_line_each(hostile: Hostile) -> None:
    editor, silent = editor_of(hostile, rebuild), editor_of(hostile, lambda params: NO_ANSWER)
    protocol = editor.server.protocol
    await editor.start(hostile.root, name=NASTY)
    await silent.start(hostile.root, name=NASTY)
    async with agent(hostile, Person()) as client:
        for tool in ("delete_index", "reindex_project"):
            await client.call_tool(tool, {})
        for arguments in ({"query": NASTY[:900]}, {"query": "x", NASTY: NASTY}):
            await client.call_tool("search_code", arguments)
    with ClientLog(protocol.notify, editor.server.hears):
        client_log("sidecar.test", protocol).warning("about %s", NASTY)
        await editor.expect_method("window/logMessage")
    found = flaws_of_activity(await editor.request("sidecar/activity", {}))
    for method, sentences in SENTENCES.items():
        seen = editor.all_of(method) + silent.all_of(method)
        assert seen, method
        found += [flaw for params in seen for s in sentences(params) for flaw in flaws(s, sentence=True)]
    await editor.die()
    await silent.die()
    assert sorted(set(found)) == []


def flaws_of_activity(activity: dict[str, Any]) -> list[str]:
    """Names, queries and messages in the list are for a person; paths and folders are data."""
    names = [session["name"] + session["version"] for session in activity["sessions"]]
    calls = [entry["agent"] + entry["asked"] + (entry.get("message") or "") for entry in activity["entries"]]
    return [flaw for text in (*names, *calls) for flaw in flaws(text, sentence=True)]


async def test_an_editor_is_told_of_a_failure_in_one_visible_line(hostile: Hostile) -> None:
    editor = editor_of(hostile, rebuild)
    await editor.start(hostile.root, name=NASTY)
    found: list[str] = []
    for method in (*(tool.lsp_method for tool in ALL_TOOLS), NASTY):
        for arguments in argument_sets(BY_METHOD[method].input_schema() if method in BY_METHOD else {"properties": {}}):
            try:
                await editor.request(method, arguments)
            except AssertionError as error:
                found += flaws(error.args[0]["message"], sentence=True)
    await editor.die()
    assert sorted(set(found)) == []


async def test_a_question_names_the_client_and_the_folder_in_sixty_characters_each(hostile: Hostile) -> None:
    editor = editor_of(hostile, rebuild)
    await editor.start(hostile.root)
    async with agent(hostile, Person()) as client:
        await client.call_tool("delete_index", {})
    (asked,) = editor.all_of("window/showMessageRequest")
    first = asked["message"].split("\n")[0]
    quoted = re.findall(r'"([^"]*)"', first)
    assert len(quoted) == 2
    assert all(len(part) <= 60 for part in quoted)
    assert re.sub(r'"[^"]*"', "X", first) == "X wants to permanently delete the search index of X."
    await editor.die()


# ---------------------------------------------------------------- logs


def test_a_record_in_a_log_file_is_visible_and_begins_no_second_one(tmp_path: Path) -> None:
    logger = logging.Logger("sidecar.test")
    logger.addHandler(LateFile(tmp_path / "sidecar.log"))
    stamp = "2026-01-01 00:00:00,000 7 WARNING sidecar: forged"
    logger.warning("about %s", NASTY + "\n" + stamp)
    try:
        raise SidecarError(NASTY + "\n" + stamp)
    except SidecarError:
        logger.exception("failed")
    text = (tmp_path / "sidecar.log").read_text()
    assert flaws(text) == []
    assert sum(bool(re.match(r"\d{4}-\d\d-\d\d ", line)) for line in text.splitlines()) == 2


@pytest.mark.process
def test_what_a_library_warns_of_on_standard_error_is_visible(tmp_path: Path) -> None:
    code = (
        "import logging, sys; from sidecar.surfaces.cli.log import log_to_file; log_to_file();"
        "logging.getLogger('mcp').warning('a client sent %s', sys.stdin.read())"
    )
    env = {**os.environ, "SIDECAR_HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-c", code], input=NASTY.encode(), env=env, capture_output=True, check=True)
    assert b"a client sent needle" in done.stderr
    assert flaws(done.stderr.decode()) == []


def test_the_contents_of_these_tests_hold_what_they_look_for() -> None:
    assert flaws(CONTENTS)
    assert flaws(NASTY, sentence=True)
    assert counted(CONTENTS) == 1
