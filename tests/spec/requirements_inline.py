"""Every requirement of the specification of one-shot search (001). `requirements.py` describes the scheme."""

from __future__ import annotations

from tests.spec.requirements import Requirement


def _of(tool: str, *rows: tuple[str, str, str]) -> tuple[Requirement, ...]:
    return tuple(Requirement(f"001.{tool}.{name}", quote, behaviour) for name, quote, behaviour in rows)


REQUIREMENTS: tuple[Requirement, ...] = (
    *_of(
        "general",
        ("tf-idf", "Search uses TF-IDF scoring with automatic highlight generation", "rare words weigh more"),
        ("levenshtein", "Fuzzy matching uses Levenshtein distance", "1 - changed letters / length"),
        ("in-memory", "All tools operate on in-memory data passed as arguments.", "nothing is kept between calls"),
        ("names", "Invocation Name `codomyrmex.<name>`", "the dotted and the plain name both answer"),
    ),
    *_of(
        "search_documents",
        ("query-required", "query | string | Required: Yes", "without it status error names query"),
        ("documents-required", "documents | array[string] | Required: Yes", "without it status error names documents"),
        ("top_k", "top_k | integer | Maximum number of results to return", "that many; 0 is refused"),
        ("top_k-default", "Maximum number of results to return (default: 5)", "five of twelve"),
        ("returns", 'status "ok", query, results', "these fields"),
        ("result", "doc_id, score, snippet, highlights", "these fields; doc_id is the place from 0"),
        ("snippet", "First 200 characters of content", "exactly these"),
        ("error", '`{"status": "error", "error": "<message>"}` on failures.', "a failure that says why"),
        ("idempotent", "Yes. Search is read-only.", "the same call answers the same"),
        ("no-injection", "Query strings are tokenized and sanitized internally", "any text is taken"),
    ),
    *_of(
        "search_index_query",
        ("combines", "Combines index creation and querying in one operation.", "finds in one call"),
        ("query-required", "query | string | Required: Yes", "without it status error names query"),
        ("documents-required", "documents | array[string] | Required: Yes", "without it status error names documents"),
        ("top_k", "top_k | integer | Maximum results to return", "that many; 0 is refused"),
        ("top_k-default", "Maximum results to return (default: 10)", "ten of twelve"),
        ("example", 'Usage Examples: "deployment guide", top_k 2', "the two texts about deployment and guides"),
        ("result", "same structure as `search_documents`", "the very same results for the same texts"),
        ("returns", 'status "ok", query, index_size, results', "these fields"),
        ("index_size", "Number of documents indexed", "counts the texts"),
        ("error", '`{"status": "error", "error": "<message>"}` on failures.', "a failure that says why"),
        ("temporary", "Creates a temporary index and searches it; no persistent state.", "a second call sees its own"),
    ),
    *_of(
        "search_fuzzy",
        ("best", "Find the best fuzzy match for a query string", "python for pythn, score 0.83"),
        ("query-required", "query | string | Required: Yes", "without it status error names query"),
        ("example", 'Usage Examples: "contanerization", threshold 0.7', "containerization alone"),
        ("candidates-required", "candidates | array[string] | Required: Yes", "without it status error"),
        ("threshold-default", "Minimum similarity score (0.0-1.0, default: 0.6)", "0.6 is in, less is out"),
        ("threshold", "threshold | number", "0 and 1 are taken, 2 is refused"),
        ("returns", 'status "ok", query, best_match, matches', "these fields"),
        ("null", "`string` or `null` | Best matching candidate above threshold", "null when none"),
        ("sorted", "All matches above threshold, sorted by score", "best first"),
        ("not-persisted", "No data is persisted. Candidates are processed in memory.", "no file comes into being"),
        ("error", '`{"status": "error", "error": "<message>"}` on failures.', "a failure that says why"),
        ("deterministic", "Fuzzy matching is stateless and deterministic.", "ties keep the candidates' order"),
    ),
)
