"""The two texts of a chunk that the model embeds: its body below its enclosing names, and its path.

A chunk's vector is normalise(vector(body_text) + path_weight * vector(path_text)). The two vectors are cached
separately, so after a file is renamed, none of its bodies is embedded again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Protocol

from sidecar.parts.encoded import without_encoded
from sidecar.parts.lexical.analyse import file_stem


class WithBody(Protocol):
    """A chunk, as parsed or as stored."""

    @property
    def text(self) -> str:
        """The chunk's text."""

    @property
    def enclosing(self) -> tuple[str, ...]:
        """The names of the definitions around it, outermost first."""


def body_text(chunk: WithBody) -> str:
    """Returns the chunk's text without encoded data, below a line of its enclosing names if it has any."""
    return _below_names(without_encoded(chunk.text), chunk)


def has_body(chunk: WithBody, digest: bytes, hash_of: Callable[[str], bytes]) -> bool:
    """Whether `digest` is the hash of the chunk's `body_text`."""
    # Few texts contain encoded data, and looking for it takes six times as long as a hash.
    return hash_of(_below_names(chunk.text, chunk)) == digest or hash_of(body_text(chunk)) == digest


def _below_names(text: str, chunk: WithBody) -> str:
    return f"{' '.join(chunk.enclosing)}\n{text}" if chunk.enclosing else text


def path_text(path: str) -> str:
    """Returns the file's stem, followed by the words of the whole path. The stem of `mod.rs`, `index.js` and the like
    is the name of their folder."""
    pure = PurePosixPath(path)
    parts = " ".join((*pure.parts[:-1], pure.name.replace(".", " ")))
    return f"{file_stem(path)} {parts}"
