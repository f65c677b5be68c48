"""What the shell prints and what an agent reads, for answers with every field and with odd strings.

`python -m tests.surfaces.texts` rewrites `expected_texts.txt`; read the diff before committing it.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult, Implementation

from sidecar.engine.models.catalog import CatalogModel
from sidecar.model.answers import (
    BuildReport,
    CollectionCounts,
    ConfigAnswer,
    Explanation,
    Hit,
    HitDefinition,
    MarkedLine,
    PathsAnswer,
    PatternReport,
    SearchAnswer,
    SearchRequest,
    StatusAnswer,
    UpgradeProgress,
)
from sidecar.model.files import Decision, Rule, SkippedPath
from sidecar.model.terms import IsCancelled, Progress
from sidecar.parts.embed.catalog import ModelEntry
from sidecar.shown import so_far
from sidecar.surfaces.cli.main import main
from sidecar.surfaces.cli.terminal import Style
from sidecar.surfaces.mcp.server import make_server
from sidecar.tools.diagnose import CheckResult, Diagnosis
from sidecar.tools.lines import Line
from sidecar.tools.models import Downloaded, Listed, ModelCard
from sidecar.tools.registry import ALL_TOOLS
from sidecar.tools.service import Service
from tests.fakes import FakeWorkspace, FakeWorkspaces

EXPECTED = Path(__file__).with_name("expected_texts.txt")
ODD = 'src/\x1b[31m"odd"\n\u202ename.py'
FILES = {"src/a.py": "def alpha():\n    return 1\n", "guide.md": "alpha\n", ODD: "def alpha():\n    pass\n"}


class FullWorkspace(FakeWorkspace):
    """A workspace whose answers have every field, so that every line of every text is printed."""

    def __init__(self, status: str = "ready") -> None:
        super().__init__(FILES, status_override=lambda answer: full_status(answer, status))

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        hits = () if request.query == "nothing" else HITS
        stages = {"words": 0.123456, "meanings": 12.0}
        return SearchAnswer(hits, 2 * len(hits), request.mode, 3.21987, "Half of it\nis stale.", stages, "model@1")

    def find_paths(self, pattern: str, limit: int) -> PathsAnswer:
        return PathsAnswer(("src/a.py", ODD), 5, "Stale.")

    def index_matching(
        self, patterns: Sequence[str], force: bool, progress: Progress, cancelled: IsCancelled
    ) -> PatternReport:
        if patterns == ["nothing"]:
            return PatternReport(0, 0, 1, 0, (("nothing", "no such file"),))
        return PatternReport(2, 1, 2, 7, ((ODD, "it is a\nfolder"), ("b.py", "it is binary")))

    def refresh(
        self, progress: Progress, cancelled: IsCancelled, whole: bool = False, snapshot: str | None = None
    ) -> BuildReport:
        report = super().refresh(progress, cancelled, whole)
        return replace(
            report, errors=1, removed=2, withheld=3, upgraded=4, masked=5, notice="Use `create_index`.\nNow."
        )

    def config(self) -> ConfigAnswer:
        answer = super().config()
        return replace(answer, problems=(f"model in {ODD} is not allowed.",))

    def explain(self, path: str) -> Explanation:
        return EXPLANATIONS[path]


HITS = (
    Hit(
        "src/a.py",
        9,
        11,
        "def alpha():\n\treturn  \n  'Alpha\x1b[2J'",
        0.987654,
        "python",
        "function",
        ("alpha",),
        excerpt=(MarkedLine(9, ("def ", "alpha", "():")), MarkedLine(11, ("  '", "Alpha", "\x1b[2J'"))),
        definition=HitDefinition("alpha", "function", "A", 9, 45),
        left_out=(12, 45),
    ),
    Hit(
        ODD,
        1,
        1,
        "\n  [link](http://x) alpha\u200b " + "x" * 120,
        0.5,
        "python",
        "class",
        parts={"word": 1.0, "meaning": 0.333333},
        why=("the name is alpha",),
        shares={"name": 60, "meaning": 40},
        excerpt=(MarkedLine(1, ("", "alpha", "()")),),
        definition=HitDefinition("odd\x1b[2J\nheading", "section", "", 1, 1),
        hidden=True,
    ),
    Hit("lib/empty.py", 1, 1, "", 0.0, "python", "code"),
)
EXPLANATIONS = {
    "a": Explanation("a", Decision(Rule.INDEXED), True, True, False, 3, 2, "python", "tree-sitter", "2026", "no"),
    "b": Explanation("b", Decision(Rule.GITIGNORE, ODD), True, False, False),
    "c": Explanation("c", Decision(Rule.FOLDER), True, False, False),
    "d": Explanation("d", Decision(Rule.MISSING), False, True, True, 1),
    ".": Explanation("", Decision(Rule.FOLDER), True, False, False),
}


def full_status(answer: StatusAnswer, status: str) -> StatusAnswer:
    if status in ("not_found", "ready"):
        return answer
    if status == "indexing":
        says = so_far("Indexing", 3, 8)
        building = replace(answer, status="indexing", busy=True, progress_says=says, seconds_left=1.5)
        return replace(building, progress_done=3, progress_total=8)
    return replace(
        answer,
        status="incomplete",
        skipped={"binary": 2, "gitignore": 7},
        languages={"python": 2, "c": 2, "markdown": 9},
        masked=(("a.py", 2),),
        errors=((ODD, "cannot\nbe read"),),
        cut_by_lines=(("big.py", "too deep"),),
        device="auto" if status == "auto" else "cpu",
        device_note="No CUDA.",
        warning="The disk is full.",
        problems=(f"model: {ODD}",),
        watcher_active=status == "auto",
        last_updated="",
        pending_files=4,
        withheld=(SkippedPath(ODD, Decision(Rule.SECRET_CONTENT, "line 3")),),
        model_upgrade=UpgradeProgress("slow@0123", 4408, 10_252, 61.2, "Paused."),
        code=CollectionCounts(3, 4),
    )


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


CHECKS = (
    CheckResult("python", True, "3.11", ""),
    CheckResult("data folder", False, "/x\ny", "Do."),
    CheckResult("z", False, "w", ""),
)
ENTRY = ModelEntry(
    "m", dimension=256, pooling="mean", query_prefix="q: ", max_tokens=512, about="x", licence="Apache", source="hub"
)
CARD = CatalogModel(ENTRY, "published", True, 8_500_000, "r", "", "", {"model": ("a/b", ""), "tok": ("c", "ff")})
SHIPS = replace(CARD, state="ships", folder="/f\x1b")
OTHER = replace(CARD, entry=replace(ENTRY, id="longer", licence=""), in_use=False, size=0)
OF_THE_INSTALLATION: dict[str, list[Line]] = {
    "doctor": list(Diagnosis(CHECKS).as_lines()),
    "models": list(Listed((ModelCard(CARD), ModelCard(OTHER))).as_lines()),
    "models show": [*ModelCard(CARD).as_lines(), *ModelCard(SHIPS).as_lines()],
    "models download": [
        *Downloaded("present", ModelCard(SHIPS)).as_lines(),
        *Downloaded("present", ModelCard(OTHER)).as_lines(),
        *Downloaded("downloaded", ModelCard(replace(CARD, state="downloaded"))).as_lines(),
    ],
}
SHELL: tuple[tuple[str, ...], ...] = (
    ("index",),
    ("search", "the", "alpha"),
    ("search", "alpha", "--explain"),
    ("search", "alpha", "--compact"),
    ("search", "alpha", "--queries", "nothing", "--queries", "alpha"),
    ("search", "nothing"),
    ("search", "nothing", "--compact"),
    ("docs", "alpha"),
    ("search", "index", "**"),
    ("search", "index", "**", "--format", "json"),
    ("search", "index", "**", "--format", "yaml"),
    ("search", "index", "nothing"),
    ("search", "query", "alpha"),
    ("search", "query", "alpha", "--format", "json"),
    ("search", "query", "alpha", "--format", "yaml"),
    ("search", "query", "nothing"),
    ("paths", "**"),
    ("overview",),
    ("status",),
    ("config",),
    *(("explain", path) for path in EXPLANATIONS),
    ("reindex", "src/a.py", "guide.md"),
    ("reindex",),
    ("call", "search_code", '{"query": "alpha"}'),
    ("call", "delete_index"),
    ("delete",),
    ("delete", "--yes"),
    ("reindex", "../x"),
)
AGENT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_code", {"query": "alpha"}),
    ("search_code", {"query": "alpha", "explain": True}),
    ("search_code", {"query": "alpha", "compact": True}),
    ("search_code", {"query": "alpha", "queries": ["nothing", "alpha"]}),
    ("search_code", {"query": "alpha", "queries": ["alpha"], "compact": True}),
    ("search_code", {"query": "nothing"}),
    ("search_code", {"query": "nothing", "compact": True}),
    ("search_code", {"query": ""}),
    ("search_docs", {"query": "alpha"}),
    ("find_similar", {"path": "src/a.py", "line": 1}),
    ("search_symbols", {"name": "alpha"}),
    ("search_by_path", {"pattern": "**"}),
    ("workspace_overview", {}),
    ("search_query", {"query": "alpha"}),
    ("search_index", {"patterns": ["**"]}),
    ("get_index_status", {}),
    ("get_config", {}),
    ("explain_path", {"path": "a"}),
    ("reindex_file", {"file_path": "src/a.py"}),
    ("reindex_project", {}),
    ("search_fuzzy", {"query": "pythn", "candidates": ["java"]}),
    ("delete_index", {}),
)


def of_the_shell(workspace: FakeWorkspace, argv: Sequence[str], tty: bool) -> str:
    out, err = (Terminal() if tty else io.StringIO()), io.StringIO()
    service = Service(FakeWorkspaces(workspace), tools=ALL_TOOLS)
    status = main(["-w", workspace.root, *argv], service=service, stdin=io.StringIO(), stdout=out, stderr=err)
    return f"{out.getvalue()}--- {status}\n{err.getvalue()}"


async def decline(ctx: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="decline")


async def of_an_agent(workspace: FakeWorkspace) -> list[str]:
    server = make_server(Service(FakeWorkspaces(workspace), tools=ALL_TOOLS), workspace.root)
    agent = Implementation(name="agent", version="1")
    texts = []
    async with Client(server, mode="legacy", elicitation_callback=decline, client_info=agent) as client:  # type: ignore[arg-type]
        for tool, arguments in AGENT:
            result = await client.call_tool(tool, arguments)
            texts.append(f"{result.content[0].text}\n")  # type: ignore[union-attr]
    return texts


def sections() -> Iterator[tuple[str, str]]:
    """Yields the title and text of every case, with durations as 0 and all lines printable."""
    ready = FullWorkspace()
    for tty in (False, True):
        where = "terminal" if tty else "pipe"
        yield f"shell, {where}: status before indexing", of_the_shell(FullWorkspace(), ["status"], tty)
        yield f"shell, {where}: config before indexing", of_the_shell(FullWorkspace(), ["config"], tty)
        for argv in SHELL:
            yield f"shell, {where}: {' '.join(argv)}", of_the_shell(ready, argv, tty)
        for state in ("indexing", "incomplete", "auto"):
            workspace = FullWorkspace(state)
            workspace.refresh(lambda *_: None, lambda: False)
            yield f"shell, {where}: status {state}", of_the_shell(workspace, ["status"], tty)
    for what, lines in OF_THE_INSTALLATION.items():
        for on in (False, True):
            style = Style(on)
            yield f"{what}, colours {on}", "".join(f"{style.printed(line)}\n" for line in lines)
    ready.refresh(lambda *_: None, lambda: False)
    for (tool, arguments), text in zip(AGENT, asyncio.run(of_an_agent(ready)), strict=True):
        yield f"agent: {tool} {json.dumps(arguments)}", text


_TIME = re.compile(r'((?:execution_time_ms|searchTimeMs)"?: ?)[\d.]+|\b\d+ ms$|^\d+\.\d s$', re.MULTILINE)


def everything() -> str:
    blocks = []
    for title, text in sections():
        timeless = _TIME.sub(lambda match: f"{match[1] or ''}T", text)
        lines = timeless.encode("unicode_escape").decode().replace("\\n", "\n").rstrip("\n")
        blocks.append(f"=== {title}\n{lines}\n")
    return "\n".join(blocks)


if __name__ == "__main__":
    EXPECTED.write_text(everything(), encoding="utf-8")
