"""From a path to what the index stores of it: read, judged, parsed, analysed, hashed. No database, no model."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from sidecar.engine.ports import Parts
from sidecar.errors import FileNotFound, SidecarError
from sidecar.model import Decision, FileContent, FoundFile, Judged, ParsedFile, Rule, SkippedPath, Stat
from sidecar.parts.lexical.analyse import FileTerms
from sidecar.parts.manifest import KnownFile, NewFile
from sidecar.parts.paths import storable
from sidecar.settings.load import Settings

# Two changes within one tick of the file system's clock leave the same mtime behind; FAT counts in 2 s.
SETTLING_NS = 2_000_000_000
# A language nobody has rules for is cut into windows of lines.
_NO_LANGUAGE = "none"
BY_LINES = "lines: parser "
"""How the `parser` of a file begins that its grammar could not parse within the limits; what it did follows."""

Hopeless: TypeAlias = Mapping[tuple[bytes, str], str]
"""By SHA-256 and language: what the parser did to texts that are not parsed again."""
_NOTHING: Hopeless = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Job:
    """A file to prepare: what the manifest knows of it, the unsaved text of an open editor, and in `by_lines` what its
    parser did, if it is not to be parsed again."""

    found: FoundFile
    known: KnownFile | None = None
    text: str | None = None
    by_lines: str = ""

    @property
    def size(self) -> int:
        return self.found.stat.size if self.text is None else len(self.text)


@dataclass(frozen=True, slots=True)
class Look:
    """A file to judge by its text, without indexing it."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the text says of whether a file is indexed; `sha256` is empty where it could not be read."""

    decision: Decision
    sha256: bytes


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file ready to be written. `bodies` is parallel to `new.chunks`: what the model is to read."""

    new: NewFile
    terms: FileTerms
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
    """Prepares files of one workspace, in this process."""

    def __init__(self, root: str, parts: Parts, settings: Settings) -> None:
        self.root = root
        self.settings = settings
        self._parts = parts
        self._by_structure = settings.chunking_strategy == "code-aware"
        self._check_content: Callable[[str, FileContent], Judged] = parts.make_content_check(root)

    def prepare(self, job: Job, hopeless: Hopeless = _NOTHING) -> Outcome:
        """Never raises for what is the file's own fault."""
        path = job.found.path
        try:
            return self._prepare(job, hopeless)
        except FileNotFound:
            return Gone(path)
        except SidecarError as error:
            return Failed(path, error.message)
        except Exception as error:
            # A parser that chokes on one file must not end the indexing of all others.
            return Failed(path, f"{type(error).__name__}: {error}")

    def judge(self, look: Look) -> Judgement:
        try:
            content = self._parts.read_file(self.root, look.path, self.settings.max_file_size)
            judged = self._check_content(look.path, content)
        except SidecarError as error:
            return Judgement(Decision(Rule.UNREADABLE, error.message), b"")
        return Judgement(judged.decision, content.sha256)

    def _prepare(self, job: Job, hopeless: Hopeless) -> Outcome:
        found, known, buffered = job.found, job.known, job.text is not None
        content = self._read(job)
        settled = not buffered and is_settled(content.stat)
        if known is not None and known.sha256 == content.sha256 and known.buffered == buffered:
            return Touched(found.path, content.stat, settled)
        judged = self._check_content(found.path, content)
        if not judged.decision.indexed:
            return LeftOut(SkippedPath(found.path, judged.decision), content.stat, settled)
        # From here on nobody sees the text that was read.
        kept = replace(content, text=judged.text)
        language = self._parts.language_of(found.path, kept.text[:200].split("\n", 1)[0])
        parsed = self._parse(found.path, kept.text, language, job.by_lines or hopeless.get((kept.sha256, language), ""))
        return self._prepared(found, language, kept, parsed, judged.masked, settled, buffered)

    def _read(self, job: Job) -> FileContent:
        if job.text is None:
            return self._parts.read_file(self.root, job.found.path, self.settings.max_file_size)
        text = storable(job.text.replace("\r\n", "\n").replace("\r", "\n"))  # an editor may send half a character
        return FileContent(text, Stat(len(job.text), 0, 0, 0), hashlib.sha256(text.encode()).digest(), "utf-8")

    def _parse(self, path: str, text: str, language: str, by_lines: str) -> ParsedFile:
        """By structure; by lines where the settings say so, or where the parser did what it must not."""
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
        )
        return Prepared(new, parts.lexical.analyse(path, parsed, found.collection), bodies, path_text)


class PreparersHere:
    """`ports.Preparers` without a process: for tests of what comes after preparing. Nothing limits a parser here."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def prepare(self, root: str, settings: Settings, jobs: Sequence[Job]) -> Sequence[Outcome]:
        preparer = Preparer(root, self._parts, settings)
        return [preparer.prepare(job) for job in jobs]

    def prepare_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Job]]
    ) -> Iterator[tuple[Sequence[Job], Sequence[Outcome]]]:
        for piece in pieces:
            yield piece, self.prepare(root, settings, piece)

    def judge(self, root: str, settings: Settings, look: Look) -> Judgement:
        return Preparer(root, self._parts, settings).judge(look)

    def warm(self) -> None:
        pass

    def rest(self) -> None:
        pass


def is_settled(stat: Stat) -> bool:
    """Whether a change since it was read would show in its time stamp."""
    return time.time_ns() - stat.mtime_ns > SETTLING_NS


def path_of(outcome: Outcome) -> str:
    if isinstance(outcome, Prepared):
        return outcome.new.path
    return outcome.skipped.path if isinstance(outcome, LeftOut) else outcome.path


def text_hash(text: str) -> bytes:
    """The 16 bytes under which the vector of a text is kept. Raises UnicodeEncodeError for text that cannot be."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
