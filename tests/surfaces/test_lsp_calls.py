"""Tools over LSP: requests, commands, errors, folders, questions, progress, cancellation. On real pipes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import until
from tests.surfaces.lsp_client import EDITOR, FAKE_SERVER, NO_ANSWER, UNKNOWN_METHOD, Failed, LspClient, TcpServer


def answering(title: str) -> dict[str, Callable[[Any], Any]]:
    return {"window/showMessageRequest": lambda params: next(a for a in params["actions"] if a["title"] == title)}


def accepting() -> dict[str, Callable[[Any], Any]]:
    return {"window/showMessageRequest": lambda params: params["actions"][0]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "one"
    root.mkdir()
    (root / "parse.py").write_text("def parse_header(line):\n    return line.split(':')\n")
    (root / "README.md").write_text("# Headers\n\nHow a header is parsed.\n")
    return root


@pytest.fixture
def second(tmp_path: Path) -> Path:
    root = tmp_path / "two words"
    root.mkdir()
    (root / "send.py").write_text("def send(line):\n    return 1\n")
    return root


@pytest.fixture(scope="module")
def server() -> Iterator[TcpServer]:
    """One process for all tests; each test has its own session and folders."""
    with TcpServer() as server:
        yield server


@pytest.fixture
def client(server: TcpServer) -> Iterator[LspClient]:
    with LspClient(connect=server.address, on_request=accepting()) as client:
        yield client


def test_a_search_is_answered_with_the_tools_own_result(client: LspClient, folder: Path) -> None:
    client.start(folder)
    assert client.request("sidecar/createIndex")["status"] == "created"
    result = client.request("sidecar/searchCode", {"query": "parse header"})
    assert result["results"][0]["path"] == "parse.py"
    assert result["query"] == "parse header"
    assert "workspace" not in result["results"][0]
    assert client.request("sidecar/searchByPath", {"pattern": "*.py"})["matches"] == ["parse.py"]
    assert client.request("sidecar/getIndexStatus")["status"] == "ready"
    assert client.stop() == 0


def test_every_tool_is_announced_as_a_request_and_as_a_command(client: LspClient, folder: Path) -> None:
    capabilities = client.start(folder)["capabilities"]
    assert "sidecar/searchCode" in capabilities["experimental"]["sidecar"]["requests"]
    assert "search_code" in capabilities["executeCommandProvider"]["commands"]
    client.request("workspace/executeCommand", {"command": "create_index"})
    for command in ("search_code", "sidecar.searchCode", "sidecar/searchCode", "sidecar.search_code"):
        result = client.request("workspace/executeCommand", {"command": command, "arguments": [{"query": "parse"}]})
        assert result["totalResults"] == 1


def test_an_editor_asks_for_a_snapshot_by_a_request_that_is_no_tool(client: LspClient, folder: Path) -> None:
    capabilities = client.start(folder)["capabilities"]
    assert "sidecar/findSnapshot" in capabilities["experimental"]["sidecar"]["requests"]
    assert "find_snapshot" not in capabilities["executeCommandProvider"]["commands"]
    assert client.request("sidecar/findSnapshot") == {}
    assert client.request("sidecar/activity", {})["entries"] == []


def test_an_editor_makes_an_index_without_a_snapshot_by_a_request_that_is_no_tool(
    client: LspClient, folder: Path
) -> None:
    capabilities = client.start(folder)["capabilities"]
    assert "sidecar/indexHere" in capabilities["experimental"]["sidecar"]["requests"]
    assert "index_here" not in capabilities["executeCommandProvider"]["commands"]
    assert client.request("sidecar/indexHere")["status"] == "created"


def test_a_command_with_wrong_arguments_is_refused(client: LspClient, folder: Path) -> None:
    client.start(folder)
    wrong: list[Any] = [
        {"command": "search_code", "arguments": [{}, {}]},
        {"command": "search_code", "arguments": ["parse"]},
        {"command": "search_code", "arguments": {"query": "x"}},
        {"command": 5},
        {},
    ]
    for params in wrong:
        with pytest.raises(Failed) as failed:
            client.request("workspace/executeCommand", params)
        assert (failed.value.number, failed.value.body["code"]) == (-32602, "INVALID_PARAMS")
    with pytest.raises(Failed) as failed:
        client.request("workspace/executeCommand", {"command": "serch_code"})
    assert failed.value.number == -32601
    assert "search_code" in failed.value.message


def test_each_kind_of_failure_has_its_number_and_its_code(client: LspClient, folder: Path) -> None:
    client.start(folder)
    expected = [
        ("sidecar/searchCode", {"query": "x"}, -32010, "INDEX_NOT_FOUND"),
        ("sidecar/searchCode", {}, -32602, "INVALID_QUERY"),
        ("sidecar/searchCode", {"query": " "}, -32602, "INVALID_QUERY"),
        ("sidecar/searchCode", {"query": "x", "top_k": 51}, -32602, "INVALID_PARAMS"),
        ("sidecar/searchCode", {"query": "x", "workDoneToken": {}}, -32602, "INVALID_PARAMS"),
        ("sidecar/searchCode", {"query": "x", "workspace": 5}, -32010, "WORKSPACE_NOT_FOUND"),
        ("sidecar/searchCode", {"query": "x", "workspace": "relative/path"}, -32010, "WORKSPACE_NOT_FOUND"),
        ("sidecar/searchCode", {"query": "x", "workspace": "untitled:Untitled-1"}, -32010, "WORKSPACE_NOT_FOUND"),
        ("sidecar/searchCode", {"query": "x", "workspace": "/no/such/folder"}, -32010, "WORKSPACE_NOT_FOUND"),
        ("sidecar/searchCode", ["x"], -32602, "INVALID_PARAMS"),
        ("sidecar/noSuchTool", {}, -32601, "UNKNOWN_TOOL"),
    ]
    for method, params, number, code in expected:
        with pytest.raises(Failed) as failed:
            client.request(method, params)
        assert (failed.value.number, failed.value.body["code"]) == (number, code), (method, params)
        assert failed.value.body["userMessage"]


def test_keys_that_are_no_identifiers_reach_the_tool_as_they_are(client: LspClient, folder: Path) -> None:
    client.start(folder)
    for key in ("class", "with-dash", "_x", "type_name", "jsonrpc"):
        with pytest.raises(Failed) as failed:
            client.request("sidecar/searchCode", {"query": "x", key: {"jsonrpc": "2.0", "id": 1, "method": "exit"}})
        assert failed.value.body["code"] == "INVALID_PARAMS"
        assert key in failed.value.message


def test_what_is_no_error_of_ours_is_answered_without_a_traceback(client: LspClient, folder: Path) -> None:
    (folder / "BROKEN").touch()
    client.start(folder)
    with pytest.raises(Failed) as failed:
        client.request("sidecar/searchCode", {"query": "x"})
    assert (failed.value.number, failed.value.body["code"]) == (-32603, "INTERNAL")
    body = json.dumps(failed.value.body) + failed.value.message
    assert "Traceback" not in body and "File " not in body and "secret" not in body
    incident = failed.value.body["facts"]["incident"]
    client.expect_method("window/logMessage", lambda params: incident in params["message"])
    assert client.all_of("window/showMessage") == []


# -------------------------------------------------------------------- folders


def test_a_search_covers_all_folders_and_says_where_each_result_lies(
    client: LspClient, folder: Path, second: Path
) -> None:
    client.start(folder, second)
    for place in (folder.as_uri(), str(second)):
        assert client.request("sidecar/createIndex", {"workspace": place})["status"] == "created"
    result = client.request("sidecar/searchCode", {"query": "line header"})
    found = [(row["workspace"], row["path"], row["score"]) for row in result["results"]]
    assert found == [(str(folder), "parse.py", 1.0), (str(second), "send.py", 0.5)]
    assert result["totalResults"] == 2
    page = client.request("sidecar/searchCode", {"query": "line header", "offset": 1, "top_k": 1})
    assert [row["path"] for row in page["results"]] == ["send.py"]
    compact = client.request("sidecar/searchCode", {"query": "line header", "compact": True, "top_k": 1})
    assert [(row["w"], row["l"]) for row in compact["r"]] == [(str(folder), "parse.py:1-2")]
    assert compact["n"] == 1
    for form, rows in (("results", "further"), ("r", "f")):
        several = client.request(
            "sidecar/searchCode", {"query": "line", "queries": ["line header", "header"], "compact": form == "r"}
        )
        assert [len(answer[form]) for answer in several[rows]] == [2, 1]
    paths = client.request("sidecar/searchByPath", {"pattern": "*.py"})
    assert (paths["matches"], paths["workspaces"]) == (["parse.py", "send.py"], [str(folder), str(second)])
    letters = client.request("sidecar/searchByPath", {"pattern": "snd", "fuzzy": True})
    assert (letters["matches"], letters["workspaces"]) == (["send.py"], [str(second)])
    assert len(letters["scores"]) == 1
    chosen = client.request("sidecar/searchCode", {"query": "line", "workspace": second.as_uri()})
    assert [row["path"] for row in chosen["results"]] == ["send.py"]
    some = client.request("sidecar/searchCode", {"query": "line", "workspaces": [str(second)]})
    assert [(row["workspace"], row["path"]) for row in some["results"]] == [(str(second), "send.py")]


def test_folders_without_an_index_do_not_spoil_the_others(client: LspClient, folder: Path, second: Path) -> None:
    client.start(folder, second)
    with pytest.raises(Failed) as failed:
        client.request("sidecar/searchCode", {"query": "line"})
    assert failed.value.body["code"] == "INDEX_NOT_FOUND"
    client.request("sidecar/createIndex", {"workspace": str(second)})
    assert [row["path"] for row in client.request("sidecar/searchCode", {"query": "line"})["results"]] == ["send.py"]
    with pytest.raises(Failed) as failed:
        client.request("sidecar/searchCode", {"query": "line", "top_k": 0})
    assert failed.value.body["code"] == "INVALID_PARAMS"


def test_folders_come_and_go(client: LspClient, folder: Path, second: Path) -> None:
    client.start(folder)
    event = {"added": [{"uri": second.as_uri(), "name": "b"}], "removed": [{"uri": folder.as_uri(), "name": "a"}]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert client.request("sidecar/getIndexStatus")["projectPath"] == str(second)
    assert client.expect_method("sidecar/status", lambda p: p["workspace"] == str(second))["status"] == "not_found"


def test_without_folders_the_root_counts_and_without_a_root_calls_say_what_to_do(
    server: TcpServer, folder: Path
) -> None:
    roots: list[dict[str, Any]] = [{"rootUri": folder.as_uri()}, {"rootPath": str(folder)}]
    for params in roots:
        with LspClient(connect=server.address) as client:
            client.start(**params, workspaceFolders=None)
            assert client.request("sidecar/getIndexStatus")["projectPath"] == str(folder)
    with LspClient(connect=server.address) as client:
        client.start()
        with pytest.raises(Failed) as failed:
            client.request("sidecar/searchCode", {"query": "x"})
        assert failed.value.body["code"] == "WORKSPACE_NOT_FOUND"
        assert "Open one" in failed.value.message
        assert client.request("sidecar/getIndexStatus", {"workspace": str(folder)})["status"] == "not_found"


# -------------------------------------------------------------------- questions


def test_ones_own_question_is_in_sidecars_words_and_is_a_warning_when_it_destroys(
    client: LspClient, folder: Path
) -> None:
    client.start(folder)
    client.request("sidecar/createIndex")
    assert client.request("sidecar/deleteIndex")["status"] == "deleted"
    create, delete = client.all_of("window/showMessageRequest")
    assert (create["type"], delete["type"]) == (3, 2)
    assert delete["message"].startswith('Delete the search index of "one"?')
    assert "Test Editor" not in delete["message"]
    assert len({action["title"] for action in delete["actions"]}) == 2


@pytest.mark.parametrize("answer", [None, {"title": "what is that"}, "nonsense"])
def test_dismissing_a_question_is_a_no(server: TcpServer, folder: Path, answer: Any) -> None:
    with LspClient(connect=server.address, on_request={"window/showMessageRequest": lambda params: answer}) as client:
        client.start(folder)
        assert client.request("sidecar/createIndex")["status"] == "cancelled"


def test_declining_a_question_is_a_no(server: TcpServer, folder: Path) -> None:
    with LspClient(
        connect=server.address, on_request={"window/showMessageRequest": lambda params: params["actions"][1]}
    ) as client:
        client.start(folder)
        assert client.request("sidecar/createIndex")["status"] == "cancelled"


@pytest.mark.process
def test_an_unanswered_question_times_out_as_a_no_and_a_late_answer_makes_no_noise(folder: Path) -> None:
    command = [*FAKE_SERVER, "--question-timeout", "0.05"]
    with LspClient(command, on_request={"window/showMessageRequest": lambda params: NO_ANSWER}) as client:
        client.start(folder)
        assert client.request("sidecar/createIndex")["status"] == "cancelled"
        asked = client.expect(lambda message: message.get("method") == "window/showMessageRequest")
        assert client.expect_method("$/cancelRequest")["id"] == asked["id"]
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": asked["params"]["actions"][0]})
        client.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32800, "message": "withdrawn"}})
        assert client.request("sidecar/getIndexStatus")["status"] == "not_found"
        assert client.all_of("window/logMessage") == client.all_of("window/showMessage") == []
        assert client.stop() == 0
        assert client.stderr() == "the engine is closed\n"


def test_other_requests_are_answered_while_a_question_is_open(server: TcpServer, folder: Path) -> None:
    with LspClient(
        connect=server.address, on_request={"window/showMessageRequest": lambda params: NO_ANSWER}
    ) as client:
        client.start(folder)
        waiting = client.send_request("sidecar/createIndex")
        asked = client.expect(lambda message: message.get("method") == "window/showMessageRequest")
        assert client.request("sidecar/getIndexStatus")["status"] == "not_found"
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": asked["params"]["actions"][0]})
        assert client.answer_to(waiting)["status"] == "created"


@pytest.mark.parametrize("capabilities", [{}, None, {"window": {"showMessage": None}}, {"window": 5}])
def test_without_any_capability_the_index_is_made_and_nothing_is_deleted(
    server: TcpServer, folder: Path, capabilities: Any
) -> None:
    with LspClient(connect=server.address) as client:
        client.start(folder, capabilities=capabilities)
        assert client.request("sidecar/createIndex")["status"] == "created"
        assert client.request("sidecar/reindexProject")["status"] == "reindexed"
        assert client.request("sidecar/deleteIndex")["status"] == "cancelled"
        assert client.all_of("window/showMessageRequest") == client.all_of("$/progress") == []
        assert client.stop() == 0


def test_a_client_that_cannot_show_a_question_after_all_counts_as_nobody(server: TcpServer, folder: Path) -> None:
    refusing = {"window/showMessageRequest": lambda params: UNKNOWN_METHOD}
    with LspClient(connect=server.address, on_request=refusing) as client:
        client.start(folder)
        assert client.request("sidecar/createIndex")["status"] == "created"
        assert client.request("sidecar/deleteIndex")["status"] == "cancelled"


@pytest.mark.process
def test_the_editors_settings_are_the_services(folder: Path) -> None:
    with LspClient() as client:
        client.start(folder, initializationOptions={"confirm": "never"})
        assert client.request("sidecar/createIndex")["status"] == "created"
        assert client.request("sidecar/deleteIndex")["status"] == "deleted"
        assert client.all_of("window/showMessageRequest") == []


# -------------------------------------------------------------------- progress, cancellation, status


def kinds(client: LspClient, token: Any) -> list[str]:
    return [params["value"]["kind"] for params in client.all_of("$/progress") if params["token"] == token]


def test_work_is_reported_under_the_clients_token(client: LspClient, folder: Path) -> None:
    client.start(folder)
    client.request("sidecar/createIndex", {"workDoneToken": "mine"})
    assert client.all_of("window/workDoneProgress/create") == []
    reported = kinds(client, "mine")
    assert (reported[0], reported[-1]) == ("begin", "end") and "report" in reported
    percentages = [p["value"].get("percentage", 0) for p in client.all_of("$/progress")]
    assert percentages[:-1] == sorted(percentages[:-1])


def test_work_is_reported_under_a_token_that_the_client_makes_for_us(client: LspClient, folder: Path) -> None:
    client.start(folder)
    client.request("sidecar/createIndex")
    token = client.expect_method("window/workDoneProgress/create")["token"]
    reported = kinds(client, token)
    assert (reported[0], reported[-1]) == ("begin", "end")


def test_a_search_reports_no_progress_unless_asked_to(client: LspClient, folder: Path) -> None:
    client.start(folder)
    client.request("sidecar/createIndex", {"workDoneToken": 1})
    client.request("sidecar/searchCode", {"query": "parse"})
    client.request("sidecar/searchCode", {"query": "parse", "workDoneToken": 2})
    assert kinds(client, 2) == ["begin", "end"]
    assert {params["token"] for params in client.all_of("$/progress")} == {1, 2}


def test_a_client_may_cancel_a_request(client: LspClient, folder: Path) -> None:
    (folder / "ENDLESS").touch()
    client.start(folder)
    running = client.send_request("sidecar/createIndex", {"workDoneToken": "t"})
    client.expect_method("$/progress", lambda params: params["value"]["kind"] == "report")
    client.notify("$/cancelRequest", {"id": running})
    with pytest.raises(Failed) as failed:
        client.answer_to(running)
    assert (failed.value.number, failed.value.body["code"]) == (-32800, "CANCELLED")
    assert kinds(client, "t")[-1] == "end"
    client.notify("$/cancelRequest", {"id": "no such"})
    client.notify("$/cancelRequest", {"id": ["odd"]})
    client.notify("$/cancelRequest")
    # Writers of a workspace run one after another, so the first has ended; another thread reports that.
    (folder / "ENDLESS").unlink()
    assert client.request("sidecar/createIndex")["status"] == "created"
    until((folder / "STAYS").exists)


@pytest.mark.process
def test_an_editor_that_leaves_has_cancelled_nothing_for_good(folder: Path) -> None:
    (folder / "ENDLESS").touch()
    with LspClient(FAKE_SERVER, on_request=accepting()) as client:
        client.start(folder)
        client.send_request("sidecar/createIndex", {"workDoneToken": "t"})
        client.expect_method("$/progress", lambda params: params["value"]["kind"] == "report")
        client.request("shutdown")
        client.notify("exit")
        assert client.wait() == 0
    assert not (folder / "STAYS").exists()


def test_a_user_may_cancel_the_progress_bar(client: LspClient, folder: Path) -> None:
    (folder / "ENDLESS").touch()
    client.start(folder)
    running = client.send_request("workspace/executeCommand", {"command": "create_index"})
    token = client.expect_method("$/progress", lambda params: params["value"]["kind"] == "report")["token"]
    client.notify("window/workDoneProgress/cancel", {"token": "another"})
    client.notify("window/workDoneProgress/cancel", {"token": token})
    with pytest.raises(Failed) as failed:
        client.answer_to(running)
    assert failed.value.number == -32800


def test_requests_are_answered_while_an_index_is_made(client: LspClient, folder: Path) -> None:
    (folder / "ENDLESS").touch()
    client.start(folder)
    running = client.send_request("sidecar/createIndex", {"workDoneToken": "t"})
    client.expect_method("$/progress", lambda params: params["value"]["kind"] == "report")
    for _ in range(20):
        assert client.request("sidecar/getIndexStatus")["projectPath"] == str(folder)
    assert client.stop() == 0
    with pytest.raises(Failed) as failed:
        client.answer_to(running)
    assert failed.value.number == -32800


def test_status_is_sent_at_the_start_and_at_every_change(client: LspClient, folder: Path) -> None:
    client.start(folder)
    first = client.expect_method("sidecar/status")
    assert (first["workspace"], first["uri"], first["status"]) == (str(folder), folder.as_uri(), "not_found")
    client.request("sidecar/createIndex")
    ready = client.expect_method("sidecar/status", lambda params: params["status"] == "ready")
    assert {**ready} == {**client.request("sidecar/getIndexStatus"), "workspace": str(folder), "uri": folder.as_uri()}
    client.request("sidecar/deleteIndex")
    client.expect(lambda m: m.get("method") == "sidecar/status" and m["params"]["status"] == "not_found")


def test_a_folder_that_is_gone_is_logged_and_the_others_are_served(
    client: LspClient, folder: Path, tmp_path: Path
) -> None:
    client.start(folder, tmp_path / "gone", capabilities=EDITOR)
    logged = client.expect_method("window/logMessage")
    assert logged["type"] == 2 and "gone" in logged["message"]
    client.request("sidecar/createIndex")
    assert client.request("sidecar/searchCode", {"query": "parse"})["totalResults"] == 1


def test_a_wrong_setting_of_the_editor_is_named_in_the_log(client: LspClient, folder: Path) -> None:
    client.start(folder, initializationOptions={"indexingStrategy": "perhaps", "maxFiles": 100})
    message = client.expect_method("window/logMessage")
    assert message["type"] == 2 and "indexingStrategy" in message["message"] and "realtime" in message["message"]
    assert client.request("sidecar/getIndexStatus")["status"] == "not_found"
