"""No door shows a secret in an indexed file, a sentence says so, and the file is not changed."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from mcp import Client
from mcp.types import Implementation

from sidecar.surfaces.cli.main import main
from sidecar.surfaces.http.app import make_app
from sidecar.surfaces.lsp.server import SharedService
from sidecar.surfaces.lsp.server import make_server as make_lsp
from sidecar.surfaces.mcp.server import make_server as make_mcp
from sidecar.tools.assemble import make_service
from sidecar.tools.refresh import REFRESH
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions
from tests.surfaces.lsp_in_process import InProcessEditor

PLAIN, TYPED = "swordfish", "letmein77"
TOKEN = "ghp_" + "aZ3kQ9xL2mT7vB1nC5dF8gH4jK6pR0sWyE2u"
KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
SECRETS = (PLAIN, TYPED, TOKEN, KEY)
FILES = {
    "config/database.yaml": f"database:\n  host: db.internal\n  password: {PLAIN}  # of the database\n  pool: 5\n",
    "deploy.sh": f"#!/bin/sh\nGITHUB_TOKEN={TOKEN}\ndeploy_to_production $GITHUB_TOKEN\n",
    "src/connect.py": f'def connect_to_database(password="{TYPED}"):\n    return open_pool(password, database=5)\n',
    "keys/server.txt": f"-----BEGIN PRIVATE KEY-----\n{KEY}\n{KEY[::-1]}\n-----END PRIVATE KEY-----\n",
    "guide.md": f"# Database\n\nThe password of the database: ask for it. `curl -u admin:{TYPED}x9 https://db.internal`\n",
    "src/twin.py": "def connect_to_store(database):\n    return open_pool(database, 5)\n",
}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_code", {"query": "database password"}),
    ("search_code", {"query": "database password", "explain": True}),
    ("search_code", {"query": f"database {PLAIN} {TYPED}", "mode": "fts", "compact": True}),
    ("search_code", {"query": "deploy token", "queries": ["database password"]}),
    ("search_docs", {"query": "database password", "mode": "fts"}),
    ("search_query", {"query": "database password", "threshold": 0}),
    ("search_symbols", {"name": "connect_to_database"}),
    ("find_similar", {"path": "src/twin.py", "line": 1}),
)


class House(NamedTuple):
    root: Path
    service: Service


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    root = folder / "project"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    service = make_service(env={"SIDECAR_HOME": str(folder / "home"), "HOME": str(folder)}, toolsets="all")
    service.call(REFRESH, {}, workspace=str(root))
    yield House(root, service)
    service.close()


def shows_none(text: str) -> bool:
    return not any(secret in text for secret in SECRETS)


@pytest.mark.process
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_no_door_shows_a_secret(house: House, tool: str, arguments: dict[str, Any]) -> None:
    shown: list[str] = []
    agent = Implementation(name="agent", version="1")
    async with Client(make_mcp(house.service, str(house.root)), mode="legacy", client_info=agent) as client:
        result = await client.call_tool(tool, arguments)
        shown += [result.content[0].text, json.dumps(result.structured_content)]  # type: ignore[union-attr]
    app = make_app(house.service, str(house.root), sessions=Sessions())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as rest:
        shown.append((await rest.post(f"/tools/{tool}", json=arguments)).text)
    editor = InProcessEditor(make_lsp(SharedService(house.service), closes_service=False, sessions=Sessions()), {})
    await editor.start(house.root)
    shown.append(json.dumps(await editor.request(house.service.tool(tool).lsp_method, arguments)))
    await editor.die()
    out = io.StringIO()
    main(
        ["-w", str(house.root), "call", tool, json.dumps(arguments)],
        service=house.service,
        stdin=io.StringIO(),
        stdout=out,
        stderr=out,
    )
    asked = str(arguments.get("query"))
    for text in (*shown, out.getvalue()):
        answer = text.replace(json.dumps(asked), "")
        assert shows_none(answer), answer
        assert "****" in text
        assert "What looks like a secret is shown as asterisks, in" in text


def found(house: House, query: str) -> dict[str, Any]:
    done: Any = house.service.call("search_code", {"query": query}, workspace=str(house.root))
    return dict(done.value)


@pytest.mark.process
def test_the_sentence_names_the_files_and_stands_only_where_something_is_hidden(house: House) -> None:
    notice = found(house, "database password")["notice"]
    assert all(f'"{path}"' in notice for path in ("config/database.yaml", "src/connect.py"))
    assert "twin" not in notice
    done: Any = house.service.call(
        "search_code", {"query": "store", "paths": ["src/twin.py"]}, workspace=str(house.root)
    )
    assert "asterisks" not in (done.value.get("notice") or "")


@pytest.mark.process
def test_lines_and_columns_are_those_of_the_file_which_stays_as_it_is(house: House) -> None:
    (row,) = [row for row in found(house, "database password")["results"] if row["path"] == "config/database.yaml"]
    text = FILES["config/database.yaml"]
    assert row["content"] == text.rstrip("\n").replace(PLAIN, "*" * len(PLAIN))
    assert {path: (house.root / path).read_text() for path in FILES} == FILES
