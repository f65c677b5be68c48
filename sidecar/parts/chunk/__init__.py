"""Cuts one file into chunks and lists its definitions and comments: `parse_file`. Reads no files, keeps no state and
computes no embeddings.

The same text gives the same chunks in every run and in every thread. Chunks do not overlap. Each is a range of whole
lines, or a piece of one very long line. Together they contain every line that is not blank; those of a notebook contain
only the sources of its cells. tree-sitter is imported when the first code file or notebook is parsed, because that
import is slow.
"""

from __future__ import annotations

from sidecar.model.files import ParsedFile

from .prose import PROSE

CHUNKER_VERSION = 1
"""Raise this when the same text may give other chunks or definitions: an index made by another version is rebuilt."""

_SCRIPTED = frozenset({"vue", "svelte"})


def parse_file(path: str, text: str, language: str) -> ParsedFile:
    r"""Returns the chunks, definitions and comments of one file. `text` has `\n` newlines; no text raises an error.

    `path` only decides whether C is read as C++, which it is in a `.h` file.
    """
    if language == "notebook":
        from .notebook import parse_notebook

        return parse_notebook(text)
    if language in PROSE:
        from .prose import parse_prose

        return parse_prose(text, language)
    from .code import parse_code, parse_scripted

    return parse_scripted(text, language) if language in _SCRIPTED else parse_code(text, language, path)
