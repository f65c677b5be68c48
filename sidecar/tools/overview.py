"""A first look at a workspace: what a newcomer would ask, in at most 1,500 tokens, from the index alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import Field

from sidecar import shown
from sidecar.model.answers import OverviewAnswer
from sidecar.tools.code_search import FAMILY, Whole
from sidecar.tools.context import Context
from sidecar.tools.dialect import CamelResult
from sidecar.tools.lines import ASIDE, PLACE, Line
from sidecar.tools.spec import Params, ToolSpec


class OverviewParams(Params):
    """Parameters of `workspace_overview`."""

    central: Whole = Field(20, ge=1, le=40, description="At most this many central files.", examples=[20])


class LanguageLines(CamelResult):
    """How many lines of code a language has, tests included."""

    language: str
    lines: int


class FolderOfTests(CamelResult):
    """How many files with tests are in a folder itself, not further down."""

    folder: str
    files: int


class Central(CamelResult):
    """A file that much of the code depends on. `definition`: what it is most about; `named_by`: in how many files its
    name occurs."""

    path: str
    definition: str | None = None
    named_by: int

    def as_text(self) -> str:
        """The path and the definition."""
        return f"{shown.path(self.path)} {shown.line(self.definition or '')}".rstrip()


class WorkspaceOverview(CamelResult):
    """Paths are likeliest first, central files most central first. `files` counts all indexed files, `code_files` those
    with code that are no tests and no examples. `reason`: why there is nothing to say."""

    files: int
    code_files: int
    languages: list[LanguageLines]
    build: list[str]
    starts: list[str]
    settings: list[str]
    test_folders: list[FolderOfTests]
    test_support: list[str]
    central: list[Central]
    notice: str | None = None
    reason: str | None = None

    def row_paths(self) -> list[str]:
        """The path of each central file."""
        return [file.path for file in self.central]

    def as_text(self) -> str:
        """What a language model reads of it: a line for each kind of fact, then one for each central file."""
        if self.reason:
            return f"Nothing to see. {shown.sentence(self.reason)}"
        said = [shown.sentence(self.notice)] if self.notice else []
        facts = [f"{label}: {what}" for label, what in self._facts()]
        return "\n".join([*said, *facts, f"{self._heading()}:", *(file.as_text() for file in self.central)])

    def as_lines(self) -> Iterator[Line]:
        """What a shell prints of it on standard output."""
        if self.reason:
            return
        for label, what in self._facts():
            yield (ASIDE, f"{label:<9}"), f" {what}"
        yield ((ASIDE, self._heading()),)
        for file in self.central:
            name = shown.line(file.definition or "")
            yield (PLACE, shown.path(file.path), file.path, 0), f"  {name}" if name else ""

    def as_notes(self) -> Iterator[str]:
        """What a shell says of it on standard error."""
        yield self.notice or ""
        yield self.reason or ""

    def _facts(self) -> Iterator[tuple[str, str]]:
        """Each kind of fact that is known, in words."""
        languages = (f"{entry.language} {shown.count(entry.lines, 'line')}" for entry in self.languages)
        folders = (f"{shown.path(entry.folder)} {shown.count(entry.files, 'file')}" for entry in self.test_folders)
        kinds: tuple[tuple[str, Iterable[str]], ...] = (
            ("languages", (*languages, f"{shown.count(self.files, 'file')} in all")),
            ("build", map(shown.path, self.build)),
            ("starts", map(shown.path, self.starts)),
            ("settings", map(shown.path, self.settings)),
            ("tests", (*folders, *map(shown.path, self.test_support))),
        )
        for label, entries in kinds:
            if said := ", ".join(entries):
                yield label, said

    def _heading(self) -> str:
        return f"central, {len(self.central):,} of {shown.count(self.code_files, 'file')} with code"


def workspace_overview(context: Context, params: OverviewParams) -> WorkspaceOverview:
    """Reads the index only."""
    return _result(context.workspace.overview(params.central))


def _result(answer: OverviewAnswer) -> WorkspaceOverview:
    return WorkspaceOverview(
        files=answer.files,
        code_files=answer.code_files,
        languages=[LanguageLines(language=language, lines=lines) for language, lines in answer.languages],
        build=list(answer.build),
        starts=list(answer.starts),
        settings=list(answer.settings),
        test_folders=[FolderOfTests(folder=folder, files=files) for folder, files in answer.test_folders],
        test_support=list(answer.test_support),
        central=[
            Central(path=file.path, definition=file.name or None, named_by=file.named_by) for file in answer.central
        ],
        notice=answer.notice or None,
        reason=answer.reason or None,
    )


WORKSPACE_OVERVIEW = ToolSpec(
    name="workspace_overview",
    family=FAMILY,
    summary="Get to know a repository",
    params=OverviewParams,
    result=WorkspaceOverview,
    run=workspace_overview,
    read_only=True,
    idempotent=True,
    rest=("/overview",),
)
