"""A secret in a file: the file is found, and the secret is nowhere in what is stored or shown."""

from __future__ import annotations

import random
import string

import pytest

from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled
from tests.engine.projects import Project, index

pytestmark = pytest.mark.process

SECRET = "".join(random.Random(5).choices(string.ascii_letters + string.digits, k=28))
CLIENT = (
    "class PaymentClient:\n"
    '    """Charges the cards of customers."""\n'
    f'    api_key = "{SECRET}"\n'
    "\n"
    f"    def charge_card(self, amount, key='{SECRET}'):\n"
    "        return self.post(amount)\n"
)


def kept(project: Project) -> bytes:
    return b"".join(path.read_bytes() for path in project.home.rglob("*") if path.is_file())


def test_a_file_with_a_secret_in_it_is_found_without_it(project: Project) -> None:
    project.write("src/payment.py", CLIENT)
    workspace = project.open()
    report = index(workspace)
    assert (report.withheld, report.masked) == (0, 2)
    answer = workspace.search(SearchRequest("charge the card of a customer", explain=True), never_cancelled)
    hit = answer.hits[0]
    assert hit.path == "src/payment.py"
    assert hit.content.split("\n")[2 - hit.start_line + 1] == f'    api_key = "{"*" * len(SECRET)}"'
    assert SECRET not in repr(answer)
    assert SECRET not in repr(workspace.find_symbols("charge_card", (), 10))
    assert SECRET.encode() not in kept(project)
    assert SECRET.lower().encode() not in kept(project)


def test_status_and_explain_say_what_is_hidden_and_where(project: Project) -> None:
    project.write("src/payment.py", CLIENT)
    workspace = project.open()
    index(workspace)
    assert workspace.status().masked == (("src/payment.py", 2),)
    explained = workspace.explain("src/payment.py")
    assert explained.decision.indexed
    assert explained.decision.detail.startswith(
        "2 values hidden in the index: line 3: a password or key in plain text, line 5: "
    )
    assert (explained.in_index, explained.stale) == (True, False)


def test_a_secret_that_an_editor_holds_unsaved_is_hidden_too(project: Project) -> None:
    project.write("src/payment.py", CLIENT.replace(SECRET, ""))
    workspace = project.open()
    index(workspace)
    workspace.set_buffer("src/payment.py", CLIENT)
    answer = workspace.search(SearchRequest("charge the card of a customer"), never_cancelled)
    assert answer.hits[0].path == "src/payment.py"
    assert "*" * len(SECRET) in answer.hits[0].content
    assert SECRET not in repr(answer)
    assert SECRET.encode() not in kept(project)


def test_once_the_secret_is_gone_nothing_is_hidden(project: Project) -> None:
    project.write("src/payment.py", CLIENT)
    workspace = project.open()
    index(workspace)
    project.write("src/payment.py", CLIENT.replace(SECRET, ""))

    assert index(workspace).masked == 0
    assert workspace.status().masked == ()
    assert workspace.explain("src/payment.py").decision.detail == ""


def test_a_file_of_many_secrets_is_withheld_as_a_whole(project: Project) -> None:
    lines = [f"TOKEN_{i} = '7{SECRET[i:]}{SECRET[:i]}'" for i in range(9)]
    project.write("src/many.py", "\n".join(lines))
    workspace = project.open()
    assert index(workspace).withheld == 1
    (withheld,) = workspace.status().withheld
    assert withheld.decision.detail.startswith("9 secrets, the first on line 1: ")
