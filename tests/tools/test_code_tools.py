"""The ten tools over a fake workspace: shapes of results and every error of the specification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sidecar.errors import (
    DocsIndexNotFound,
    FileExcluded,
    FileNotFound,
    IndexCorrupt,
    IndexExists,
    IndexingInProgress,
    IndexNotFound,
    InvalidPattern,
    InvalidQuery,
    ModelLoadFailed,
    PathTraversal,
    SidecarError,
)
from sidecar.model.answers import ConfigAnswer, Coverage, StatusAnswer, UpgradeProgress
from sidecar.settings.declare import TOOLSETS
from sidecar.tools import registry
from sidecar.tools.lines import Line
from sidecar.tools.search_results import CompactResult, EnclosingDefinition, SearchHit, SearchResult
from sidecar.tools.service import Done, Service
from tests.fakes import FakeWorkspace, FakeWorkspaces

FILES = {"src/a.py": "def alpha():\n    return 1\n", "b.py": "def beta():\n    return alpha\n", "guide.md": "alpha\n"}


class Tools:
    """Calls tools by name on one workspace, without questions."""

    def __init__(self, workspace: FakeWorkspace) -> None:
        self.workspace = workspace
        self.service = Service(FakeWorkspaces(workspace), confirm="never")

    def __call__(self, name: str, **arguments: object) -> dict[str, Any]:
        done = self.service.call(name, arguments, workspace=self.workspace.root)
        assert isinstance(done, Done)
        return done.value


@pytest.fixture
def tools() -> Iterator[Tools]:
    tools = Tools(FakeWorkspace(FILES, excluded=("secret.py",)))
    tools("create_index")
    yield tools
    tools.service.close()


@pytest.fixture
def bare() -> Iterator[Tools]:
    tools = Tools(FakeWorkspace(FILES))
    yield tools
    tools.service.close()


def test_create_index_returns_what_the_specification_says(bare: Tools) -> None:
    result = bare("create_index")
    assert result["status"] == "created"
    assert result["projectPath"] == bare.workspace.root
    assert result["indexPath"]
    assert {"filesIndexed": 2, "chunksCreated": 2, "durationMs": 12, "errorCount": 0}.items() <= result["stats"].items()
    assert result["docsStats"] == {"filesIndexed": 1, "chunksCreated": 1}


def test_create_index_says_nothing_of_documentation_where_there_is_none() -> None:
    assert "docsStats" not in Tools(FakeWorkspace({"a.py": "x = 1\n"}))("create_index")


@pytest.mark.parametrize("status", ["incomplete", "failed", "ready"])
def test_an_index_with_files_exists_whatever_its_state(status: Any) -> None:
    def override(answer: StatusAnswer) -> StatusAnswer:
        return replace(answer, status=status, files=3, generation=1)

    with pytest.raises(IndexExists):
        Tools(FakeWorkspace(FILES, status_override=override))("create_index")


def test_an_index_whose_first_building_has_ended_too_soon_is_continued() -> None:
    def override(answer: StatusAnswer) -> StatusAnswer:
        held = Coverage(3, (("not-read-yet", 5),), whole=True, complete=False, cancelled=True)
        return replace(answer, status="incomplete", files=3, generation=1, holds=held)

    assert Tools(FakeWorkspace(FILES, status_override=override))("create_index")["status"] == "created"


def test_a_first_attempt_that_failed_may_be_made_again() -> None:
    workspace = FakeWorkspace(FILES, status_override=lambda answer: replace(answer, status="failed"))
    assert Tools(workspace)("create_index")["status"] == "created"


@pytest.mark.parametrize("tool", ["create_index", "reindex_project", "delete_index"])
def test_what_changes_the_index_is_refused_while_it_is_built(tool: str) -> None:
    workspace = FakeWorkspace(FILES, status_override=lambda answer: replace(answer, status="indexing", busy=True))
    with pytest.raises(IndexingInProgress):
        Tools(workspace)(tool)


def test_a_search_returns_the_specified_fields_and_language_kind_and_names(tools: Tools) -> None:
    result = tools("search_code", query="alpha")
    assert list(result) == ["results", "query", "totalResults", "searchTimeMs", "searchMode"]
    assert result["query"] == "alpha"
    assert result["totalResults"] == 2
    assert result["searchMode"] == "hybrid"
    assert result["results"][1] == {
        "path": "src/a.py",
        "content": "def alpha():\n    return 1",
        "score": 1.0,
        "startLine": 1,
        "endLine": 2,
        "language": "python",
        "kind": "function",
        "names": ["alpha"],
    }


def test_a_compact_search_has_short_names_and_two_decimals(tools: Tools) -> None:
    result = tools("search_code", query="alpha beta gamma", compact=True)
    assert result["n"] == len(result["r"]) == 2
    assert result["r"][0] == {"l": "b.py:1-2", "t": "def beta():", "a": 1, "s": 0.67}
    assert set(result) == {"r", "n", "ms"}


def test_explain_adds_what_a_score_is_made_of_and_the_time_of_each_stage(tools: Tools) -> None:
    result = tools("search_code", query="alpha", explain=True)
    assert result["results"][0]["parts"] == {"words": 1.0}
    assert result["stagesMs"] == {"all": 1.0}


@pytest.mark.parametrize("compact", [False, True])
def test_a_notice_is_passed_on_in_both_forms(compact: bool) -> None:
    tools = Tools(FakeWorkspace(FILES, notice="40 % are not embedded yet."))
    tools("create_index")
    assert tools("search_code", query="alpha", compact=compact)["notice"] == "40 % are not embedded yet."


WEAK = "No strong match: these results are the closest, but probably not what was asked for."


@pytest.mark.parametrize("compact", [False, True])
def test_a_weak_answer_says_so_to_programs_and_in_a_line_of_its_own(compact: bool) -> None:
    tools = Tools(FakeWorkspace(FILES, notice="40 % are not embedded yet.", confidence=0.02))
    tools("create_index")
    result = tools("search_code", query="alpha", compact=compact)
    assert result["weak"] is True
    assert result["notice"] == f"40 % are not embedded yet. {WEAK}"
    shape = CompactResult if compact else SearchResult
    said = shape.model_validate(result)
    assert said.as_text().split("\n")[0] == result["notice"]
    assert next(iter(said.as_notes())) == result["notice"]


def test_an_answer_that_is_not_weak_or_has_no_results_says_nothing_of_it(tools: Tools) -> None:
    assert {"weak", "confidence", "notice"}.isdisjoint(tools("search_code", query="alpha"))
    unsure = Tools(FakeWorkspace(FILES, confidence=0.02))
    unsure("create_index")
    assert "notice" not in unsure("search_code", query="nothing that is there")


def test_explain_adds_how_likely_an_answer_is() -> None:
    sure = Tools(FakeWorkspace(FILES, confidence=0.98765))
    sure("create_index")
    result = sure("search_code", query="alpha", explain=True)
    assert (result["confidence"], "weak" in result) == (0.988, False)


def test_every_parameter_of_a_search_reaches_the_engine(tools: Tools) -> None:
    tools(
        "search_code",
        query=" alpha ",
        top_k=3,
        mode="fts",
        alpha=0.25,
        offset=2,
        paths=["src/**"],
        languages=["Python"],
        kinds=["function"],
        max_tokens=100,
        explain=True,
    )
    asked = tools.workspace.requests[-1]
    assert (asked.query, asked.collection, asked.mode, asked.alpha) == (" alpha ", "code", "fts", 0.25)
    assert (asked.top_k, asked.offset, asked.paths) == (3, 2, ("src/**",))
    assert (asked.languages, asked.kinds, asked.token_budget, asked.explain) == (("python",), ("function",), 100, True)


def test_documentation_is_searched_apart_from_code(tools: Tools) -> None:
    result = tools("search_docs", query="alpha")
    assert [hit["path"] for hit in result["results"]] == ["guide.md"]
    assert result["searchMode"] == "vector"
    assert tools("search_docs", query="alpha", mode="fts")["searchMode"] == "fts"


@pytest.mark.parametrize("tool", ["search_code", "search_docs"])
@pytest.mark.parametrize("query", ["", "  ", "\n\t"])
def test_a_blank_query_is_invalid(tools: Tools, tool: str, query: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        tools(tool, query=query)
    assert refused.value.user_message == "Search query is required."


def test_paths_are_listed_in_order_and_counted_before_the_limit(tools: Tools) -> None:
    assert tools("search_by_path", pattern="*", limit=1) == {"matches": ["b.py"], "pattern": "*", "totalMatches": 3}


def test_a_result_names_the_definition_that_it_is_about_in_every_form_of_the_answer() -> None:
    about = EnclosingDefinition(name="merge", kind="method", start_line=3, end_line=90, container="Relation")
    hit = SearchHit(
        path="a.rb", content="x = 1", score=0.5, start_line=7, end_line=7, language="ruby", kind="code", names=[]
    )
    named = hit.model_copy(update={"definition": about})
    assert named.as_text().startswith("a.rb:7-7 method Relation.merge\n")
    explained = named.model_copy(update={"why": ["the name is merge"]})
    lines = lines_of(explained)
    terminal = ["".join(piece if isinstance(piece, str) else piece[1] for piece in line) for line in lines]
    assert "  in method Relation.merge" in terminal
    assert hit.as_text().startswith("a.rb:7-7\n")
    forged = about.model_copy(update={"name": "a\nb.py:1-1 class C"})
    assert len(hit.model_copy(update={"definition": forged}).as_text().split("\n")) == len(hit.as_text().split("\n"))


def lines_of(hit: SearchHit) -> list[Line]:
    return list(hit.lines_with(lambda text: []))


def test_letters_of_a_path_find_it_best_first_with_scores(tools: Tools) -> None:
    found = tools("search_by_path", pattern="SRA", fuzzy=True)
    assert (found["matches"], found["totalMatches"]) == (["src/a.py"], 1)
    assert found["scores"][0] > 0
    assert tools("search_by_path", pattern="zz", fuzzy=True)["matches"] == []


def test_a_malformed_glob_is_refused(tools: Tools) -> None:
    with pytest.raises(InvalidPattern):
        tools("search_by_path", pattern="src/[a")


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("search_code", {"query": "x"}, IndexNotFound),
        ("search_docs", {"query": "x"}, DocsIndexNotFound),
        ("search_by_path", {"pattern": "*"}, IndexNotFound),
        ("reindex_project", {}, IndexNotFound),
        ("reindex_file", {"file_path": "b.py"}, IndexNotFound),
        ("delete_index", {}, IndexNotFound),
    ],
)
def test_without_an_index_each_tool_says_so(
    bare: Tools, tool: str, arguments: dict[str, object], error: type[SidecarError]
) -> None:
    with pytest.raises(SidecarError) as refused:
        bare(tool, **arguments)
    assert type(refused.value) is error


def test_a_workspace_without_documentation_says_so() -> None:
    tools = Tools(FakeWorkspace({"a.py": "x = 1\n"}))
    tools("create_index")
    with pytest.raises(DocsIndexNotFound):
        tools("search_docs", query="x")


@pytest.mark.parametrize("name", ["file_path", "path"])
def test_one_file_is_indexed_again_or_removed(tools: Tools, name: str) -> None:
    tools.workspace.files["b.py"] = "x = 1\n" * 25
    assert tools("reindex_file", **{name: "b.py"}) == {"status": "reindexed", "filePath": "b.py", "chunksCreated": 3}
    del tools.workspace.files["b.py"]
    assert tools("reindex_file", **{name: "b.py"}) == {"status": "removed", "filePath": "b.py", "chunksCreated": 0}


@pytest.mark.parametrize(
    ("path", "error"), [("gone.py", FileNotFound), ("secret.py", FileExcluded), ("../x.py", PathTraversal)]
)
def test_a_file_that_cannot_be_indexed_again_says_why(tools: Tools, path: str, error: type[SidecarError]) -> None:
    with pytest.raises(error):
        tools("reindex_file", file_path=path)


@pytest.mark.parametrize("error", [IndexCorrupt("Made by another model."), ModelLoadFailed("Wrong hash.")])
def test_what_the_engine_raises_comes_through_unchanged(error: SidecarError) -> None:
    with pytest.raises(type(error)) as raised:
        Tools(FakeWorkspace(broken=error))("search_code", query="x")
    assert raised.value is error


def test_the_status_of_an_index_has_the_specified_fields_and_the_rest_of_the_truth(tools: Tools) -> None:
    status = tools("get_index_status")
    assert status["status"] == "ready"
    assert status["totalFiles"] == 3
    assert status["totalChunks"] == 3
    assert status["storageSize"] == "45MB"
    assert status["indexingStrategy"] == "realtime"
    assert status["watcherActive"] is False
    assert status["hybridSearch"] == {"enabled": True, "ftsEngine": "native", "ftsChunks": 3, "defaultAlpha": 0.5}
    assert status["coverage"] == 1.0
    assert status["withheldFiles"] == 1
    assert status["withheld"] == [{"path": ".env", "rule": "secret-by-name", "detail": "named like a secret"}]


def test_while_another_model_is_to_take_over_the_status_says_how_far_it_is(tools: Tools) -> None:
    assert "modelUpgrade" not in tools("get_index_status")
    stage = UpgradeProgress("slow@0123456789ab", 4408, 10_252, 61.2)
    going = Tools(FakeWorkspace(FILES, status_override=lambda answer: replace(answer, model_upgrade=stage)))
    going("create_index")
    status = going("get_index_status")
    assert (status["status"], status["coverage"]) == ("ready", 1.0)
    assert status["modelUpgrade"] == {
        "model": "slow@0123456789ab",
        "done": 4408,
        "total": 10_252,
        "percent": 42,
        "secondsLeft": 62,
    }


def test_without_an_index_status_names_the_paths_and_counts_nothing(bare: Tools) -> None:
    status = bare("get_index_status")
    assert status["status"] == "not_found"
    assert status["projectPath"] == bare.workspace.root
    assert {"indexPath", "configPath"} <= set(status)
    assert "totalFiles" not in status


def test_the_config_is_shown_only_when_there_is_one(bare: Tools) -> None:
    before = bare("get_config")
    assert before["exists"] is False
    assert "config" not in before
    assert "create_index" in before["message"]
    bare("create_index")
    after = bare("get_config")
    assert after["exists"] is True
    assert after["config"]["maxFileSize"] == "1MB"
    assert after["configPath"] in after["message"]
    assert after["problems"] == []


def test_the_config_names_a_model_and_toolsets_that_do_not_exist() -> None:
    class Misnamed(FakeWorkspace):
        def config(self) -> ConfigAnswer:
            found = super().config()
            named = {**found.config, "model": "nonsense", "toolsets": "Memory, bogus"}
            return replace(found, config=named, model_problem="There is no model 'nonsense'.")

    said = Tools(Misnamed(FILES))("get_config")
    assert said["message"].endswith("2 of the settings cannot be used; see problems.")
    model, toolsets = said["problems"]
    assert model == "model is \"nonsense\": There is no model 'nonsense'."
    assert toolsets.startswith('toolsets names "bogus"; allowed: code, documents, ')
    assert sorted(TOOLSETS) == sorted(registry.TOOLSETS)


def test_the_config_decides_alpha_where_a_search_does_not() -> None:
    tools = Tools(FakeWorkspace(FILES, default_alpha=0.7))
    tools("create_index")
    tools("search_code", query="alpha")
    tools("search_code", query="alpha", alpha=0.5)
    assert [request.alpha for request in tools.workspace.requests] == [0.7, 0.5]


def test_explain_path_names_the_rule(tools: Tools) -> None:
    explained = tools("explain_path", path="secret.py")
    assert (explained["indexed"], explained["rule"], explained["inIndex"]) == (False, "config-exclude", False)
    tools.workspace.files["b.py"] = "changed\n"
    assert tools("explain_path", path="b.py")["stale"] is True
