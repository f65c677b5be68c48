"""Every sentence of the specification of the nine code search tools (002) that demands something.

`quote` is the specification's wording, `behaviour` what a caller sees. A test names its entries with `@requires(id)`;
`test_manifest.py` fails when an entry has no test or a test names no entry. Each runs on every door.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Requirement:
    id: str
    quote: str
    behaviour: str


def requires(*ids: str) -> Callable[[F], F]:
    """Marks a test as the proof of these entries."""

    def mark(test: F) -> F:
        test.requirements = ids  # type: ignore[attr-defined]
        return test

    return mark


def _of(tool: str, *rows: tuple[str, str, str]) -> tuple[Requirement, ...]:
    return tuple(Requirement(f"002.{tool}.{name}", quote, behaviour) for name, quote, behaviour in rows)


REQUIREMENTS: tuple[Requirement, ...] = (
    *_of(
        "create_index",
        ("creates", "Creates a search index for the current project.", 'status is "created"; searches then answer'),
        ("no-parameters", "None required. Project path is auto-detected.", "works with {}, names the project"),
        ("returns", "status, projectPath, indexPath, stats {...}", "these fields, with the counts of what is indexed"),
        ("docs-stats", "docsStats?: { filesIndexed, chunksCreated }", "the counts of the documentation"),
        ("confirmation", "create_index | Confirmation: Yes", "asks; nothing is created before the answer"),
        ("cancelled", 'status: "created" | "cancelled"', 'a no returns status "cancelled" and creates nothing'),
        ("index-exists", 'INDEX_EXISTS "This project already has an index."', "refused before anybody is asked"),
        ("in-progress", 'INDEXING_IN_PROGRESS "Indexing is already in progress."', "a concurrent second is refused"),
    ),
    *_of(
        "search_code",
        ("semantic", "Performs semantic search over indexed code files.", "finds code whose words differ in form"),
        ("query-required", "query | string | Required: Yes", "without it INVALID_PARAMS names query"),
        ("top_k-default", "top_k | Default 10", "at most ten results unless asked otherwise"),
        ("top_k-range", "Number of results to return (1-50)", "1 and 50 are taken, 0 and 51 are INVALID_PARAMS"),
        ("compact", "Return results in compact format with shorter field names", "r [{l, t, s}], n, ms"),
        ("compact-default", "compact | Default false", "long field names unless asked otherwise"),
        ("mode-default", 'mode | Default "hybrid"', "hybrid ran when no mode was given"),
        ("modes", 'Search mode: "hybrid", "vector", or "fts"', "these three are taken, another is INVALID_PARAMS"),
        ("fts", "Keyword search only (BM25). Exact term matches", "finds an identifier by its exact name"),
        ("hybrid", "Combines vector + keyword search using RRF fusion", "what either search finds first is found"),
        ("alpha-default", "alpha | number | Default 0.5", "0.5 and nothing said give the same"),
        ("alpha-range", "Hybrid search weight (0-1)", "0 and 1 are taken, -1 and 2 are INVALID_PARAMS"),
        ("alpha-one", 'alpha=1.0: 100% semantic search (same as mode="vector")', "same places as mode vector"),
        ("alpha-zero", 'alpha=0.0: 100% keyword search (same as mode="fts")', "same places as mode fts"),
        ("returns", "results {path, content, score, startLine, endLine}, query, ...", "these fields and types"),
        ("score", "score: number; // Similarity score (0-1)", "every score is 0 to 1, best first"),
        ("lines", "startLine, endLine", "content is these lines of the file at path"),
        ("search-mode", "searchMode?: string; // Actual search mode used", "says what ran"),
        ("index-not-found", 'INDEX_NOT_FOUND "This project hasn\'t been indexed yet."', "that code and sentence"),
        ("invalid-query", 'INVALID_QUERY "Search query is required." Empty query', "for an empty and a blank query"),
    ),
    *_of(
        "search_docs",
        ("documentation", "searches indexed documentation files (.md, .txt)", "finds .md and .txt and no code"),
        ("modes", "Supports the same search modes as search_code.", "hybrid, vector and fts all answer"),
        ("mode-default", 'mode | Default "vector"', "vector ran when no mode was given"),
        ("query-required", "query | string | Required: Yes", "without it INVALID_PARAMS names query"),
        ("top_k-default", "top_k | Default 10", "at most ten results unless asked otherwise"),
        ("compact-default", "compact | Default false", "long field names unless asked otherwise"),
        ("top_k-range", "Number of results to return (1-50)", "0 and 51 are INVALID_PARAMS"),
        ("alpha-range", "Hybrid search weight (0-1)", "2 is INVALID_PARAMS"),
        ("compact", "compact | shorter field names", "r, n, ms"),
        ("returns", "results {...}, query, totalResults, searchTimeMs", "the fields of search_code"),
        ("docs-not-found", 'DOCS_INDEX_NOT_FOUND "No documentation has been indexed yet."', "without an index of it"),
        ("invalid-query", 'INVALID_QUERY "Search query is required."', "for an empty query"),
    ),
    *_of(
        "search_by_path",
        ("indexed", "matching against indexed file paths", "no file that is left out of the index"),
        ("glob", "Finds files by glob pattern matching against indexed file paths.", "**/*.py and src/*.py match"),
        ("pattern-required", "pattern | Required: Yes", "without it INVALID_PARAMS names pattern"),
        ("limit-default", "limit | Default 20", "at most twenty unless asked otherwise"),
        ("limit-range", "Maximum results to return (1-100)", "1 and 100 are taken, 0 and 101 are INVALID_PARAMS"),
        ("returns", "matches: string[]; pattern; totalMatches", "totalMatches counts before the limit"),
        ("index-not-found", "INDEX_NOT_FOUND", "without an index"),
        ("invalid-pattern", 'INVALID_PATTERN "Invalid glob pattern." Malformed pattern', "for an unbalanced glob"),
    ),
    *_of(
        "get_index_status",
        ("not-found", 'status: "not_found"', "without an index; the paths are named all the same"),
        ("ready", 'status: "ready"', "after indexing, with counts, time, size and strategy"),
        ("indexing", 'status: "indexing"', "while the index is made; other calls are answered meanwhile"),
        ("failed", 'status: "failed"', "for an index that cannot be read"),
        ("strategy", 'indexingStrategy: "realtime" | "lazy" | "git"', "the one that is set"),
        ("pending", "pendingFiles?: number; // For lazy strategy", "a number; what waits is flushed by a search"),
        ("paths", "projectPath, indexPath, configPath: absolute", "absolute, and the index is outside the project"),
        ("last-updated", "lastUpdated: ISO timestamp", "parses as ISO 8601"),
        ("storage-size", 'storageSize: e.g., "45MB"', "digits and a unit"),
        ("hybrid", "hybridSearch {enabled, ftsEngine, ftsChunks, defaultAlpha}", "these four fields"),
    ),
    *_of(
        "get_config",
        ("missing", "exists: boolean; message: user-friendly", "before indexing: false, the future path, what to do"),
        ("returns", "exists, configPath, indexPath, config, message", "after indexing, the file exists at configPath"),
        ("config", "config: include, exclude, respectGitignore, maxFileSize, ...", "the eight keys with their types"),
    ),
    *_of(
        "reindex_project",
        ("rebuilds", "Completely rebuilds the index from scratch.", "a changed and a removed file are seen after it"),
        ("returns", 'status: "reindexed"; projectPath; stats; docsStats', "these fields"),
        ("confirmation", "reindex_project | Confirmation: Yes", "asks before it rebuilds"),
        ("cancelled", 'status: "reindexed" | "cancelled"', 'a no returns "cancelled"; the index stays'),
        ("index-not-found", "INDEX_NOT_FOUND: No index to rebuild", "without an index"),
    ),
    *_of(
        "reindex_file",
        ("reindexes", "Re-indexes a single file.", "its new text is found at once"),
        ("removed", 'status: "reindexed" | "removed"', "removed when the file is gone from disk"),
        ("returns", "status, filePath, chunksCreated", "these fields"),
        ("file_path-required", "file_path | string | Required: Yes", "without it INVALID_PARAMS names file_path"),
        ("index-not-found", "INDEX_NOT_FOUND: No index exists", "without an index"),
        ("file-not-found", 'FILE_NOT_FOUND "File not found."', "for a file that is nowhere"),
        ("file-excluded", 'FILE_EXCLUDED "File is excluded by configuration."', "for a file that a rule leaves out"),
    ),
    *_of(
        "delete_index",
        ("deletes", "Permanently removes the project's index and all associated data.", "status says not_found after"),
        ("returns", 'status: "deleted"; projectPath; indexPath', "these fields"),
        ("confirmation", "delete_index | Confirmation: Yes", "with nobody to ask nothing is deleted"),
        ("cancelled", 'status: "deleted" | "cancelled"', 'a no returns "cancelled"; the index stays'),
        ("index-not-found", "INDEX_NOT_FOUND: No index to delete", "without an index"),
    ),
    *_of(
        "errors",
        ("path-traversal", "PATH_TRAVERSAL: Path attempts to escape project directory", "for ../ and absolute paths"),
        ("index-corrupt", "INDEX_CORRUPT: Index is corrupted or invalid", "for a damaged index; the door lives on"),
        ("model-load-failed", "MODEL_LOAD_FAILED: Embedding model failed to load", "for a model that is not there"),
    ),
)
