"""Cuts one file into chunks and says what it defines: `parse_file`. Reads no disk, keeps no state, embeds nothing.

Same text, same chunks, on every run and in every thread. Chunks are whole lines (or pieces of one very long line),
do not overlap, and together hold every line that is not blank. Heavy imports (tree-sitter) wait for the first file.
"""

from __future__ import annotations

from sidecar.model import ParsedFile

from .tables import TABLES

CHUNKER_VERSION = 1
"""Raise it whenever the same text may yield other chunks or definitions: an index made by another version is rebuilt."""

_PROSE = frozenset({"markdown", "rst", "restructuredtext", "asciidoc", "text", "plaintext"})
_SCRIPTED = frozenset({"vue", "svelte"})


def supported_languages() -> frozenset[str]:
    """Languages that are cut by their structure; any other is cut into windows of lines."""
    return frozenset(TABLES) | _PROSE | _SCRIPTED | {"notebook"}


def parse_file(path: str, text: str, language: str) -> ParsedFile:
    """Chunks, definitions and comments of one file. `text` has `\\n` newlines; never raises on any text."""
    from . import code

    return code.parse_code(text, language, path)
