"""The lexical index for the engine: each call covers both the postings and the definitions of files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from sidecar.model.files import ParsedFile
from sidecar.parts.lexical import definitions, postings, segments
from sidecar.parts.lexical.analyse import LEXICAL_VERSION, FileTerms, analyse
from sidecar.parts.lexical.stepped_merge import SteppedMerge
from sidecar.parts.lexical.tokens import TOKENS_VERSION


class LexicalIndex:
    """Writes the lexical index. It has no state; every call works in the current transaction of `connection`.

    `version` combines the versions of the analysis and of the tokens; an index of another version is rebuilt.
    """

    version = LEXICAL_VERSION * 1000 + TOKENS_VERSION

    def create_tables(self, connection: sqlite3.Connection) -> None:
        """Creates the tables of postings and definitions."""
        segments.create_tables(connection)
        definitions.create_tables(connection)

    def update_tables(self, connection: sqlite3.Connection) -> None:
        """See `segments.update_tables`."""
        segments.update_tables(connection)

    def analyse(self, path: str, parsed: ParsedFile) -> FileTerms:
        """See `analyse.analyse`."""
        return analyse(path, parsed)

    def write_segment(
        self,
        connection: sqlite3.Connection,
        entries: Sequence[postings.Entry],
        pause: Callable[[], object] = lambda: None,
    ) -> None:
        """Adds one segment with these files, and their definitions. Ids must be new. `pause` is called between parts of
        the work."""
        postings.write_segment(connection, entries, pause)
        definitions.write_definitions(connection, entries)

    def forget_files(self, connection: sqlite3.Connection, file_ids: Sequence[int]) -> None:
        """Deletes the definitions of these files. Their postings stay until a merge drops them."""
        definitions.forget_files(connection, file_ids)

    def newest_segment(self, connection: sqlite3.Connection) -> int:
        """See `segments.newest_segment`."""
        return segments.newest_segment(connection)

    def merge_segments(
        self,
        connection: sqlite3.Connection,
        *,
        alive: int | None = None,
        force: bool = False,
        since: int | None = None,
        pause: Callable[[], object] = lambda: None,
    ) -> None:
        """See `postings.merge_segments`."""
        postings.merge_segments(connection, alive=alive, force=force, since=since, pause=pause)

    def merge_in_steps(self) -> SteppedMerge:
        """Returns a merge in small steps, for the time after a few changes and when the workspace is at rest."""
        return SteppedMerge()
