"""Every requirement of the specification of document indexes (000). `requirements.py` describes the scheme."""

from __future__ import annotations

from tests.spec.requirements import Requirement


def _of(tool: str, *rows: tuple[str, str, str]) -> tuple[Requirement, ...]:
    return tuple(Requirement(f"000.{tool}.{name}", quote, behaviour) for name, quote, behaviour in rows)


REQUIREMENTS: tuple[Requirement, ...] = (
    *_of(
        "general",
        ("named", "All tools operate on named index instances.", "indexes do not see each other's documents"),
        ("default", "If no index name is provided, the default in-memory index is used.", "there without being made"),
        ("in-memory", "Content is stored in-process memory.", "gone with the process, and never on disk"),
        ("tf-idf", "Search uses TF-IDF scoring", "a rarer word and a more frequent one in the text score higher"),
        ("highlights", "with automatic highlight generation around matching terms", "excerpts hold the terms"),
        ("must", "`+term` (must include)", "only documents with the word"),
        ("must-not", "`-term` (must exclude)", "no document with the word"),
        ("phrase", '`"phrase"` (exact match)', "only documents with these words in this order"),
    ),
    *_of(
        "search_index",
        ("ranked", "returning ranked results with relevance scores and context highlights", "scores fall"),
        ("query-required", "query | string | Required: Yes", "without it an error names query"),
        ("k-default", "Maximum results to return (default: 10)", "ten of eleven"),
        ("k", "k | integer | Maximum results to return", "that many; 0 is refused"),
        ("index_name", 'Target index instance (default: `"default"`)', "the index of that name is searched"),
        ("returns", "results, total_matches, query_parsed", "these fields"),
        ("total_matches", "Total candidate documents found", "is before k"),
        ("query_parsed", '{"terms": [], "must": ["python"]}', "terms, must, must_not, phrases as typed"),
        ("result", "doc_id, score, highlights, metadata", "these fields and types"),
        ("highlights-max", "Context snippets (max 3)", "three for four words"),
        ("empty-query", 'Empty query returns `{"results": [], "total_matches": 0}`.', "and the parsed query"),
        ("index-not-found", '`{"error": "Index not found: <name>"}` for unknown index names', "that sentence"),
        ("read-only", "Search is read-only.", "searching twice answers the same"),
        (
            "no-injection",
            "Query strings are tokenized and sanitized internally; no injection risk.",
            "any text is taken",
        ),
    ),
    *_of(
        "search_add_document",
        ("adds", "Add or update a document in the search index.", "found afterwards"),
        (
            "re-indexes",
            "If a document with the same ID exists, it is re-indexed with the new content.",
            "old words gone",
        ),
        ("doc_id-required", "doc_id | string | Required: Yes", "without it an error names doc_id"),
        ("metadata", "metadata | object | Arbitrary key-value metadata", "any keys and values; no object is refused"),
        ("index_name", 'Target index instance (default: `"default"`)', "goes into the index of that name"),
        ("returns", '`"indexed"` or `"re-indexed"`, doc_id, token_count', "these fields"),
        ("token_count", '"Python rate limiting with token buckets" | token_count 6', "six"),
        (
            "blank-content",
            '`{"error": "Content must be a non-empty string"}` for blank or missing content.',
            "sentence",
        ),
        ("index-not-found", "Target index instance", "adding to an index that is not there is refused"),
        ("idempotent", "Re-indexing the same content with the same ID produces identical index state.", "same answer"),
        ("as-is", "Metadata is stored as-is.", "comes back equal"),
    ),
    *_of(
        "search_create_index",
        ("creates", "Create a new named search index with optional tokenizer configuration.", "usable afterwards"),
        ("index_name-required", "index_name | string | Required: Yes", "without it an error names index_name"),
        ("backend", 'Index backend type (default: `"memory"`)', "memory unless told otherwise"),
        ("lowercase", "lowercase | Default true | Convert tokens to lowercase", "case counts only when false"),
        ("min_length", "min_length | Default 2 | Minimum token character length", "shorter words are no tokens"),
        ("returns", '`"created"`, index_name, backend', "these fields"),
        ("exists", '`{"error": "Index already exists: <name>"}` if the name is taken.', "that sentence"),
        ("unknown-backend", '`{"error": "Unknown backend: <value>"}` for unsupported backends.', "that sentence"),
        ("safe-names", "Index names should follow safe naming conventions", "whatever the name, it is no path"),
        ("not-idempotent", "Creating an index with an existing name returns an error.", "its documents stay"),
    ),
)
