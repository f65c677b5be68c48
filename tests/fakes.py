"""Stand-ins that enter through constructors: a workspace over a dict of files, and the collection of them.

They keep the contracts of `sidecar.model` (errors, statuses, counts), not the quality of the answers: a chunk is ten
lines, a score is the share of the query's words that a chunk holds.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sidecar.engine.extras.documents import DocumentIndexes
from sidecar.engine.extras.memory import WorkspaceMemories
from sidecar.engine.search.letters import best_fits
from sidecar.errors import (
    Cancelled,
    DocsIndexNotFound,
    FileExcluded,
    FileNotFound,
    IndexExists,
    IndexingInProgress,
    IndexNotFound,
    InvalidPattern,
    ModelLoadFailed,
    PathTraversal,
    WorkspaceNotFound,
)
from sidecar.model.answers import (
    BuildReport,
    CentralFile,
    CollectionCounts,
    ConfigAnswer,
    Coverage,
    Explanation,
    FileReport,
    Hit,
    HybridDefaults,
    OverviewAnswer,
    PathsAnswer,
    PatternReport,
    SearchAnswer,
    SearchRequest,
    SnapshotOffer,
    SnapshotReport,
    SnapshotRequest,
    StatusAnswer,
    SymbolHit,
    SymbolsAnswer,
)
from sidecar.model.files import Decision, Rule, SkippedPath
from sidecar.model.terms import Collection, Embedder, IsCancelled, Progress
from sidecar.model.workspace import Workspace
from sidecar.parts.documents import DocumentFile
from sidecar.parts.lexical.tfidf import count_words
from sidecar.parts.memories import MemoryFile
from sidecar.shown import so_far

CHUNK_LINES = 10
CONFIG: dict[str, object] = {
    "include": ["**/*"],
    "exclude": [],
    "respectGitignore": True,
    "maxFileSize": "1MB",
    "maxFiles": 200_000,
    "indexingStrategy": "realtime",
    "docPatterns": ["**/*.md", "**/*.txt"],
    "indexDocs": True,
}


class FakeWorkspace:
    """Implements `sidecar.model.workspace.Workspace`.

    `files` is the disk: change it and call `refresh` or `reindex_file`.

    `before_work` is called with each file's path while a build runs, so that a test can look, wait or cancel there.
    `broken` makes every method raise it.
    """

    def __init__(
        self,
        files: Mapping[str, str] | None = None,
        *,
        root: str = "/fake/workspace",
        excluded: tuple[str, ...] = (),
        before_work: Callable[[str], None] = lambda path: None,
        broken: Exception | None = None,
        notice: str = "",
        confidence: float | None = None,
        default_alpha: float = 0.5,
        status_override: Callable[[StatusAnswer], StatusAnswer] = lambda status: status,
        find_snapshot: Callable[[], SnapshotOffer | None] = lambda: None,
    ) -> None:
        self.files = dict(files or {})
        self.buffers: dict[str, str] = {}
        self.open_files: list[str] = []
        self.requests: list[SearchRequest] = []
        self.closed = False
        self._root = root
        self._excluded = excluded
        self._before_work = before_work
        self._broken = broken
        self._notice = notice
        self._confidence = confidence
        self._alpha = default_alpha
        self._override = status_override
        self._find_snapshot = find_snapshot
        self._indexed: dict[str, str] | None = None
        self._building: tuple[int, int] | None = None
        self._cancelled_by: str | None = None
        self._generation = 0
        self._listeners: list[Callable[[StatusAnswer], None]] = []
        self.documents = DocumentIndexes(DocumentFile(Path(root) / "documents.sqlite", count_words))
        self.memories = WorkspaceMemories(MemoryFile(Path(root) / "memories.sqlite"), _no_model)

    @property
    def root(self) -> str:
        return self._root

    def create(self, progress: Progress, cancelled: IsCancelled, from_snapshot: bool = True) -> BuildReport:
        self._check(may_be_missing=True)
        if self._indexed is not None:
            raise IndexExists("Use `reindex_project` to rebuild it.")
        return self._build(progress, cancelled)

    def rebuild(self, progress: Progress, cancelled: IsCancelled, whole: bool = False) -> BuildReport:
        self._check()
        return self._build(progress, cancelled)

    def make_snapshot(self, request: SnapshotRequest, progress: Progress, cancelled: IsCancelled) -> SnapshotReport:
        self._check()
        return SnapshotReport(str(request.out / "0.zst"), "0" * 40, 1, len(self.files), len(self.files), 0)

    def find_snapshot(self) -> SnapshotOffer | None:
        self._check(may_be_missing=True)
        return self._find_snapshot()

    def refresh(
        self, progress: Progress, cancelled: IsCancelled, whole: bool = False, snapshot: str | None = None
    ) -> BuildReport:
        self._check(may_be_missing=True)
        return self._build(progress, cancelled)

    def cancel(self, by: str) -> bool:
        if self._building is None:
            return False
        self._cancelled_by = by
        self.stays_cancelled = True
        return True

    def stay_cancelled(self) -> None:
        self.stays_cancelled = True

    def reindex_file(self, path: str) -> FileReport:
        self._check()
        self._inside(path)
        indexed = self._present()
        if path in self._excluded:
            raise FileExcluded(f"{path} is left out by a rule of the config.")
        if path not in self.files:
            if indexed.pop(path, None) is None:
                raise FileNotFound(f"{path} is neither on disk nor in the index.")
            return FileReport("removed", path, 0)
        indexed[path] = self.files[path]
        self._tell()
        return FileReport("reindexed", path, len(_chunks(indexed[path])))

    def delete(self) -> None:
        self._check()
        self._indexed = None
        self._tell()

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        self._fail()
        self.requests.append(request)
        if cancelled():
            raise Cancelled()
        texts = {p: t for p, t in self._present().items() if _collection(p) == request.collection}
        if request.collection == "docs" and not texts:
            raise DocsIndexNotFound()
        hits = [hit for path, text in {**texts, **self.buffers}.items() for hit in _hits(path, text, request)]
        hits.sort(key=lambda hit: (-hit.score, hit.path, hit.start_line))
        page = hits[request.offset : request.offset + request.top_k]
        return SearchAnswer(
            tuple(page),
            len(hits),
            request.mode,
            1.0,
            self._notice,
            {"all": 1.0},
            confidence=self._confidence,
            weak=self._confidence is not None and self._confidence < 0.1,
        )

    def find_paths(self, pattern: str, limit: int) -> PathsAnswer:
        self._check()
        if pattern.count("[") != pattern.count("]") or pattern.count("{") != pattern.count("}") or not pattern:
            raise InvalidPattern(f'"{pattern}" is not balanced.')
        found = sorted(path for path in self._present() if fnmatch.fnmatchcase(path, pattern))
        return PathsAnswer(tuple(found[:limit]), len(found))

    def find_paths_by_letters(self, letters: str, limit: int) -> PathsAnswer:
        self._check()
        best, total = best_fits(self._present(), letters, limit)
        return PathsAnswer(tuple(fit.path for fit in best), total, scores=tuple(fit.score for fit in best))

    def overview(self, central: int) -> OverviewAnswer:
        self._check()
        paths = sorted(self._present())
        files = tuple(CentralFile(path, "alpha", 2) for path in paths[:central])
        return OverviewAnswer(
            files=len(paths), code_files=len(paths), languages=(("python", 12),), starts=tuple(paths[:1]),
            test_folders=(("tests", 1),), central=files,
        )  # fmt: skip

    def find_symbols(self, name: str, kinds: Sequence[str], limit: int) -> SymbolsAnswer:
        self._check()
        found = [
            SymbolHit(path, match[1], "function", number, number, "", True, "exact", line)
            for path, text in sorted(self._present().items())
            for number, line in enumerate(text.splitlines(), start=1)
            if (match := re.search(r"def (\w+)", line)) and name.lower() in match[1].lower()
        ]
        return SymbolsAnswer(tuple(found[:limit]), len(found))

    def find_similar(self, path: str, line: int, end_line: int, limit: int, cancelled: IsCancelled) -> SearchAnswer:
        self._check()
        if path not in self._present():
            raise FileNotFound(path)
        return self.search(SearchRequest(self.files[path].splitlines()[line - 1], top_k=limit), cancelled)

    def find_closest(self, query: str, limit: int, threshold: float, cancelled: IsCancelled) -> SearchAnswer:
        answer = self.search(SearchRequest(query, mode="vector", top_k=limit), cancelled)
        return replace(answer, hits=tuple(hit for hit in answer.hits if hit.score >= threshold))

    def index_matching(
        self, patterns: Sequence[str], force: bool, progress: Progress, cancelled: IsCancelled
    ) -> PatternReport:
        self._check(may_be_missing=True)
        before = self._indexed or {}
        matching = [path for pattern in patterns for path in fnmatch.filter(sorted(self.files), pattern)]
        changed = [path for path in matching if force or before.get(path) != self.files[path]]
        self._indexed = {**before, **{path: self.files[path] for path in changed}}
        self._tell()
        chunks = sum(len(_chunks(self.files[path])) for path in changed)
        return PatternReport(len(changed), len(matching) - len(changed), 0, chunks)

    def patterns_to_add(self, patterns: Sequence[str]) -> tuple[str, ...]:
        return tuple(patterns) if self._indexed is None else ()

    def status(self, up_to_date: bool = False) -> StatusAnswer:
        self._fail()
        status = StatusAnswer("not_found", self._root, f"{self._root}.index", f"{self._root}.index/config.json")
        if self._indexed is not None:
            code, docs = self._counts("code"), self._counts("docs")
            status = replace(
                status,
                status="ready",
                files=code.files + docs.files,
                chunks=code.chunks + docs.chunks,
                code=code,
                docs=docs,
                lexical_chunks=code.chunks + docs.chunks,
                embedded_chunks=code.chunks + docs.chunks,
                coverage=1.0,
                last_updated="2026-01-02T03:04:05Z",
                storage_bytes=45 * 1024 * 1024,
                model="fake@0",
                device="cpu",
                languages={"python": code.files},
                withheld=(SkippedPath(".env", Decision(Rule.SECRET_NAME, "named like a secret")),),
                generation=self._generation,
                holds=Coverage(code.files + docs.files),
            )
        if self._building is not None:
            status = replace(
                status,
                status="indexing",
                busy=True,
                progress_done=self._building[0],
                progress_total=self._building[1],
                progress_says=so_far("Indexing", *self._building),
            )
        return self._override(status)

    def config(self) -> ConfigAnswer:
        self._fail()
        exists = self._indexed is not None
        index = f"{self._root}.index"
        config = {**CONFIG, "hybridSearch": {"enabled": True, "defaultAlpha": self._alpha}}
        return ConfigAnswer(exists, f"{index}/config.json", index, config, {"include": "default"}, ())

    def hybrid_defaults(self) -> HybridDefaults:
        self._fail()
        return HybridDefaults(True, self._alpha)

    def explain(self, path: str) -> Explanation:
        self._fail()
        self._inside(path)
        excluded = path in self._excluded
        decision = Decision(Rule.CONFIG_EXCLUDE, path) if excluded else Decision(Rule.INDEXED)
        indexed = (self._indexed or {}).get(path)
        on_disk = self.files.get(path)
        return Explanation(
            path,
            decision,
            exists=on_disk is not None,
            in_index=indexed is not None,
            stale=indexed is not None and indexed != on_disk,
            chunks=len(_chunks(indexed or "")),
            language="python",
        )

    def open_file(self, path: str) -> None:
        self.open_files.append(path)

    def close_file(self, path: str) -> None:
        self.open_files.remove(path)

    def set_buffer(self, path: str, text: str) -> None:
        self.buffers[path] = text

    def drop_buffer(self, path: str) -> None:
        self.buffers.pop(path, None)

    def on_change(self, listener: Callable[[StatusAnswer], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        self.closed = True

    def _build(self, progress: Progress, cancelled: IsCancelled) -> BuildReport:
        before = self._indexed or {}
        wanted = {path: text for path, text in sorted(self.files.items()) if path not in self._excluded}
        self._building, self._cancelled_by = (0, len(wanted)), None
        self._tell()
        try:
            for done, path in enumerate(wanted, 1):
                self._before_work(path)
                if self._cancelled_by is not None or cancelled():
                    raise Cancelled()
                self._building = (done, len(wanted))
                progress(done, len(wanted), so_far("Indexing", done, len(wanted)))
        finally:
            self._building = None
        self._indexed = wanted
        self._generation += 1
        self._tell()
        unchanged = sum(before.get(path) == text for path, text in wanted.items())
        embedded = sum(len(_chunks(text)) for path, text in wanted.items() if before.get(path) != text)
        return BuildReport(
            self._counts("code"), self._counts("docs"), 12, 0, unchanged, embedded, len(before.keys() - wanted.keys())
        )

    def _counts(self, collection: Collection) -> CollectionCounts:
        texts = [text for path, text in (self._indexed or {}).items() if _collection(path) == collection]
        return CollectionCounts(len(texts), sum(len(_chunks(text)) for text in texts))

    def _present(self) -> dict[str, str]:
        if self._indexed is None:
            raise IndexNotFound("Create one with `create_index`.")
        return self._indexed

    def _check(self, may_be_missing: bool = False) -> None:
        self._fail()
        if self._building is not None:
            raise IndexingInProgress()
        if not may_be_missing:
            self._present()

    def _fail(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _inside(self, path: str) -> None:
        if path.startswith("/") or ".." in path.split("/") or "\0" in path:
            raise PathTraversal(f"{path!r} leaves the workspace.")

    def _tell(self) -> None:
        status = self.status()
        for listener in list(self._listeners):
            listener(status)


class FakeWorkspaces:
    """Implements `sidecar.tools.context.Workspaces`; with one workspace, every root is that one."""

    def __init__(self, *workspaces: FakeWorkspace) -> None:
        self._workspaces = workspaces
        self.closed = False

    def get(self, root: str) -> Workspace:
        for workspace in self._workspaces:
            if workspace.root == root or len(self._workspaces) == 1:
                return workspace
        raise WorkspaceNotFound(f"{root} is not a folder.")

    def problems(self, root: str) -> None:
        """Ignores the report: the workspace itself reports faults in its settings."""

    def close(self) -> None:
        self.closed = True
        for workspace in self._workspaces:
            workspace.close()


def _no_model() -> Embedder:
    raise ModelLoadFailed("A fake workspace has no model.")


def _collection(path: str) -> Collection:
    return "docs" if path.endswith((".md", ".txt")) else "code"


def _chunks(text: str) -> list[tuple[int, int, str]]:
    lines = text.splitlines()
    return [
        (start + 1, min(start + CHUNK_LINES, len(lines)), "\n".join(lines[start : start + CHUNK_LINES]))
        for start in range(0, len(lines), CHUNK_LINES)
    ]


def _hits(path: str, text: str, request: SearchRequest) -> list[Hit]:
    words = set(re.findall(r"\w+", request.query.lower()))
    hits = []
    for start, end, chunk in _chunks(text):
        score = sum(word in chunk.lower() for word in words) / max(1, len(words))
        if score:
            names = tuple(re.findall(r"def (\w+)", chunk))
            parts = {"words": score} if request.explain else {}
            hits.append(Hit(path, start, end, chunk, score, "python", "function", names, (), parts))
    return hits
