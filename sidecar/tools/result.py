"""What every tool returns: fields for programs, and methods that say how it reads as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from sidecar import shown
from sidecar.tools.lines import Line


class Result(BaseModel):
    """Base of every result of a tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def as_text(self) -> str | None:
        """What a language model reads. None means the fields as compact JSON."""
        return None

    def as_lines(self) -> Iterator[Line]:
        """What a shell prints on standard output: the fields as JSON, unless the type has lines of its own."""
        fields = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        yield from shown.as_json(fields, indent=2).split("\n")

    def row_paths(self) -> Sequence[str] | None:
        """The path of each row, empty for rows without one; None if the result is not a list."""
        return None

    def remark(self) -> str:
        """The notice of the result, or why the tool was not run; empty if there is neither."""
        return ""

    def as_notes(self) -> Iterator[str]:
        """What a shell says on standard error, one sentence each."""
        yield from ()
