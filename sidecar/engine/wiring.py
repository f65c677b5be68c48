"""Connects the engine with the real parts. Only this module names Chroma, onnxruntime, watchfiles and the others.

Importing this module is cheap: each constructor imports its own heavy library, and a worker process, which needs the
parts alone, does not import searches and workspaces.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.engine.concurrency.right_of_way import QUESTIONS
from sidecar.engine.concurrency.usage import share_memory_pools
from sidecar.engine.ingest.embedding_text import body_text, path_text
from sidecar.engine.ingest.worker_pool import WorkerPool
from sidecar.engine.models.loader import make_embedder
from sidecar.engine.ports import (
    Compare,
    EmbeddingCache,
    Floats,
    Parts,
    SharedVectors,
    Uint8s,
    VectorStore,
    Walker,
    Watching,
)
from sidecar.locks import Rank, make_lock
from sidecar.model.files import Checkout, Decision, FileContent, IndexedBlob, Judged, Rule
from sidecar.parts.chunk import CHUNKER_VERSION, parse_file
from sidecar.parts.documents import DocumentFile
from sidecar.parts.languages import is_documentation, language_of
from sidecar.parts.lexical.index import LexicalIndex
from sidecar.parts.lexical.tfidf import count_words
from sidecar.parts.memories import MemoryFile
from sidecar.parts.pattern_limit import PatternLimit
from sidecar.parts.read import read_file, read_with_blobs
from sidecar.parts.repository import repository_of
from sidecar.parts.secrets import RULES_VERSION
from sidecar.processes import usable_processors
from sidecar.settings.address import server_address, server_headers
from sidecar.settings.load import Settings, data_home, default_config_text, load_settings, user_config_file
from sidecar.settings.remembered import RememberedSettings
from sidecar.shown import count

if TYPE_CHECKING:
    from sidecar.engine.every_index import EveryIndex
    from sidecar.engine.search.searcher import Searcher
    from sidecar.engine.workspaces import OpenWorkspaces
    from sidecar.parts.embed.shared import SharedEmbeddingCaches
    from sidecar.parts.ignore import ParsedPatterns
    from sidecar.parts.vectors.server_link import ChromaServer
    from sidecar.parts.watched_folders import JudgedFolder

MOST_PREPARERS = 4


def open_workspaces(
    flags: Mapping[str, object], editor: Mapping[str, object], env: Mapping[str, str]
) -> OpenWorkspaces:
    """Returns the workspaces of this process, with the real parts. `flags` and `editor` are those of
    `settings.load_settings`."""
    from sidecar.engine.workspaces import OpenWorkspaces

    return OpenWorkspaces(data_home(env), real_parts(flags, editor, env))


def real_parts(flags: Mapping[str, object], editor: Mapping[str, object], env: Mapping[str, str]) -> Parts:
    """Returns the real constructors. For the arguments see `open_workspaces`."""
    share_memory_pools()
    user_file = user_config_file(env)

    def read(config: Path) -> Settings:
        return load_settings(config, user_file, env, editor, flags)

    return Parts(
        load_settings=RememberedSettings(user_file, read),
        default_config_text=default_config_text,
        make_walker=make_walker,
        make_content_check=make_content_check,
        is_documentation=lambda path, settings: is_documentation(path, settings.doc_patterns),
        read_file=read_file,
        read_with_blobs=read_with_blobs,
        language_of=language_of,
        parse_file=parse_file,
        body_text=body_text,
        path_text=path_text,
        lexical=LexicalIndex(),
        open_embeddings=EmbeddingCacheOpener(),
        make_embedder=partial(make_embedder, home=data_home(env)),
        make_store=make_store,
        shared_vectors=SharedVectorsOpener(),
        make_searcher=lambda: make_searcher(env.get("SIDECAR_RANKER", "")),
        make_watcher=partial(make_watcher, home=data_home(env)),
        read_checkout=read_checkout,
        unmodified=unmodified,
        open_memories=MemoryFile,
        open_documents=lambda path: DocumentFile(path, count_words),
        versions={"chunker": CHUNKER_VERSION, "lexical": LexicalIndex.version, "secrets": RULES_VERSION},
        preparers=preparers(),
        vector_memory_bytes=sys.maxsize,
        make_compare=make_compare,
    )


def make_walker(root: str, settings: Settings, limit: PatternLimit | None = None) -> Walker:
    """Returns a walker over a workspace, with the options of the settings. See `MakeWalker`."""
    from sidecar.parts.walk import DiskWalker, WalkOptions

    return DiskWalker(
        root,
        WalkOptions(
            include=settings.include,
            exclude=settings.exclude,
            respect_gitignore=settings.respect_gitignore,
            max_file_size=settings.max_file_size,
            max_files=settings.max_files,
            doc_patterns=settings.doc_patterns,
            index_docs=settings.index_docs,
            limit=limit,
        ),
        patterns=_patterns(),
    )


@cache
def _patterns() -> ParsedPatterns:
    """Returns the parsed ignore rules that all walkers of this process share. They are shared because every pass and
    many searches make a new walker."""
    from sidecar.parts.ignore import ParsedPatterns

    return ParsedPatterns()


@cache
def preparers() -> WorkerPool:
    """Returns the worker processes that prepare files, one pool for all workspaces of this process.

    There is one worker for every two cores, at most MOST_PREPARERS: the other stages and a person's editor need cores
    too.
    """
    return WorkerPool(max(1, min(usable_processors() // 2, MOST_PREPARERS)))


def load_parsers() -> None:
    """Imports the modules that read, judge and parse files, and compiles the rules for secrets, so that the first saved
    file does not wait for that. Grammars load with the first file in their language."""
    import sidecar.parts.chunk.notebook
    import sidecar.parts.classify  # noqa: F401
    from sidecar.parts.secrets.rules import compile_all

    compile_all()


def make_content_check(root: str) -> Callable[[str, FileContent], Judged]:
    """Returns a function that judges a file by its text.

    It leaves out generated, minified and vendored files, and files with some kinds of secrets. Other secrets are
    masked.
    """
    from sidecar.parts.classify import Classifier
    from sidecar.parts.secrets import examine

    classifier = Classifier(root)

    def check(path: str, content: FileContent) -> Judged:
        decision = classifier.decide(path, content.text, content.encoding, content.reason)
        if not decision.indexed:
            return Judged(decision, "")
        examined = examine(path, content.text)
        if examined.withheld:
            return Judged(Decision(Rule.SECRET_CONTENT, examined.withheld), "")
        if not examined.masked:
            return Judged(decision, examined.text)
        more = ["and more"] if examined.masked > len(examined.reasons) else []
        hidden = f"{count(examined.masked, 'value')} hidden in the index: {', '.join([*examined.reasons, *more])}"
        detail = "; ".join(filter(None, (decision.detail, hidden)))
        return Judged(Decision(Rule.INDEXED, detail), examined.text, examined.masked)

    return check


class EmbeddingCacheOpener:
    """Opens embedding caches, each once for all workspaces of this process. Thread-safe."""

    def __init__(self) -> None:
        self._shared: SharedEmbeddingCaches | None = None
        self._lock = make_lock(Rank.EMBEDDING_CACHE_TABLE)

    def __call__(self, path: Path, model_id: str, dimension: int) -> EmbeddingCache:
        """Returns the part of the cache file at `path` that holds this model's vectors, each of `dimension`
        components."""
        from sidecar.parts.embed.shared import SharedEmbeddingCaches

        with self._lock:
            self._shared = self._shared or SharedEmbeddingCaches()
        return self._shared.open(path, model_id, dimension)


def every_index(env: Mapping[str, str]) -> EveryIndex:
    """Returns access to all indexes of the data folder that this environment names."""
    from sidecar.engine.every_index import EveryIndex

    return EveryIndex(data_home(env), default_config_text(), EmbeddingCacheOpener())


def make_store(settings: Settings, folder: Path, dimension: int, model_id: str, root: str) -> VectorStore:
    """Returns the vector store of one generation: Chroma in a process of its own, in this folder, or on the server that
    the user has named."""
    if settings.vector_store != "embedded":
        from sidecar.parts.vectors.chroma_server import MadeFor, ServerStore

        return ServerStore(folder, MadeFor(repository_of(root), model_id, dimension), chroma_server(settings))
    from sidecar.parts.vectors.chroma import ChromaStore

    return ChromaStore(folder, dimension, model_id)


def chroma_server(settings: Settings) -> ChromaServer:
    """Returns the Chroma server that the setting vectorStore names."""
    from sidecar.parts.vectors.server_link import ChromaServer

    headers = server_headers(settings.vector_store_headers)
    return ChromaServer(server_address(settings.vector_store), headers, settings.offline)


class SharedVectorsOpener:
    """Opens the shared vectors that settings name, once for all workspaces of this process. Thread-safe."""

    def __init__(self) -> None:
        self._opened: dict[tuple[object, ...], SharedVectors] = {}
        self._lock = make_lock(Rank.EMBEDDING_CACHE_TABLE)

    def __call__(self, settings: Settings) -> SharedVectors | None:
        """Returns the team's vectors; None if the user has named no server or no key."""
        if settings.shared_vectors == "off":
            return None
        key = (
            *(settings.shared_vectors, settings.shared_vectors_key, settings.shared_vectors_headers),
            *(settings.shared_vectors_write, settings.offline),
        )
        with self._lock:
            if key not in self._opened:
                self._opened[key] = open_shared_vectors(settings)
            return self._opened[key]


def open_shared_vectors(settings: Settings) -> SharedVectors:
    """Returns the vectors that the members of a team keep for one another, at the address that the user has set."""
    from sidecar.parts.shared_vectors.places import ChromaPlace, NoPlace, VectorFiles, VectorPlace
    from sidecar.parts.shared_vectors.sealed_vectors import SealedVectors
    from sidecar.parts.vectors.server_link import ChromaServer

    address, headers = server_address(settings.shared_vectors), server_headers(settings.shared_vectors_headers)
    server = ChromaServer(address, headers, settings.offline)
    place: VectorPlace
    if server.forbidden or not settings.shared_vectors_key:
        place = NoPlace(address.url, server.forbidden or "is not asked, because sharedVectorsKey is not set")
    else:
        place = ChromaPlace(server) if address.chroma else VectorFiles(address.url, headers)
    return SealedVectors(place, settings.shared_vectors_key, writes=settings.shared_vectors_write)


def make_compare(packed: Uint8s, scales: Floats, dimension: int) -> Compare:
    """Prepares rows of integers for comparisons with onnxruntime, which is imported at the first call."""
    from sidecar.parts.vectors.four_bits import FourBitProducts

    return FourBitProducts(packed, scales, dimension)


def make_searcher(ranker: str = "") -> Searcher:
    """Returns a searcher. `ranker` (SIDECAR_RANKER), which serves to compare rankings, is `learned` or a file of
    weights."""
    from sidecar.engine.search.rank.scorer import choose
    from sidecar.engine.search.searcher import Searcher

    return Searcher(choose(ranker))


@dataclass(frozen=True, slots=True)
class _GivingWay:
    """A judged folder that lets questions pass before each folder in it, because a large tree has thousands."""

    judged: JudgedFolder

    @property
    def ignored(self) -> bool:
        return self.judged.ignored

    def inside(self, path: str) -> JudgedFolder:
        QUESTIONS.give_way()
        return _GivingWay(self.judged.inside(path))


def make_watcher(root: str, settings: Settings, home: Path) -> Watching:
    """Returns a watcher of a workspace's files and of git's HEAD. Its mark is in the folder of the workspace's
    index."""
    from sidecar.engine.index.layout import IndexLayout
    from sidecar.parts.watch import Watcher

    walker = make_walker(root, settings)

    mark = str(IndexLayout(home, root).watch_mark)

    def judge(folder: str) -> JudgedFolder:
        return _GivingWay(walker.judged(folder))

    return Watcher(root, judge, mark, "git" if settings.indexing_strategy == "git" else "files")


def read_checkout(root: str) -> Checkout:
    """See `parts.git_head.read_checkout`."""
    from sidecar.parts.git_head import read_checkout as read

    return read(root)


def unmodified(root: str, files: Mapping[str, IndexedBlob]) -> set[str]:
    """See `parts.git_index.unmodified`."""
    from sidecar.parts.git_index import unmodified as ask

    return ask(root, files)


def similarity(left: str, right: str, at_least: float) -> float:
    """See `parts.fuzzy.similarity`."""
    from sidecar.parts.fuzzy import similarity as measure

    return measure(left, right, at_least)
