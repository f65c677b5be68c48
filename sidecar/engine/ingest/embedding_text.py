"""What the embedding model reads of a chunk: its own text under its enclosing names, and apart from it its path.

A chunk's vector is normalise(vector(body_text) + path_weight * vector(path_text)). The two are kept separately, so that
a renamed file embeds no chunk again.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from sidecar.model import Chunk
from sidecar.parts.lexical.analyse import file_stem


def body_text(chunk: Chunk) -> str:
    """Enclosing names, then the text as it stands."""
    return f"{' '.join(chunk.enclosing)}\n{chunk.text}" if chunk.enclosing else chunk.text


def path_text(path: str) -> str:
    """The file's stem (its folder's name for `mod.rs`, `index.js` and such) before the words of the whole path."""
    pure = PurePosixPath(path)
    parts = " ".join((*pure.parts[:-1], pure.name.replace(".", " ")))
    return f"{file_stem(path)} {parts}"
