"""How the command line answers mistakes: it says what was probably meant or what is missing; with `--json`, as one
object."""

from __future__ import annotations

import errno
import io
import json
import os
from typing import Any

import pytest

from sidecar.errors import IndexLocked
from sidecar.surfaces.cli.main import Doors, main
from sidecar.surfaces.cli.options import COMMANDS
from sidecar.tools.registry import ALL_TOOLS
from sidecar.tools.service import Service
from tests.fakes import FakeWorkspace, FakeWorkspaces

MISTAKES = """\
serch alpha;idnex;xyzzy;;--jsno;-w;status extra;search --nonsense;search;docs;paths;explain;search index;search query
call;daemon;daemon staus;models sho;models show;models show nope;call nope;call search_code {;search -k many x
search index x --format xml;mcp;serve;daemon status;serve --port x;--tcp x;reindex nowhere.py;reindex ../x;paths [a
delete;paths ../x;docs -m x y;search query --limit 0 x;memory;memory gett x;memory get;memory get nope;memory save x
documents;documents list -i nope;documents drop nope;documents delete nope;documents create
documents create x --tokenizer-config nonsense;documents add x y --metadata 1
similar;similar a.py;similar a.py:0;symbols"""


def run(*argv: str, workspace: FakeWorkspace | None = None) -> tuple[int, str, str]:
    """Returns exit status, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    service = Service(FakeWorkspaces(workspace or FakeWorkspace({})), tools=ALL_TOOLS)
    status = main(argv, service=service, stdin=io.StringIO(), stdout=out, stderr=err)
    return status, out.getvalue(), err.getvalue()


def error(stderr: str) -> dict[str, Any]:
    """Returns the only object on standard error."""
    answer = json.loads(stderr)
    assert list(answer) == ["error"]
    body: dict[str, Any] = answer["error"]
    return body


@pytest.mark.parametrize("typed", MISTAKES.replace("\n", ";").split(";"))
def test_with_json_every_mistake_is_one_object_with_code_message_and_advice(typed: str) -> None:
    plain, _, _ = run(*typed.split())
    status, out, err = run("--json", *typed.split())
    assert status == plain != 0
    assert out == ""
    answer = error(err)
    assert answer["code"].isupper()
    assert answer["userMessage"]
    assert answer["detail"]


WITHOUT_THE_INDEX = ("daemon", "mcp", "serve", "memory", "documents")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name.split()[0] not in WITHOUT_THE_INDEX])
def test_with_json_a_failure_inside_a_command_is_one_object_too(command: str) -> None:
    status, out, err = run(*command.split(), "--json", "x", workspace=FakeWorkspace(broken=IndexLocked("Process 7.")))
    assert status in (1, 2, 4)
    if status != 1:
        assert out == ""
        assert error(err)["code"] in ("INDEX_LOCKED", "INVALID_PARAMS", "UNKNOWN_TOOL")


DENIED = PermissionError(errno.EACCES, "Permission denied", "/data/of/root")


def test_a_data_folder_of_another_user_is_a_refusal_that_says_what_to_do() -> None:
    status, out, err = run("status", workspace=FakeWorkspace(broken=DENIED))
    assert (status, out) == (8, "")
    assert err.startswith('sidecar: Permission denied. "/data/of/root" cannot be opened: Permission denied. ')
    assert err.endswith("set SIDECAR_HOME to another folder. [PERMISSION_DENIED]\n")


def test_a_data_folder_of_another_user_is_a_refusal_outside_of_the_tools_too() -> None:
    def refuses(*_: object) -> int:
        raise DENIED

    err = io.StringIO()
    doors = Doors(refuses, refuses, refuses, refuses)
    service = Service(FakeWorkspaces(FakeWorkspace({})), tools=ALL_TOOLS)
    assert main(["--stdio"], service=service, doors=doors, stdout=io.StringIO(), stderr=err) == 8
    assert '"/data/of/root" cannot be opened' in err.getvalue()


class _Refusing(io.StringIO):
    """A standard output that takes nothing, for the reason given."""

    def __init__(self, reason: int) -> None:
        super().__init__()
        self.reason = reason

    def write(self, text: str) -> int:
        raise OSError(self.reason, os.strerror(self.reason))

    def flush(self) -> None:
        self.write("")


@pytest.mark.parametrize(("reason", "code"), [(errno.ENOSPC, "DISK_FULL"), (errno.EIO, "PERMISSION_DENIED")])
@pytest.mark.parametrize("command", ["status", "completion bash", "symbols parse", "models"])
def test_a_result_that_standard_output_does_not_take_is_an_error_with_a_reason(
    command: str, reason: int, code: str
) -> None:
    service, err = Service(FakeWorkspaces(FakeWorkspace({"a.py": "def parse(): 1\n"})), tools=ALL_TOOLS), io.StringIO()
    main(["index", "-q"], service=service, stdout=io.StringIO(), stderr=io.StringIO())
    assert main([*command.split(), "--json"], service=service, stdout=_Refusing(reason), stderr=err) == 8
    assert error(err.getvalue())["code"] == code
    assert "standard output" in error(err.getvalue())["detail"]


def test_with_json_an_error_of_our_own_is_one_object_too() -> None:
    broken = FakeWorkspace(broken=RuntimeError("the cable is loose"))
    status, out, err = run("status", "--json", workspace=broken)
    assert (status, out, error(err)["code"]) == (1, "", "INTERNAL")


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["serch", "alpha"], "search"),
        (["-q", "reidnex"], "reindex"),
        (["stauts"], "status"),
        (["search", "alpha", "--quite"], "--quiet"),
        (["search", "alpha", "--topk=3"], "--top-k"),
        (["--stidio"], "--stdio"),
        (["daemon", "staus"], "status"),
        (["models", "downlaod", "x"], "download"),
        (["search", "index", "x", "--fromat", "json"], "--format"),
        (["search", "index", "x", "--format", "jsn"], "json"),
        (["memry", "list"], "memory"),
        (["document", "list"], "documents"),
    ],
)
def test_what_was_mistyped_is_asked_back(argv: list[str], meant: str) -> None:
    status, _, err = run(*argv)
    assert status == 2
    assert err.endswith(f"; did you mean {meant}?\n")


def test_what_resembles_nothing_is_told_where_the_list_is() -> None:
    assert run("xyzzy")[2] == 'sidecar: error: "xyzzy" is no command; sidecar -h lists them all.\n'
    assert run("status", "extra")[2].endswith("; sidecar status -h lists what it takes.\n")
    _, _, err = run("memory", "frobnicate")
    assert err.startswith('sidecar: error: "memory frobnicate" is no command; sidecar memory needs one of: save, ')


@pytest.mark.parametrize(
    ("argv", "needed"),
    [
        (["search"], "WORDS, for example: sidecar search where are retries with backoff done"),
        (["docs"], "WORDS, for example: sidecar docs how to configure logging"),
        (["paths"], "GLOB, for example: sidecar paths '**/*.ts'"),
        (["search", "query"], "QUERY, for example: sidecar search query 'error handling' --limit 5"),
    ],
)
def test_a_command_without_its_words_says_what_it_needs_as_its_manual_does(argv: list[str], needed: str) -> None:
    status, _, err = run(*argv)
    assert status == 2
    assert f"sidecar {' '.join(argv)} needs {needed} [" in err
