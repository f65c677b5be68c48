"""Every requirement of the specification of pattern indexing (004). `requirements.py` describes the scheme.

Its sentences about storage, crates and folders are left out, because they describe how the original was built, and not
what a caller of its two tools can see.
"""

from __future__ import annotations

from tests.spec.requirements import Requirement


def _of(tool: str, *rows: tuple[str, str, str]) -> tuple[Requirement, ...]:
    return tuple(Requirement(f"004.{tool}.{name}", quote, behaviour) for name, quote, behaviour in rows)


REQUIREMENTS: tuple[Requirement, ...] = (
    *_of(
        "search_index",
        (
            "patterns-required",
            "patterns (required): Array of glob patterns or specific files",
            "INVALID_PARAMS without",
        ),
        ("globs", 'Supports glob patterns like "**/*.rs", "src/**/*.py"', "what matches is indexed"),
        ("files", 'Supports specific files like ["file1.rs", "file2.rs"]', "these files are indexed"),
        ("several", "Processes multiple glob patterns sequentially", "counts are added"),
        ("force-default", "force (optional): ... (default: false)", "an unchanged file is skipped"),
        ("force", "Force re-indexing of all files, even if unchanged", "an unchanged file is indexed again"),
        (
            "languages",
            "Supported Languages: Rust, Python, TypeScript, JavaScript, Dart",
            "each cut at functions",
        ),
        ("plain-text", "Files that fail to parse with TreeSitter are indexed as plain text", "they are found"),
        ("returns", "message, indexed_files, skipped_files, total_chunks", "these fields, with true counts"),
        ("message", "Successfully indexed {} files", "that sentence with the count"),
        ("time", "execution_time_ms: u64 - Operation timing", "a whole number"),
        ("invalid", "Test error handling for invalid patterns", "an unbalanced glob, one that leaves the workspace"),
        ("failures", "Failed to index files", "each path that could not be indexed, with the reason"),
        ("empty", "Edge case testing (empty patterns, missing fields)", "the original's sentence"),
    ),
    *_of(
        "search_query",
        ("query-required", "query (required): Search query string", "INVALID_QUERY without"),
        ("prerequisite", "Search indexed files: prerequisites", "before indexing an empty list that says what to do"),
        ("limit-default", "limit (optional): Number of results to return (default: 10)", "at most ten"),
        ("limit", "Configurable result limits", "at most as many as asked for; 0 is INVALID_PARAMS"),
        ("semantic", "Perform semantic search across indexed files using vector similarity", "without a common word"),
        ("ranked", "Returns results ranked by similarity score (higher = more similar)", "descending, 0-1"),
        ("threshold", "configurable similarity threshold", "nothing below it"),
        ("returns", "results, query, total_results, execution_time_ms", "these fields; the query as sent"),
        ("result", "file_path, chunk_text, line_start, line_end, similarity_score", "the lines of the file"),
        ("language", "language: Option<String> - Programming language", "in lower case"),
        ("chunk_type", "chunk_type: Option<String> - Code chunk type (Function, Class, etc.)", "one of five"),
        ("excerpt", "excerpt: String - Highlighted excerpt", "the query's words between <mark> and </mark>"),
    ),
    *_of(
        "registration",
        ("both", "Both tools registered with tool registry", "search_index and search_query are callable"),
        (
            "same",
            "Update CLI to use same tool implementations",
            "the shell's two commands answer what the tools answer",
        ),
        ("descriptions", "Comprehensive markdown descriptions created", "one file each, with an example"),
    ),
)
