"""From a path to what the index stores of it: read, judged, parsed, analysed, hashed. No database, no model."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from sidecar.engine.ports import Parts
from sidecar.errors import FileNotFound, SidecarError
from sidecar.model import Collection, FileContent, FoundFile, Judged, SkippedPath, Stat
from sidecar.parts.manifest import KnownFile, NewFile
from sidecar.parts.paths import storable
from sidecar.settings.load import Settings

# Two changes within one tick of the file system's clock leave the same mtime behind; FAT counts in 2 s.
SETTLING_NS = 2_000_000_000
# A language nobody has rules for is cut into windows of lines.
_NO_LANGUAGE = "none"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file ready to be written. `bodies` is parallel to `new.chunks`: what the model is to read."""

    new: NewFile
    terms: Any
    bodies: Sequence[str]
    path_text: str


@dataclass(frozen=True, slots=True)
class Touched:
    """Same bytes as indexed, another time stamp."""

    path: str
    stat: Stat
    settled: bool


@dataclass(frozen=True, slots=True)
class LeftOut:
    skipped: SkippedPath
    stat: Stat
    settled: bool


@dataclass(frozen=True, slots=True)
class Gone:
    path: str


@dataclass(frozen=True, slots=True)
class Failed:
    path: str
    message: str


Outcome: TypeAlias = Prepared | Touched | LeftOut | Gone | Failed


class Preparer:
    """Prepares files of one workspace; `buffers` holds the unsaved text of open editors by path."""

    def __init__(self, root: str, parts: Parts, settings: Settings, buffers: Mapping[str, str]) -> None:
        self.root = root
        self.settings = settings
        self._parts = parts
        self._buffers = buffers
        self._by_structure = settings.chunking_strategy == "code-aware"
        self._check_content: Callable[[str, FileContent], Judged] = parts.make_content_check(root)

    def prepare(self, found: FoundFile, known: KnownFile | None) -> Outcome:
        """Never raises for what is the file's own fault."""
        try:
            return self._prepare(found, known)
        except FileNotFound:
            return Gone(found.path)
        except SidecarError as error:
            return Failed(found.path, error.message)
        except Exception as error:
            # A parser that chokes on one file must not end the indexing of all others.
            return Failed(found.path, f"{type(error).__name__}: {error}")

    def has_buffer(self, path: str) -> bool:
        return path in self._buffers

    def _prepare(self, found: FoundFile, known: KnownFile | None) -> Outcome:
        content, buffered = self._read(found.path)
        settled = not buffered and time.time_ns() - content.stat.mtime_ns > SETTLING_NS
        if known is not None and known.sha256 == content.sha256 and known.buffered == buffered:
            return Touched(found.path, content.stat, settled)
        judged = self._check_content(found.path, content)
        if not judged.decision.indexed:
            return LeftOut(SkippedPath(found.path, judged.decision), content.stat, settled)
        # From here on nobody sees the text that was read.
        kept = replace(content, text=judged.text)
        return self._parse(found.path, found.collection, kept, judged.masked, settled, buffered)

    def _read(self, path: str) -> tuple[FileContent, bool]:
        text = self._buffers.get(path)
        if text is None:
            return self._parts.read_file(self.root, path, self.settings.max_file_size), False
        stat = Stat(len(text), 0, 0, 0)
        text = storable(text.replace("\r\n", "\n").replace("\r", "\n"))  # an editor may send half a character
        return FileContent(text, stat, hashlib.sha256(text.encode()).digest(), "utf-8"), True

    def _parse(
        self, path: str, collection: Collection, content: FileContent, masked: int, settled: bool, buffered: bool
    ) -> Prepared:
        parts = self._parts
        language = parts.language_of(path, content.text[:200].split("\n", 1)[0])
        parsed = parts.parse_file(path, content.text, language if self._by_structure else _NO_LANGUAGE)
        bodies = [parts.body_text(chunk) for chunk in parsed.chunks]
        path_text = parts.path_text(path)
        new = NewFile(
            path=path,
            collection=collection,
            language=language,
            parser=parsed.parser,
            sha256=content.sha256,
            stat=content.stat,
            settled=settled,
            buffered=buffered,
            path_hash=text_hash(path_text),
            chunks=parsed.chunks,
            body_hashes=[text_hash(body) for body in bodies],
            masked=masked,
        )
        return Prepared(new, parts.lexical.analyse(path, parsed, collection), bodies, path_text)


def path_of(outcome: Outcome) -> str:
    if isinstance(outcome, Prepared):
        return outcome.new.path
    return outcome.skipped.path if isinstance(outcome, LeftOut) else outcome.path


def text_hash(text: str) -> bytes:
    """The 16 bytes under which the vector of a text is kept. Raises UnicodeEncodeError for text that cannot be."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
