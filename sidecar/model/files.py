"""Files of a workspace, and the results of parsing them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from os import stat_result

from sidecar.model.quick_pickle import quickly_pickled
from sidecar.model.terms import Collection


class Rule(StrEnum):
    """Why a path is or is not indexed. `Decision.detail` names the file, line or pattern behind it."""

    INDEXED = "indexed"
    DENIED = "deny-list"
    CONFIG_EXCLUDE = "config-exclude"
    CONFIG_INCLUDE = "not-in-config-include"
    IN_DOUBT = "wrong-glob"
    NOT_IN_PATTERNS = "not-in-patterns"
    GITIGNORE = "gitignore"
    SIDECARIGNORE = "sidecarignore"
    SECRET_NAME = "secret-by-name"
    SECRET_CONTENT = "secret-by-content"
    BINARY = "binary"
    ENCODING = "unknown-encoding"
    MINIFIED = "minified"
    GENERATED = "generated"
    VENDORED = "vendored"
    TOO_LARGE = "too-large"
    TOO_MANY = "too-many-files"
    SYMLINK = "symlink-out-of-workspace"
    LINK = "symlink"
    FOLDER = "folder"
    NOT_A_FILE = "not-a-regular-file"
    MISSING = "no-such-file"
    UNREADABLE = "unreadable"
    NOT_READ = "not-read-now"
    TOO_MANY_RULES = "too-many-rules"
    DOCS_OFF = "documentation-not-indexed"


CHARS_PER_TOKEN = 4
"""An estimate, by which the length of a text is converted to tokens of a language model."""

COULD_NOT_BE = frozenset({Rule.NOT_READ, Rule.UNREADABLE, Rule.TOO_MANY_RULES})
"""Rules for paths that are left out because something went wrong, not because somebody excluded them."""


NO_FILES = frozenset({Rule.FOLDER, Rule.LINK, Rule.SYMLINK, Rule.NOT_A_FILE})
"""Rules for paths that are no files of the workspace, whatever the settings are."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a path belongs in the index: the rule that decides, and the line, pattern or reason behind it."""

    rule: Rule
    detail: str = ""

    @property
    def indexed(self) -> bool:
        """Whether the path belongs in the index."""
        return self.rule is Rule.INDEXED


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a file's text.

    `text` is what may be stored: the file's text with `masked` secret values hidden and nothing else changed, so lines
    and columns match the file. It is empty if the file is left out.
    """

    decision: Decision
    text: str
    masked: int = 0


@dataclass(frozen=True, slots=True)
class Stat:
    """The values that cheaply show whether a file has changed: size in bytes, mtime and ctime in ns, inode."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, found: stat_result) -> Stat:
        """Converts the result of `os.stat` to signed 64-bit numbers, which is what SQLite stores.

        Times beyond that range (after the year 2262) are clamped to its end; inodes wrap around.
        """
        inode, modified, changed = found.st_ino, found.st_mtime_ns, found.st_ctime_ns
        if inode >= _BEYOND:
            inode = (inode + _BEYOND) % (2 * _BEYOND) - _BEYOND
        if not (-_BEYOND <= modified < _BEYOND and -_BEYOND <= changed < _BEYOND):
            modified, changed = _bounded(modified), _bounded(changed)
        return cls(found.st_size, modified, changed, inode)


_BEYOND = 2**63


def _bounded(number: int) -> int:
    return max(-_BEYOND, min(number, _BEYOND - 1))


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that the walk offers to the index. `path` is relative to the root, `/`-separated, NFC."""

    path: str
    stat: Stat
    collection: Collection


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """A file that the walk leaves out, or a whole folder: its `path` ends in `/`."""

    path: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Files and skipped paths, each sorted by path. A folder that was not entered is one skipped path that ends in `/`.

    `unread` are the skipped paths that could not be examined, without the `/`: it is unknown whether they and their
    contents belong in the index. Their rule is NOT_READ, or UNREADABLE if another attempt soon is pointless.
    `first_beyond` is the first path that the limit on the number of files leaves out; None if it leaves out none, or if
    only a part of the workspace was walked.
    """

    files: tuple[FoundFile, ...]
    skipped: tuple[SkippedPath, ...]
    unread: frozenset[str] = frozenset()
    first_beyond: str | None = None


@dataclass(frozen=True, slots=True)
class IndexedBlob:
    """A file on disk, by its `stat`, and git's id (20 bytes) of the content that was indexed."""

    stat: Stat
    blob: bytes


@dataclass(frozen=True, slots=True)
class FileContent:
    r"""One consistent read of a file: its stat is the same before and after.

    `text` is decoded from any encoding and has `\n` newlines; `sha256` is the digest of the raw bytes. If the file is
    not text or its encoding is unknown, `text` is empty and `reason` says why. `blob` is git's id of these bytes, 20
    bytes; empty for unsaved text.
    """

    text: str
    stat: Stat
    sha256: bytes
    encoding: str
    reason: str = ""
    blob: bytes = b""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The state of a working tree in git; equal values mean that git has not changed its files in between.

    `head` changes when HEAD moves (commit, checkout, merge). `index_time`, in seconds since the epoch, also changes
    when git writes files without moving HEAD (stash, reset, restore), and when files are staged; 0 if git has no index.
    """

    head: str
    index_time: float


KINDS = (
    *("class", "type", "function", "method", "constructor", "macro", "module", "namespace", "constant", "variable"),
    *("field", "section", "code", "cell", "text"),
)
"""Every kind that a chunk can have; those up to section are also kinds of definitions."""


@quickly_pickled
@dataclass(frozen=True, slots=True)
class Definition:
    """A named thing that a file defines. Lines are 1-based, end inclusive.

    `kind`: class, type, function, method, constructor, macro, module, namespace, constant, variable, field, section (a
    Markdown heading). `container` joins the enclosing names by `.`; `signature` is the text up to the body.
    """

    name: str
    kind: str
    start_line: int
    end_line: int
    depth: int = 0
    exported: bool = True
    signature: str = ""
    container: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment or docstring; adjacent line comments are joined into one. `line` is the first line, 1-based."""

    line: int
    text: str


@quickly_pickled
@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of one file that is embedded and shown. Lines are 1-based, end inclusive.

    `kind`: the definition's kind if the chunk contains one definition or a part of one, otherwise code, section, cell
    or text. `names`: the definitions that start in it. `enclosing`: the names around it, outermost first.
    """

    start_line: int
    end_line: int
    text: str
    kind: str
    names: tuple[str, ...] = ()
    enclosing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """One file cut into chunks.

    `parser`: tree-sitter, markdown, prose, notebook or lines; `lines: ` and a reason if parsing failed and the file is
    cut by lines instead.
    """

    language: str
    parser: str
    chunks: tuple[Chunk, ...]
    definitions: tuple[Definition, ...] = ()
    comments: tuple[Comment, ...] = ()
