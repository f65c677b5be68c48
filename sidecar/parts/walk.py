"""Which files of a workspace are offered to the index, and for each that is not, by which rule.

Walks folders and judges single paths with one and the same judgement. Opens no file but ignore files: what only the
content tells is in `secrets` and `classify`.
"""

from __future__ import annotations

import os
import stat as modes
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sidecar import errors
from sidecar.model import (
    Decision,
    FoundFile,
    IsCancelled,
    Rule,
    SkippedPath,
    Stat,
    never_cancelled,
)
from sidecar.parts import deny
from sidecar.parts.globs import compile_glob
from sidecar.parts.ignore import IgnoreRules, Level, git_verdict, sidecar_verdict
from sidecar.parts.languages import is_documentation
from sidecar.parts.paths import disk_path, normalise_root
from sidecar.parts.secrets.names import secret_name

_INDEXED = Decision(Rule.INDEXED)
_REPARSE_MOUNT_POINT = 0xA0000003


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """What a configuration says about files. Sizes in bytes; `global_ignore` as in `IgnoreRules`."""

    include: tuple[str, ...] = ("**/*",)
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    max_file_size: int = 1024 * 1024
    max_files: int = 50_000
    doc_patterns: tuple[str, ...] = ("**/*.md", "**/*.txt")
    index_docs: bool = True
    global_ignore: str | None = None


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Both sorted by path. A folder that was not entered is one skipped path that ends in `/`."""

    files: tuple[FoundFile, ...]
    skipped: tuple[SkippedPath, ...]


@dataclass(slots=True)
class _Harvest:
    files: list[FoundFile] = field(default_factory=list)
    skipped: list[SkippedPath] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder still to be entered. `taken_back`: a `.sidecarignore` line re-included it by name."""

    path: str
    absolute: str
    outer: Level
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    """One name in a folder: `stat` as lstat has it, None when there is nothing (or nothing to be seen)."""

    path: str
    name: str
    absolute: str
    is_folder: bool
    stat: os.stat_result | None
    unreadable: str = ""


class _Globs:
    """A list of the configuration's globs. A literal last segment or a trailing slash names a folder's contents too."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.everything = any(pattern in ("**/*", "**") for pattern in patterns)
        self._files = [(pattern, compile_glob(pattern)) for pattern in patterns]
        self._folders = [(pattern, compile_glob(whole)) for pattern in patterns if (whole := _folder_glob(pattern))]
        self._contents = [compile_glob(f"{whole}/**") for pattern in patterns if (whole := _folder_glob(pattern))]

    def matching(self, path: str, is_folder: bool) -> str:
        """The glob that covers this very path, or "". For a folder: one that covers all that is in it."""
        candidates = self._folders if is_folder else self._files
        return next((pattern for pattern, matches in candidates if matches(path)), "")

    def includes(self, path: str) -> bool:
        if self.everything or self.matching(path, False):
            return True
        return any(matches(path) for matches in self._contents)


def _folder_glob(pattern: str) -> str:
    """The glob of folders that a pattern covers whole: `docs`, `docs/` and `docs/**` all cover `docs`."""
    if pattern.endswith("/**"):
        return pattern.removesuffix("/**")
    if pattern.endswith("/"):
        return pattern.rstrip("/")
    last = pattern.rsplit("/", 1)[-1]
    return "" if any(char in last for char in "*?[{}") else pattern


class Walker:
    """Walks one root. Not for several threads at once."""

    def __init__(self, root: str, options: WalkOptions | None = None) -> None:
        self._root = normalise_root(root)
        self._options = options or WalkOptions()
        self._include = _Globs(self._options.include)
        self._exclude = _Globs(self._options.exclude)
        self._rules = IgnoreRules(self._root, self._options.respect_gitignore, self._options.global_ignore)
        self._last_kept: str | None = None

    @property
    def options(self) -> WalkOptions:
        return self._options

    # ------------------------------------------------------------ many

    def walk(self, cancelled: IsCancelled = never_cancelled) -> WalkResult:
        """The whole workspace. Raises Cancelled, and WorkspaceNotFound when the root is no folder."""
        if not os.path.isdir(self._root):  # noqa: PTH112
            raise errors.WorkspaceNotFound(f"{self._root} is not a folder.")
        harvest = self._descend(_Folder("", self._root, self._rules.outermost()), cancelled)
        files, kept = sorted(harvest.files, key=_path_of), self._options.max_files
        self._last_kept = files[kept - 1].path if len(files) > kept else None
        return self._result(files, harvest.skipped)

    def subtree(self, path: str, cancelled: IsCancelled = never_cancelled) -> WalkResult:
        """One folder of it, or one file; empty when nothing is there. The limit on the count is the last walk's."""
        if not path.strip("/"):
            return self.walk(cancelled)
        decision, entry, folder = self._trace(path.strip("/"))
        if entry.stat is None and not entry.unreadable:
            return WalkResult((), ())
        if not decision.indexed:
            at = entry.path + "/" * entry.is_folder
            return WalkResult((), (SkippedPath(at, decision),))
        if folder is None:
            return WalkResult((self._offer(entry),), ())
        harvest = self._descend(folder, cancelled)
        return self._result(sorted(harvest.files, key=_path_of), harvest.skipped)

    def _result(self, files: list[FoundFile], skipped: list[SkippedPath]) -> WalkResult:
        last = self._last_kept
        if last is not None:
            skipped = skipped + [SkippedPath(file.path, self._too_many()) for file in files if file.path > last]
            files = [file for file in files if file.path <= last]
        return WalkResult(tuple(files), tuple(sorted(skipped, key=_path_of)))

    def _too_many(self) -> Decision:
        return Decision(Rule.TOO_MANY, f"the first {self._options.max_files} files in path order are indexed")

    def _descend(self, start: _Folder, cancelled: IsCancelled) -> _Harvest:
        harvest, pending = _Harvest(), [start]
        while pending:
            if cancelled():
                raise errors.Cancelled()
            folder = pending.pop()
            try:
                with os.scandir(folder.absolute) as listing:
                    entries = list(listing)
            except OSError as error:
                decision = Decision(Rule.UNREADABLE, error.strerror or str(error))
                harvest.skipped.append(SkippedPath(_shown(folder.path) + "/", decision))
                continue
            pending.extend(self._enter(folder, entries, harvest))
        return harvest

    def _enter(self, folder: _Folder, entries: list[os.DirEntry[str]], harvest: _Harvest) -> list[_Folder]:
        names = deny.KnownNames({entry.name for entry in entries})
        refused = self._refused_by_contents(folder, names)
        if refused:
            harvest.skipped.append(SkippedPath(folder.path + "/", refused))
            return []
        level = self._rules.level(folder.path, folder.absolute, folder.outer)
        prefix, inner, seen = (f"{folder.path}/" if folder.path else ""), list[_Folder](), set[str]()
        for found in sorted(entries, key=_name_of):
            entry, problem = _entry_of(found, prefix, names, seen)
            decision, taken_back = (problem, False) if problem else self._judge(entry, level, names)
            if not decision.indexed:
                harvest.skipped.append(SkippedPath(_shown(entry.path) + "/" * entry.is_folder, decision))
            elif entry.is_folder:
                inner.append(_Folder(entry.path, entry.absolute, level, taken_back))
            else:
                harvest.files.append(self._offer(entry))
        return inner

    # ------------------------------------------------------------ one

    def decide(self, path: str) -> Decision:
        """What the walk says of one relative path, its folders included; of a missing one, what its name says."""
        decision, entry, folder = self._trace(path.strip("/"))
        if decision.indexed and folder is None and self._last_kept is not None and entry.path > self._last_kept:
            return self._too_many()
        return decision

    def found(self, path: str) -> FoundFile | SkippedPath:
        """One file as the walk would offer or skip it. Raises FileNotFound when nothing is there."""
        if not path.strip("/"):
            return SkippedPath("/", Decision(Rule.FOLDER, "it is the workspace"))
        decision, entry, folder = self._trace(path.strip("/"))
        if decision.indexed and entry.stat is None:
            raise errors.FileNotFound(f"{path} does not exist.")
        if decision.indexed and folder is not None:
            return SkippedPath(f"{entry.path}/", Decision(Rule.FOLDER, "it is a folder"))
        if decision.indexed and self._last_kept is not None and entry.path > self._last_kept:
            decision = self._too_many()
        if not decision.indexed:
            return SkippedPath(path.strip("/"), decision)
        return self._offer(entry)

    def _trace(self, path: str) -> tuple[Decision, _Entry, _Folder | None]:
        """Follow a path from the root; the decision, the entry where it ended, and the folder if that is one."""
        folder = _Folder("", self._root, self._rules.outermost())
        entry = _Entry("", "", self._root, True, None)
        if not path:
            return _INDEXED, entry, folder
        parts = path.split("/")
        for depth, name in enumerate(parts, 1):
            here = deny.NamesOnDisk(folder.absolute)
            level = self._rules.level(folder.path, folder.absolute, folder.outer)
            entry = _entry_at("/".join(parts[:depth]), folder.absolute, depth == len(parts))
            decision, taken_back = self._judge(entry, level, here)
            if not decision.indexed:
                return decision, entry, None
            if not entry.is_folder:
                return self._ended(entry, name, depth == len(parts)), entry, None
            folder = _Folder(entry.path, entry.absolute, level, taken_back)
            refused = self._refused_on_disk(folder, entry)
            if refused:
                return refused, entry, folder
        return _INDEXED, entry, folder

    @staticmethod
    def _ended(entry: _Entry, name: str, is_last: bool) -> Decision:
        return _INDEXED if is_last else Decision(Rule.NOT_A_FILE, f"{name} is not a folder")

    def _refused_on_disk(self, folder: _Folder, entry: _Entry) -> Decision | None:
        if entry.stat is not None and not os.access(folder.absolute, os.R_OK):
            return Decision(Rule.UNREADABLE, os.strerror(13))
        return self._refused_by_contents(folder, deny.NamesOnDisk(folder.absolute))

    # ------------------------------------------------------------ the judgement

    @staticmethod
    def _refused_by_contents(folder: _Folder, names: deny.Listing) -> Decision | None:
        if not folder.path or folder.taken_back:
            return None
        reason = deny.denied_by_contents(folder.path.rsplit("/", 1)[-1], names)
        return Decision(Rule.DENIED, reason) if reason else None

    def _judge(self, entry: _Entry, level: Level, siblings: deny.Listing) -> tuple[Decision, bool]:
        """The decision on one entry, and whether `.sidecarignore` took it back in. The order of the rules is here."""
        refused = deny.denied_by_name(entry.name, entry.is_folder)
        if refused:
            return Decision(Rule.DENIED, refused), False
        own = sidecar_verdict(level, entry.path, entry.is_folder)
        if own is not None and not own.indexed:
            return own, False
        glob = self._exclude.matching(entry.path, entry.is_folder)
        if glob:
            return Decision(Rule.CONFIG_EXCLUDE, glob), False
        if own is None:
            refused = deny.denied_by_siblings(entry.name, siblings) if entry.is_folder else ""
            if refused:
                return Decision(Rule.DENIED, refused), False
            ignored = git_verdict(level, entry.path, entry.is_folder)
            if ignored is not None and not ignored.indexed:
                return ignored, False
        return (_INDEXED if entry.is_folder else self._judge_file(entry)), own is not None

    def _judge_file(self, entry: _Entry) -> Decision:
        for rule in (self._special, _secret, _binary, self._size, self._collection):
            decision = rule(entry)
            if decision is not None:
                return decision
        return _INDEXED

    def _special(self, entry: _Entry) -> Decision | None:
        if entry.unreadable:
            return Decision(Rule.UNREADABLE, entry.unreadable)
        if entry.stat is None or modes.S_ISREG(entry.stat.st_mode):
            return None
        if not _is_link(entry.stat):
            return Decision(Rule.NOT_A_FILE, "a device, socket or pipe")
        target = os.path.realpath(entry.absolute)
        inside = target == self._root or target.startswith(self._root.rstrip(os.sep) + os.sep)
        if not inside:
            return Decision(Rule.SYMLINK, "a symbolic link that leads out of the workspace")
        if not os.path.exists(target):  # noqa: PTH110
            return Decision(Rule.LINK, "a symbolic link that leads nowhere")
        return Decision(Rule.LINK, "a symbolic link; what it leads to is looked at where it is")

    def _size(self, entry: _Entry) -> Decision | None:
        limit = self._options.max_file_size
        if entry.stat is None or entry.stat.st_size <= limit:
            return None
        return Decision(Rule.TOO_LARGE, f"{entry.stat.st_size} bytes; the limit is {limit}")

    def _collection(self, entry: _Entry) -> Decision | None:
        if not self._include.includes(entry.path):
            return Decision(Rule.CONFIG_INCLUDE, ", ".join(self._options.include)[:200])
        if not self._options.index_docs and self._is_documentation(entry.path):
            return Decision(Rule.DOCS_OFF, "indexDocs is off")
        return None

    def _is_documentation(self, path: str) -> bool:
        return is_documentation(path, self._options.doc_patterns)

    def _offer(self, entry: _Entry) -> FoundFile:
        assert entry.stat is not None
        found = Stat(entry.stat.st_size, entry.stat.st_mtime_ns, entry.stat.st_ctime_ns, entry.stat.st_ino)
        return FoundFile(entry.path, found, "docs" if self._is_documentation(entry.path) else "code")


def _secret(entry: _Entry) -> Decision | None:
    reason = secret_name(entry.path)
    return Decision(Rule.SECRET_NAME, reason) if reason else None


def _binary(entry: _Entry) -> Decision | None:
    extension = deny.binary_extension(entry.name)
    return Decision(Rule.BINARY, f"*.{extension}") if extension else None


# ---------------------------------------------------------------- entries


_path_of: Callable[[FoundFile | SkippedPath], str] = lambda item: item.path  # noqa: E731
_name_of: Callable[[os.DirEntry[str]], str] = lambda entry: entry.name  # noqa: E731


def _entry_of(
    found: os.DirEntry[str], prefix: str, names: deny.Listing, seen: set[str]
) -> tuple[_Entry, Decision | None]:
    """A scanned name as an entry, and what is wrong with the name itself."""
    name = found.name if found.name.isascii() else unicodedata.normalize("NFC", found.name)
    result, unreadable = None, ""
    try:
        result = found.stat(follow_symlinks=False)
    except OSError as error:
        unreadable = error.strerror or str(error)
    is_folder = result is not None and modes.S_ISDIR(result.st_mode) and not _is_link(result)
    entry = _Entry(prefix + name, name, found.path, is_folder, result, unreadable)
    if name.isascii():
        return entry, None
    try:
        name.encode()
    except UnicodeEncodeError:
        return entry, Decision(Rule.UNREADABLE, "its name is not valid UTF-8")
    if name in seen or (name != found.name and names.has(name)):
        return entry, Decision(Rule.UNREADABLE, "another file has this name in Unicode's normal form")
    seen.add(name)
    return entry, None


def _entry_at(path: str, folder: str, is_last: bool) -> _Entry:
    """The entry of one path on disk; a missing one counts as a folder when more of the path follows."""
    name = path.rsplit("/", 1)[-1]
    absolute = disk_path(folder, name)
    try:
        result = os.stat(absolute, follow_symlinks=False)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return _Entry(path, name, absolute, not is_last, None)
    except (OSError, ValueError) as error:
        return _Entry(path, name, absolute, False, None, getattr(error, "strerror", "") or str(error))
    return _Entry(path, name, absolute, modes.S_ISDIR(result.st_mode) and not _is_link(result), result)


def _is_link(result: os.stat_result) -> bool:
    """A symbolic link, or a junction of Windows."""
    return modes.S_ISLNK(result.st_mode) or getattr(result, "st_reparse_tag", 0) == _REPARSE_MOUNT_POINT


def _shown(path: str) -> str:
    """A path that can be stored and printed even when its name is not UTF-8."""
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()
