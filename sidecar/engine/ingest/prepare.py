"""Turns a path into what the index stores: reads, judges, parses, analyses and hashes the file. Uses no database and no
model."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from sidecar.engine.ports import Parts
from sidecar.errors import FileNotFound, SidecarError
from sidecar.model.files import Chunk, Decision, FileContent, FoundFile, Judged, ParsedFile, Rule, SkippedPath, Stat
from sidecar.parts.lexical.analyse import FileTerms
from sidecar.parts.manifest import KnownFile, NewFile
from sidecar.parts.paths import storable
from sidecar.settings.load import Settings

# Two changes within one tick of the file system's clock have the same mtime; FAT's ticks are 2 s long.
SETTLING_NS = 2_000_000_000
# No grammar has this name, so the parser cuts the text into windows of lines.
_NO_LANGUAGE = "none"
BY_LINES = "lines: parser "
"""Prefix of a file's `parser` value if the file was cut by lines because its grammar could not parse it within the
limits. It is followed by what the parser did."""

Hopeless: TypeAlias = Mapping[tuple[bytes, str], str]
"""Texts that are not parsed again, by SHA-256 and language, each with what the parser did."""
_NOTHING: Hopeless = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Job:
    """A file to prepare.

    `known` is the manifest's row, `text` the unsaved text from an open editor. If `by_lines` is not empty, the file is
    cut by lines instead of parsed; it says what the parser did.
    """

    found: FoundFile
    known: KnownFile | None = None
    text: str | None = None
    by_lines: str = ""

    @property
    def size(self) -> int:
        """The size of the file in bytes, or of the unsaved text in characters."""
        return self.found.stat.size if self.text is None else len(self.text)


@dataclass(frozen=True, slots=True)
class Look:
    """A request to judge a file by its text without indexing it. `size` is in bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class ExpectedChunk:
    """The expected place of a chunk: its lines (1-based, both included), the names around it, and the hash of its text
    that is embedded."""

    start_line: int
    end_line: int
    enclosing: tuple[str, ...]
    body_hash: bytes


@dataclass(frozen=True, slots=True)
class Recall:
    """A file that was indexed elsewhere, to be compared with the one on disk. `size` is in bytes.

    Its content must have git's blob id `blob` or, if that is empty, the hash `sha256`. `chunks` are those whose texts
    are wanted.
    """

    path: str
    size: int
    chunks: Sequence[ExpectedChunk]
    blob: str = ""
    sha256: bytes = b""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A file on disk that is the expected one. `texts` are parallel to the chunks; `blob` is git's id of its bytes."""

    path: str
    stat: Stat
    settled: bool
    sha256: bytes
    blob: str
    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a file may be indexed, by its text. `sha256` and `encoding` are empty if the file could not be read."""

    decision: Decision
    sha256: bytes
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file that is ready to be written. `bodies` are the texts to embed, parallel to `new.chunks`."""

    new: NewFile
    terms: FileTerms
    bodies: Sequence[str]
    path_text: str


@dataclass(frozen=True, slots=True)
class Touched:
    """The file has the same bytes as its indexed version; only its stat and git's id of the bytes have to be
    recorded."""

    path: str
    stat: Stat
    settled: bool
    blob: bytes = b""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The file's text excludes it from the index."""

    skipped: SkippedPath
    stat: Stat
    settled: bool


@dataclass(frozen=True, slots=True)
class Gone:
    """The file no longer exists."""

    path: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The file could not be read or prepared; `message` says why."""

    path: str
    message: str


Outcome: TypeAlias = Prepared | Touched | LeftOut | Gone | Failed


class Preparer:
    """Prepares files of one workspace in the current process."""

    def __init__(self, root: str, parts: Parts, settings: Settings) -> None:
        self.root = root
        self.settings = settings
        self._parts = parts
        self._by_structure = settings.chunking_strategy == "code-aware"
        self._check_content: Callable[[str, FileContent], Judged] = parts.make_content_check(root)

    def prepare(self, job: Job, hopeless: Hopeless = _NOTHING) -> Outcome:
        """Reads, judges, parses and analyses one file. Never raises because of the file: returns `Gone` or `Failed`
        instead."""
        path = job.found.path
        try:
            return self._prepare(job, hopeless)
        except FileNotFound:
            return Gone(path)
        except SidecarError as error:
            return Failed(path, error.message)
        except Exception as error:
            # A parser that fails on one file must not stop the indexing of the others.
            return Failed(path, f"{type(error).__name__}: {error}")

    def judge(self, look: Look) -> Judgement:
        """Judges whether the file may be indexed, by its text. A file that cannot be read is judged `UNREADABLE`."""
        try:
            content = self._parts.read_file(self.root, look.path, self.settings.max_file_size)
            judged = self._check_content(look.path, content)
        except SidecarError as error:
            return Judgement(Decision(Rule.UNREADABLE, error.message), b"")
        return Judgement(judged.decision, content.sha256, content.encoding)

    def recall(self, recall: Recall) -> Recalled | None:
        """Returns the file with the texts of its chunks if the file on disk is the expected one and its chunks are
        where they are expected; otherwise None. Never raises."""
        try:
            content, blobs = self._parts.read_with_blobs(self.root, recall.path, self.settings.max_file_size)
        except Exception:  # any problem with the file shows when it is prepared
            return None
        if recall.blob not in blobs and recall.sha256 != content.sha256:
            return None
        lines = content.text.split("\n")
        texts = ["\n".join(lines[place.start_line - 1 : place.end_line]) for place in recall.chunks]
        for place, text in zip(recall.chunks, texts, strict=True):
            chunk = Chunk(place.start_line, place.end_line, text, "", (), place.enclosing)
            if text_hash(self._parts.body_text(chunk)) != place.body_hash:
                return None
        stat = content.stat
        return Recalled(recall.path, stat, is_settled(stat), content.sha256, blobs[0], texts)

    def _prepare(self, job: Job, hopeless: Hopeless) -> Outcome:
        found, known, buffered = job.found, job.known, job.text is not None
        content = self._read(job)
        settled = not buffered and is_settled(content.stat)
        same_place = known is not None and known.collection == found.collection and known.buffered == buffered
        if known is not None and same_place and known.sha256 == content.sha256:
            return Touched(found.path, content.stat, settled, content.blob)
        judged = self._check_content(found.path, content)
        if not judged.decision.indexed:
            return LeftOut(SkippedPath(found.path, judged.decision), content.stat, settled)
        # From here on only the text with masked secrets is used.
        kept = replace(content, text=judged.text)
        language = self._parts.language_of(found.path, kept.text[:200].split("\n", 1)[0])
        parsed = self._parse(found.path, kept.text, language, job.by_lines or hopeless.get((kept.sha256, language), ""))
        return self._prepared(found, language, kept, parsed, judged.masked, settled, buffered)

    def _read(self, job: Job) -> FileContent:
        if job.text is None:
            return self._parts.read_file(self.root, job.found.path, self.settings.max_file_size)
        text = storable(job.text.replace("\r\n", "\n").replace("\r", "\n"))  # an editor may send half a surrogate pair
        return FileContent(text, Stat(len(job.text), 0, 0, 0), hashlib.sha256(text.encode()).digest(), "utf-8")

    def _parse(self, path: str, text: str, language: str, by_lines: str) -> ParsedFile:
        """Cuts by structure; by lines if the settings say so, if `by_lines` is not empty, or if the parser raises."""
        if not self._by_structure:
            return self._parts.parse_file(path, text, _NO_LANGUAGE)
        if not by_lines:
            try:
                return self._parts.parse_file(path, text, language)
            except Exception as error:
                by_lines = f"raised {type(error).__name__}"
        return replace(self._parts.parse_file(path, text, _NO_LANGUAGE), parser=f"{BY_LINES}{by_lines}")

    def _prepared(
        self,
        found: FoundFile,
        language: str,
        content: FileContent,
        parsed: ParsedFile,
        masked: int,
        settled: bool,
        buffered: bool,
    ) -> Prepared:
        parts, path = self._parts, found.path
        bodies = [parts.body_text(chunk) for chunk in parsed.chunks]
        path_text = parts.path_text(path)
        new = NewFile(
            path=path,
            collection=found.collection,
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
            blob=content.blob,
        )
        return Prepared(new, parts.lexical.analyse(path, parsed), bodies, path_text)


def is_settled(stat: Stat) -> bool:
    """Whether the stat is old enough that any later change of the file must alter its mtime."""
    return time.time_ns() - stat.mtime_ns > SETTLING_NS


def path_of(outcome: Outcome) -> str:
    """Returns the path of an outcome."""
    if isinstance(outcome, Prepared):
        return outcome.new.path
    return outcome.skipped.path if isinstance(outcome, LeftOut) else outcome.path


def text_hash(text: str) -> bytes:
    """Returns the 16-byte BLAKE2b hash under which a text's vector is cached. Raises UnicodeEncodeError if the text
    contains a lone surrogate."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
