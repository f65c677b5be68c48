"""Decides which files of a workspace are offered to the index and, for every other file, which rule leaves it out.

Whole folders and single paths are judged by the same rules. Opens no files except ignore files; `secrets` and
`classify` judge the content.

A wrong glob in the settings stops nothing. Ignoring it would be wrong, because a wrong glob of `exclude` would then put
into the index what somebody wants out of it. So every file for which it may have been meant, by the text before its
first special character, stays as it is: in the index, and up to date, if it is there, else out of it. The same holds
for `include`, where the file would leave the index. A new index is refused, since nothing is there that could stay.
"""

from __future__ import annotations

import math
import os
import stat as modes
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sidecar import errors, shown
from sidecar.model.files import Decision, FoundFile, Rule, SkippedPath, Stat, WalkResult
from sidecar.model.terms import Collection, IsCancelled, never_cancelled
from sidecar.parts import deny
from sidecar.parts.data_folder import is_own_folder
from sidecar.parts.entries import NOT_LOOKED_AT, Entry, entry_at, entry_of, failed, is_link, is_real_folder, is_there
from sidecar.parts.files_limit import FilesLimit
from sidecar.parts.globs import compile_glob, glob_error, literal_start
from sidecar.parts.ignore import IgnoreRules, Level, ParsedPatterns, git_verdict, sidecar_verdict
from sidecar.parts.languages import documentation_of
from sidecar.parts.paths import normalise_root, storable
from sidecar.parts.pattern_index import MAX_RULES_BYTES, TooManyRules
from sidecar.parts.pattern_limit import PatternLimit
from sidecar.parts.secrets.names import secret_name
from sidecar.settings.declare import DECLARATIONS
from sidecar.settings.values import DEFAULTS, written

_INDEXED = Decision(Rule.INDEXED)
_NO_STAT = Stat(0, 0, 0, 0)
_LARGEST = next(one.high for one in DECLARATIONS if one.key == "maxFileSize")


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """The settings about files. Sizes are in bytes; for `global_ignore` see `IgnoreRules`.

    `limit` has the patterns that the index is limited to; None for the whole workspace.
    """

    include: tuple[str, ...] = DEFAULTS["include"]
    exclude: tuple[str, ...] = DEFAULTS["exclude"]
    respect_gitignore: bool = DEFAULTS["respectGitignore"]
    max_file_size: int = DEFAULTS["maxFileSize"]
    max_files: int = DEFAULTS["maxFiles"]
    doc_patterns: tuple[str, ...] = DEFAULTS["docPatterns"]
    index_docs: bool = DEFAULTS["indexDocs"]
    global_ignore: str | None = None
    limit: PatternLimit | None = None


@dataclass(slots=True)
class _Harvest:
    files: list[FoundFile] = field(default_factory=list)
    skipped: list[SkippedPath] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)

    def leave_out(self, path: str, is_folder: bool, decision: Decision) -> None:
        self.skipped.append(SkippedPath(storable(path) + "/" * is_folder, decision))

    def leave_unread(self, path: str, is_folder: bool, error: Exception) -> None:
        decision = failed(error)
        self.leave_out(path, is_folder, decision)
        if decision.rule is not Rule.TOO_MANY_RULES:
            self.unread.add(path)

    def leave(self, entry: Entry, decision: Decision) -> None:
        self.leave_out(entry.path, entry.is_folder, decision)
        if entry.failure is not None and decision.rule in NOT_LOOKED_AT:
            self.unread.add(entry.path)


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder still to be walked. `taken_back`: a `.sidecarignore` pattern re-includes it."""

    path: str
    absolute: str
    outer: Level
    taken_back: bool = False


class _Globs:
    """The globs of one setting.

    A glob with a literal last segment or a trailing slash also covers the contents of a folder.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        right = [pattern for pattern in patterns if not glob_error(pattern)]
        self._in_doubt = tuple(literal_start(pattern) for pattern in patterns if pattern not in right)
        self.everything = any(pattern in ("**/*", "**") for pattern in right)
        self._files = [(pattern, compile_glob(pattern)) for pattern in right]
        self._folders = [(pattern, compile_glob(whole)) for pattern in right if (whole := _folder_glob(pattern))]
        self._contents = [compile_glob(f"{whole}/**") for pattern in right if (whole := _folder_glob(pattern))]

    def may_mean(self, path: str) -> bool:
        """Whether one of the wrong globs may have been meant for this path."""
        return path.startswith(self._in_doubt)

    def matching(self, path: str, is_folder: bool) -> str:
        """Returns the glob that matches this path; for a folder, one that covers everything in it. "" if none does."""
        candidates = self._folders if is_folder else self._files
        return next((pattern for pattern, matches in candidates if matches(path)), "")

    def includes(self, path: str) -> bool:
        if self.everything or self.matching(path, False):
            return True
        return any(matches(path) for matches in self._contents)


def _folder_glob(pattern: str) -> str:
    """Returns the glob of the folders that a pattern covers entirely: `docs` for `docs`, `docs/` and `docs/**`.

    Empty if it covers none."""
    if pattern.endswith("/**"):
        return pattern.removesuffix("/**")
    if pattern.endswith("/"):
        return pattern.rstrip("/")
    last = pattern.rsplit("/", 1)[-1]
    return "" if any(char in last for char in "*?[{}") else pattern


class DiskWalker:
    """Walks one root. Not thread-safe. `resolve` resolves the links in a path, like os.path.realpath; `patterns` parses
    the ignore files."""

    def __init__(
        self,
        root: str,
        options: WalkOptions | None = None,
        resolve: Callable[[str], str] = os.path.realpath,
        patterns: ParsedPatterns | None = None,
    ) -> None:
        self._root = normalise_root(root)
        self._resolve = resolve
        self._options = options or WalkOptions()
        self._include = _Globs(self._options.include)
        self._exclude = _Globs(self._options.exclude)
        self._is_documentation = documentation_of(tuple(self._options.doc_patterns))
        self._is_indexed: Callable[[str], bool] = lambda path: False
        respect, users = self._options.respect_gitignore, self._options.global_ignore
        self._rules = IgnoreRules(self._root, respect, users, patterns=patterns)
        self._limit = FilesLimit(self._options.max_files)

    @property
    def options(self) -> WalkOptions:
        """The options that the walker was made with."""
        return self._options

    def leave_out_from(self, path: str | None, is_kept: Callable[[str], bool]) -> None:
        """See `engine.ports.Walker.leave_out_from`."""
        self._limit.leave_out_from(None if path is None else self._unseen(path), is_kept)

    def keep(self, is_indexed: Callable[[str], bool]) -> None:
        """See `engine.ports.Walker.keep`."""
        self._is_indexed = is_indexed

    # ------------------------------------------------------------ many

    def walk(self, cancelled: IsCancelled = never_cancelled) -> WalkResult:
        """Walks the whole workspace. Raises Cancelled, and WorkspaceNotFound when the root is not a folder."""
        harvest = self._harvest(cancelled)
        files, beyond, first = self._limit.share(sorted(harvest.files, key=_path_of))
        return _result(files, [*harvest.skipped, *beyond], harvest.unread, first.path if first else None)

    def near_the_root(self, enough: int, cancelled: IsCancelled = never_cancelled) -> list[FoundFile]:
        """See `engine.ports.Walker.near_the_root`."""
        return self._harvest(cancelled, enough).files

    def _harvest(self, cancelled: IsCancelled, enough: float = math.inf) -> _Harvest:
        if not os.path.isdir(self._root):  # noqa: PTH112
            raise errors.WorkspaceNotFound(f"{shown.place(self._root)} is not a folder.")
        try:
            return self._descend(_Folder("", self._root, self._rules.outermost()), cancelled, enough)
        except (OSError, TooManyRules) as error:
            harvest = _Harvest()
            harvest.leave_unread("", True, error)
            return harvest

    def subtree(self, path: str, cancelled: IsCancelled = never_cancelled) -> WalkResult:
        """Walks one folder, or looks at one file; the result is empty when the path does not exist.

        The limit on the number of files is applied as in the last whole walk. Raises Cancelled.
        """
        if not path.strip("/"):
            return self.walk(cancelled)
        decision, entry, folder = self._trace(path.strip("/"))
        if entry.stat is None and not entry.failure and decision.rule is not Rule.TOO_MANY_RULES:
            return WalkResult((), ())
        if not decision.indexed:
            unread = frozenset({entry.path} if entry.failure and decision.rule in NOT_LOOKED_AT else ())
            return WalkResult((), (SkippedPath(storable(entry.path) + "/" * entry.is_folder, decision),), unread)
        harvest = _Harvest([self._offer(entry)]) if folder is None else self._descend(folder, cancelled)
        files = [file for file in harvest.files if not self._limit.leaves_out(file)]
        beyond = [
            SkippedPath(file.path, self._limit.decision) for file in harvest.files if self._limit.leaves_out(file)
        ]
        return _result(sorted(files, key=_path_of), [*harvest.skipped, *beyond], harvest.unread, None)

    def _descend(self, start: _Folder, cancelled: IsCancelled, enough: float = math.inf) -> _Harvest:
        """Walks level by level, until all folders are walked or there are `enough` files."""
        harvest, pending = _Harvest(), deque([start])
        while pending and len(harvest.files) < enough:
            if cancelled():
                raise errors.Cancelled()
            folder = pending.popleft()
            try:
                with os.scandir(folder.absolute) as listing:
                    entries = list(listing)
                pending.extend(self._enter(folder, entries, harvest))
            except (FileNotFoundError, NotADirectoryError) as error:
                if not folder.path:
                    raise errors.WorkspaceNotFound(f"{shown.place(self._root)} is not a folder.") from error
            except (OSError, TooManyRules) as error:
                harvest.leave_unread(folder.path, True, error)
        return harvest

    def _enter(self, folder: _Folder, entries: list[os.DirEntry[str]], harvest: _Harvest) -> list[_Folder]:
        names = deny.KnownNames({entry.name for entry in entries})
        refused = self._refused_by_contents(folder, names)
        if refused:
            harvest.leave_out(folder.path, True, refused)
            return []
        level = self._rules.level(folder.path, folder.absolute, folder.outer, (entry.name for entry in entries))
        prefix, inner, seen = (f"{folder.path}/" if folder.path else ""), list[_Folder](), set[str]()
        for found in sorted(entries, key=_name_of):
            try:
                entry, problem = entry_of(found, prefix, names.has, seen)
                decision, taken_back = (problem, False) if problem else self._judge(entry, level, names)
            except FileNotFoundError:  # it disappeared during the walk
                continue
            except (OSError, ValueError) as error:
                harvest.leave_unread(prefix + found.name, False, error)
                continue
            if not decision.indexed:
                harvest.leave(entry, decision)
            elif entry.is_folder:
                inner.append(_Folder(entry.path, entry.absolute, level, taken_back))
            else:
                harvest.files.append(self._offer(entry))
        return inner

    # ------------------------------------------------------------ one

    def decide(self, path: str) -> Decision:
        """Returns the decision on one relative path and the folders above it. For a missing path, only its name
        counts."""
        decision, entry, folder = self._trace(path.strip("/"))
        if decision.indexed and folder is None and self._limit.leaves_out(self._unseen(entry.path)):
            return self._limit.decision
        return decision

    def found(self, path: str) -> FoundFile | SkippedPath:
        """Returns one file as the walk would offer or skip it.

        Raises FileNotFound when the path does not exist, unless a rule excludes its name.
        """
        if not path.strip("/"):
            return SkippedPath("/", Decision(Rule.FOLDER, "the folder of the workspace"))
        decision, entry, folder = self._trace(path.strip("/"))
        if entry.stat is None and (decision.indexed or decision.rule is Rule.MISSING):
            raise errors.FileNotFound(f"{shown.place(path)} does not exist.")
        if decision.indexed and folder is not None:
            return SkippedPath(f"{entry.path}/", Decision(Rule.FOLDER, "a folder"))
        if decision.indexed and self._limit.leaves_out(self._unseen(entry.path)):
            decision = self._limit.decision
        if not decision.indexed:
            return SkippedPath(path.strip("/"), decision)
        return self._offer(entry)

    def judged(self, path: str) -> WalkedFolder:
        """See `engine.ports.Walker.judged`."""
        decision, _, folder = self._trace(path.strip("/"))
        return WalkedFolder(self, decision, folder)

    def judged_in(self, folder: _Folder, level: Level, path: str) -> WalkedFolder:
        """Judges a folder in `folder`, which is indexed and whose level is `level`. Raises OSError or ValueError if
        that is not possible."""
        return WalkedFolder(self, *self._step(folder, level, entry_at(path, folder.absolute, True)))

    def level_in(self, folder: _Folder) -> Level:
        """Returns the rules that apply in a folder. Raises OSError or TooManyRules."""
        return self._rules.level(folder.path, folder.absolute, folder.outer)

    def is_there(self, path: str) -> bool:
        """See `engine.ports.Walker.is_there`."""
        return is_there(self._root, path)

    def _trace(self, path: str) -> tuple[Decision, Entry, _Folder | None]:
        """Follows a path from the root. Returns the decision, the entry at which that ended, and the folder if the
        entry is one.
        """
        try:
            return self._follow(path)
        except OSError as error:
            is_folder = is_real_folder(self._root, path)
            return failed(error), Entry(path, path.rpartition("/")[2], "", is_folder, None, error), None
        except ValueError as error:
            return failed(error), Entry(path, path.rpartition("/")[2], "", False, None), None

    def _follow(self, path: str) -> tuple[Decision, Entry, _Folder | None]:
        folder = _Folder("", self._root, self._rules.outermost())
        entry = Entry("", "", self._root, True, None)
        if not path:
            return _INDEXED, entry, folder
        parts = path.split("/")
        there = True
        for depth, name in enumerate(parts, 1):
            at, is_last = "/".join(parts[:depth]), depth == len(parts)
            # Below a folder that does not exist, only names can be judged.
            level = self.level_in(folder) if there else folder.outer
            entry = entry_at(at, folder.absolute, is_last) if there else Entry(at, name, "", not is_last, None)
            decision, inner = self._step(folder if there else None, level, entry)
            there = entry.stat is not None
            if not decision.indexed:
                return decision if is_last or inner is not None else _met_on_the_way(decision, at), entry, inner
            if inner is None:
                return self._ended(name, is_last), entry, None
            folder = inner
        return _INDEXED, entry, folder

    def _step(self, folder: _Folder | None, level: Level, entry: Entry) -> tuple[Decision, _Folder | None]:
        """Returns the decision on an entry of `folder`, whose level is `level`, and the folder that the entry is unless
        its own name is refused. `folder` is None if it does not exist."""
        names = deny.KnownNames(()) if folder is None else deny.NamesOnDisk(folder.absolute)
        decision, taken_back = self._judge(entry, level, names)
        if not decision.indexed or not entry.is_folder:
            return decision, None
        inner = _Folder(entry.path, entry.absolute, level, taken_back)
        return self._refused_on_disk(inner, entry) or decision, inner

    @staticmethod
    def _ended(name: str, is_last: bool) -> Decision:
        return _INDEXED if is_last else Decision(Rule.NOT_A_FILE, f"behind {name}, which is not a folder")

    def _refused_on_disk(self, folder: _Folder, entry: Entry) -> Decision | None:
        if entry.stat is None:
            return None
        os.scandir(folder.absolute).close()  # raises OSError if it cannot be read
        return self._refused_by_contents(folder, deny.NamesOnDisk(folder.absolute))

    # ------------------------------------------------------------ the judgement

    @staticmethod
    def _refused_by_contents(folder: _Folder, names: deny.Listing) -> Decision | None:
        if not folder.path or folder.taken_back:
            return None
        reason = deny.denied_by_contents(folder.path.rsplit("/", 1)[-1], names)
        return Decision(Rule.DENIED, reason) if reason else None

    def _judge(self, entry: Entry, level: Level, siblings: deny.Listing) -> tuple[Decision, bool]:
        """Returns the decision on one entry, and whether `.sidecarignore` re-includes it. Defines the order of the
        rules."""
        refused = deny.denied_by_name(entry.name, entry.is_folder)
        if not refused and entry.is_folder and is_own_folder(entry.absolute):
            refused = f"{entry.name}/ (sidecar's own data)"
        if refused:
            return Decision(Rule.DENIED, refused), False
        own = sidecar_verdict(level, entry.path, entry.is_folder)
        if own is not None and not own.indexed:
            return own, False
        glob = self._exclude.matching(entry.path, entry.is_folder)
        if glob:
            return Decision(Rule.CONFIG_EXCLUDE, glob), False
        if own is None:
            refused = deny.denied_by_siblings(entry.name, entry.is_folder, siblings)
            if refused:
                return Decision(Rule.DENIED, refused), False
            ignored = git_verdict(level, entry.path, entry.is_folder)
            if ignored is not None and not ignored.indexed:
                return ignored, False
        return (_INDEXED if entry.is_folder else self._judge_file(entry)), own is not None

    def _judge_file(self, entry: Entry) -> Decision:
        for rule in (self._special, self._doubt, self._collection, _secret, _binary, self._size):
            decision = rule(entry)
            if decision is not None:
                return decision
        return _INDEXED

    def _special(self, entry: Entry) -> Decision | None:
        if entry.failure is not None:
            return failed(entry.failure, entry.name)
        if entry.stat is None or modes.S_ISREG(entry.stat.st_mode):
            return None
        if not is_link(entry.stat):
            return Decision(Rule.NOT_A_FILE, "a device, socket or pipe")
        try:
            return self._link(self._resolve(entry.absolute))
        except OSError as error:  # it disappeared or was replaced while it was resolved
            return Decision(Rule.UNREADABLE, error.strerror or str(error))

    def _link(self, target: str) -> Decision:
        inside = target == self._root or target.startswith(self._root.rstrip(os.sep) + os.sep)
        if not inside:
            return Decision(Rule.SYMLINK, "a symbolic link that leads out of the workspace")
        if not os.path.exists(target):  # noqa: PTH110
            return Decision(Rule.LINK, "a symbolic link that leads nowhere")
        return Decision(Rule.LINK, "a symbolic link; its target is handled under its own path")

    def _size(self, entry: Entry) -> Decision | None:
        limit = self._options.max_file_size
        if entry.stat is None or entry.stat.st_size <= limit:
            return None
        if entry.name == ".gitattributes" and entry.stat.st_size > MAX_RULES_BYTES:
            return Decision(Rule.TOO_MANY_RULES, f"its lines are not applied: {entry.stat.st_size} bytes")
        help_with_it = "raise it" if limit < _LARGEST else "it cannot be raised further"
        return Decision(
            Rule.TOO_LARGE,
            f"{entry.stat.st_size:,} bytes; the setting maxFileSize allows {limit:,} ({written('size', limit)});"
            f" {help_with_it}",
        )

    def _doubt(self, entry: Entry) -> Decision | None:
        """Returns the decision on a file that a wrong glob of `exclude` may have been meant for."""
        if not self._exclude.may_mean(entry.path) or self._is_indexed(entry.path):
            return None
        return Decision(Rule.IN_DOUBT, "a glob of the setting exclude is wrong")

    def _collection(self, entry: Entry) -> Decision | None:
        if not self._include.includes(entry.path):
            if self._include.may_mean(entry.path):
                is_kept = self._is_indexed(entry.path)
                return None if is_kept else Decision(Rule.IN_DOUBT, "a glob of the setting include is wrong")
            return Decision(Rule.CONFIG_INCLUDE, ", ".join(self._options.include)[:200])
        limit = self._options.limit
        if limit is not None and not limit.names(entry.path):
            return Decision(Rule.NOT_IN_PATTERNS, only_patterns(limit))
        if not self._options.index_docs and self._is_documentation(entry.path):
            return Decision(Rule.DOCS_OFF, "the setting indexDocs is false")
        return None

    def _offer(self, entry: Entry) -> FoundFile:
        assert entry.stat is not None
        return FoundFile(entry.path, Stat.of(entry.stat), self._collection_of(entry.path))

    def _unseen(self, path: str) -> FoundFile:
        """Returns the file with what its path alone says: its collection. The stat is empty."""
        return FoundFile(path, _NO_STAT, self._collection_of(path))

    def _collection_of(self, path: str) -> Collection:
        return "docs" if self._is_documentation(path) else "code"


class WalkedFolder:
    """The decision on one folder, from which the folders in it can be judged without those above it.

    Implements `watched_folders.JudgedFolder`.
    """

    def __init__(self, walker: DiskWalker, decision: Decision, folder: _Folder | None) -> None:
        self._walker = walker
        self._decision = decision
        self._folder = folder if decision.indexed else None
        self._level: Level | None = None

    @property
    def ignored(self) -> bool:
        """Whether a rule leaves the folder out. One that could not be read for the moment is not ignored."""
        return self._decision.rule not in (Rule.INDEXED, Rule.NOT_READ)

    def inside(self, path: str) -> WalkedFolder:
        """See `JudgedFolder.inside`."""
        if self._folder is None:
            return self._walker.judged(path)
        try:
            if self._level is None:
                self._level = self._walker.level_in(self._folder)
            return self._walker.judged_in(self._folder, self._level, path)
        except (OSError, ValueError) as error:
            return WalkedFolder(self._walker, failed(error), None)


def _result(
    files: list[FoundFile], skipped: list[SkippedPath], unread: set[str], first_beyond: str | None
) -> WalkResult:
    return WalkResult(tuple(files), tuple(sorted(skipped, key=_path_of)), frozenset(unread), first_beyond)


def only_patterns(limit: PatternLimit) -> str:
    """Returns why a file is outside of an index that is limited to patterns."""
    return f"only {limit.summary} {limit.verb} indexed; `create_index` indexes the whole workspace"


def _secret(entry: Entry) -> Decision | None:
    reason = secret_name(entry.path)
    return Decision(Rule.SECRET_NAME, reason) if reason else None


def _binary(entry: Entry) -> Decision | None:
    extension = deny.binary_extension(entry.name)
    return Decision(Rule.BINARY, f"*.{extension}") if extension else None


_path_of: Callable[[FoundFile | SkippedPath], str] = lambda item: item.path  # noqa: E731
_name_of: Callable[[os.DirEntry[str]], str] = lambda entry: entry.name  # noqa: E731


def _met_on_the_way(decision: Decision, folder: str) -> Decision:
    """Returns the decision on a path below `folder`, which decides it. A link is named, because the path does not show
    it."""
    if decision.rule not in {Rule.LINK, Rule.SYMLINK}:
        return decision
    return Decision(decision.rule, f"behind {shown.quoted(folder)}: {decision.detail}")
