"""Similar code and definitions by name, on a real workspace."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sidecar.errors import FileNotFound, IndexNotFound, InvalidParams, InvalidQuery, PathTraversal
from tests.tools.conftest import RealTools

pytestmark = pytest.mark.process

TWIN = (
    "def try_again_with_backoff(call, attempts):\n    for attempt in range(attempts):\n"
    "        delay = 2 ** attempt\n        wait(delay)\n    return call()\n"
)


@pytest.fixture
def tools(real_tools: Callable[..., RealTools]) -> RealTools:
    tools = real_tools("code,semantic", confirm="never")
    tools.project.write("lib/twin.py", TWIN)
    tools("search_index", patterns=["**/*"])
    return tools


def names(tools: RealTools, name: str, **more: object) -> list[tuple[str, str]]:
    return [(symbol["name"], symbol["match"]) for symbol in tools("search_symbols", name=name, **more)["symbols"]]


def test_similar_code_is_found_and_the_place_itself_is_not(tools: RealTools) -> None:
    result = tools("find_similar", path="src/retry.py", line=5)
    assert result["results"][0]["path"] == "lib/twin.py"
    assert ("src/retry.py", 1) not in [(hit["path"], hit["startLine"]) for hit in result["results"]]
    scores = [hit["score"] for hit in result["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0.5 <= score <= 1 for score in scores)
    assert not [hit for hit in result["results"] if hit["path"].endswith(".md")]
    assert len(tools("find_similar", path="src/retry.py", line=5, limit=1)["results"]) == 1


def test_chosen_lines_are_compared_by_themselves_and_not_found(tools: RealTools) -> None:
    found = tools("find_similar", path="lib/twin.py", line=2, end_line=4)["results"]
    assert "lib/twin.py" not in {hit["path"] for hit in found}
    assert found[0]["path"] == "src/retry.py"
    with pytest.raises(InvalidParams, match="before line"):
        tools("find_similar", path="lib/twin.py", line=3, end_line=2)


def test_lines_with_nothing_in_them_are_refused(tools: RealTools) -> None:
    tools.project.write("lib/gap.py", "def one():\n    return 1\n\n\n\n\ndef two():\n    return 2\n")
    tools("reindex_file", file_path="lib/gap.py")
    with pytest.raises(InvalidParams, match="nothing to compare"):
        tools("find_similar", path="lib/gap.py", line=4, end_line=5)


def test_documentation_is_compared_with_documentation(tools: RealTools) -> None:
    paths = {hit["path"] for hit in tools("find_similar", path="docs/guide.md", line=3)["results"]}
    assert paths <= {"docs/guide.md", "README.md"}


def test_a_place_that_is_not_there_is_refused(tools: RealTools) -> None:
    with pytest.raises(FileNotFound, match="not in the index"):
        tools("find_similar", path="src/none.py", line=1)
    with pytest.raises(InvalidParams, match="ends at line"):
        tools("find_similar", path="src/retry.py", line=5000)
    with pytest.raises(PathTraversal):
        tools("find_similar", path="../x.py", line=1)
    for line in (0, -1, "1", 10**30):
        with pytest.raises(InvalidParams, match="line"):
            tools("find_similar", path="src/retry.py", line=line)


def test_a_name_is_found_in_any_spelling(tools: RealTools) -> None:
    for spelling in ("retry_with_backoff", "retryWithBackoff", "RetryWithBackoff", "retry_with_backoff()"):
        assert names(tools, spelling)[0] == ("retry_with_backoff", "exact")


def test_a_name_is_found_by_its_beginning_and_by_its_words(tools: RealTools) -> None:
    assert names(tools, "listen") == [("ListenAndServe", "prefix")]
    assert names(tools, "query string") == [("parseQueryString", "words")]
    assert names(tools, "backoff") == [("retry_with_backoff", "words"), ("try_again_with_backoff", "words")]


def test_code_of_a_name_comes_before_headings_of_that_name(tools: RealTools) -> None:
    tools.project.write("aaa/heron.md", "# HeronCounter\n\nCounts the herons.\n")
    tools.project.write("src/heron.py", "class HeronCounter:\n    seen = 0\n")
    tools("search_index", patterns=["**/*"])
    for asked in ("HeronCounter", "heroncounter", "HeronCuonter", "heroncou"):
        symbols = tools("search_symbols", name=asked)["symbols"]
        assert [(symbol["path"], symbol["kind"]) for symbol in symbols[:2]] == [
            ("src/heron.py", "class"),
            ("aaa/heron.md", "section"),
        ], asked


def test_what_encloses_a_name_narrows(tools: RealTools) -> None:
    tools.project.write("src/other.py", "class Lease:\n    def expire(self):\n        return 1\n")
    tools("reindex_file", file_path="src/other.py")
    assert len(names(tools, "expire")) == 2
    for query in ("CookieJar.expire", "CookieJar::expire", "CookieJar#expire"):
        (symbol,) = tools("search_symbols", name=query)["symbols"]
        assert (symbol["path"], symbol["container"]) == ("src/cookies.py", "CookieJar")


def test_a_definition_is_shown_with_its_place_and_line(tools: RealTools) -> None:
    (symbol,) = tools("search_symbols", name="set_cookie")["symbols"]
    assert (symbol["path"], symbol["startLine"], symbol["endLine"]) == ("src/cookies.py", 2, 3)
    assert (symbol["kind"], symbol["line"]) == ("method", "def set_cookie(self, cookie):")


def test_kinds_and_limit_narrow_and_the_total_does_not(tools: RealTools) -> None:
    assert names(tools, "cookie", kinds=["class"]) == [("CookieJar", "prefix")]
    found = tools("search_symbols", name="cookie", limit=1)
    assert len(found["symbols"]) == 1
    assert found["totalSymbols"] >= 2


def test_what_is_no_name_is_refused(tools: RealTools) -> None:
    for name in ("", "  ", "()", "::"):
        with pytest.raises(InvalidQuery):
            tools("search_symbols", name=name)
    assert tools("search_symbols", name="zzz_nothing")["totalSymbols"] == 0


def test_without_an_index_both_say_so(real_tools: Callable[..., RealTools]) -> None:
    bare = real_tools("code")
    for name, arguments in (("find_similar", {"path": "a.py", "line": 1}), ("search_symbols", {"name": "a"})):
        with pytest.raises(IndexNotFound):
            bare(name, **arguments)
