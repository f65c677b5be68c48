"""Cuts one file into chunks and says what it defines: `parse_file`. Reads no disk, keeps no state, embeds nothing.

Same text, same chunks, on every run and in every thread. Chunks are whole lines (or pieces of one very long line),
do not overlap, and together hold every line that is not blank. Heavy imports (tree-sitter) wait for the first file.
"""

from __future__ import annotations

from sidecar.model import ParsedFile

from .prose import PROSE
from .tables import TABLES

CHUNKER_VERSION = 1
"""Raise it when the same text may yield other chunks or definitions: an index made by another version is rebuilt."""

_SCRIPTED = frozenset({"vue", "svelte"})


def supported_languages() -> frozenset[str]:
    """Languages that are cut by their structure; any other is cut into windows of lines."""
    return frozenset(TABLES) | PROSE | _SCRIPTED | {"notebook"}


def parse_file(path: str, text: str, language: str) -> ParsedFile:
    """Chunks, definitions and comments of one file. `text` has `\\n` newlines; never raises on any text."""
    if language == "notebook":
        from .notebook import parse_notebook

        return parse_notebook(text)
    if language in PROSE:
        from .prose import parse_prose

        return parse_prose(text, language)
    from .code import parse_code, parse_scripted

    return parse_scripted(text, language) if language in _SCRIPTED else parse_code(text, language, path)
