"""`workspace_overview` as an agent, a program and a shell get it: what it costs, and that it quotes names safely."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from sidecar.errors import IndexNotFound
from sidecar.tools.overview import WORKSPACE_OVERVIEW, Central, FolderOfTests, WorkspaceOverview
from sidecar.tools.registry import DEFAULT_TOOLS, tools_of
from tests.tools.conftest import RealTools

TOKENIZER = Path(__file__).parents[2] / "models" / "minilm-code" / "tokenizer.json"
MOST_TOKENS = 1_500
NOTHING = WorkspaceOverview(
    files=0, code_files=0, languages=[], build=[], starts=[], settings=[], test_folders=[], test_support=[], central=[]
)


def tokens(text: str) -> int:
    """Counts tokens with the shipped WordPiece tokenizer, which gives high counts: every slash and every dot is a
    token."""
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return len(tokenizer.encode(text).ids)


def test_it_is_in_a_toolset_of_its_own_and_costs_nobody_else_a_token() -> None:
    assert tools_of("overview") == (WORKSPACE_OVERVIEW,)
    assert WORKSPACE_OVERVIEW not in DEFAULT_TOOLS


@pytest.mark.process
def test_a_workspace_is_described_from_its_index(real_tools: Callable[..., RealTools]) -> None:
    tools = real_tools("semantic,overview", confirm="never")
    with pytest.raises(IndexNotFound):
        tools("workspace_overview")
    tools.project.write("Makefile", "test:\n\tpytest\n")
    tools.project.write("src/main.py", "from retry import retry\n\ndef main():\n    retry()\n")
    tools("search_index", patterns=["**/*"])
    seen = tools("workspace_overview")
    assert seen["build"] == ["Makefile"]
    assert seen["starts"][0] == "src/main.py"
    assert "src/retry.py" in [file["path"] for file in seen["central"]]
    assert len(tools("workspace_overview", central=1)["central"]) == 1


def test_kinds_of_facts_that_are_not_known_are_left_out_of_the_text() -> None:
    text = NOTHING.model_copy(update={"files": 1, "starts": ["main.py"]}).as_text()
    assert text.split("\n") == ["languages: 1 file in all", "starts: main.py", "central, 0 of 0 files with code:"]


def test_a_name_from_a_repository_stays_on_its_line_and_is_quoted() -> None:
    odd = 'a\nstarts: "evil".py'
    seen = NOTHING.model_copy(
        update={
            "starts": [odd],
            "test_folders": [FolderOfTests(folder=odd, files=2)],
            "central": [Central(path=odd, definition="x\ny", named_by=1)],
        }
    )
    lines = seen.as_text().split("\n")
    assert len(lines) == 5
    assert not [line for line in lines if line.startswith("starts: evil")]


def test_the_longest_overview_that_the_engine_makes_costs_at_most_1500_tokens() -> None:
    words = [f"src/com/example/warehouse_{n}/InventoryReconciliationServiceFactory{n}.java" for n in range(50)]
    assert sum(len(word) for word in words) > 3_500
    central = [Central(path=word, named_by=1) for word in words[20:]]
    seen = NOTHING.model_copy(
        update={"build": words[:9], "starts": words[9:15], "settings": words[15:20], "central": central}
    )
    assert tokens(seen.as_text()) <= MOST_TOKENS


def test_without_files_it_says_why_and_nothing_else() -> None:
    seen = NOTHING.model_copy(update={"reason": "Nothing is indexed: the workspace has no files."})
    assert seen.as_text() == "Nothing to see. Nothing is indexed: the workspace has no files."
    assert list(seen.as_lines()) == []
    assert [note for note in seen.as_notes() if note] == ["Nothing is indexed: the workspace has no files."]
