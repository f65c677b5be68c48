"""Computes a fingerprint of everything that the learned weights depend on: the features and their code, the model, and
the versions of the chunker and of the lexical index.

A test compares it with the fingerprint stored in `weights.json`. Searches do not use it.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sidecar.engine.search.rank.features import FEATURES

_SOURCES = (
    "engine/search/rank/candidates.py",
    "engine/search/rank/strongest.py",
    "engine/search/rank/signals.py",
    "engine/search/rank/features.py",
    "engine/search/rank/mentions.py",
    "engine/search/rank/chunk_groups.py",
    "engine/search/rank/contributions.py",
    "engine/search/rank/lexical_scores.py",
    "engine/search/rank/scores_on_demand.py",
    "engine/search/rank/term_postings.py",
    "engine/search/rank/term_runs.py",
    "engine/search/rank/word_scores.py",
    "engine/search/rank/chunk_scores.py",
    "engine/search/rank/paths.py",
    "engine/search/rank/chunk_choice.py",
    "engine/search/rank/definitions.py",
    "engine/search/rank/named_files.py",
    "engine/search/query.py",
    "engine/search/intents.py",
    "engine/search/long_text.py",
    "engine/search/messages.py",
    "engine/ingest/embedding_text.py",
    "parts/lexical/bm25.py",
    "parts/lexical/curves.py",
    "parts/lexical/telling.py",
)


def fingerprint(versions: Mapping[str, int], model: str) -> dict[str, object]:
    """Returns the fingerprint as JSON-ready values. `versions` must contain `chunker` and `lexical`; `model` is the
    default model's id.

    The code's hash covers its syntax tree without docstrings and imports, so comments, layout and moved imports do not
    change it.
    """
    return {
        "features": [feature.name for feature in FEATURES],
        "code": _hash_of_code(),
        "model": model,
        **{name: versions[name] for name in ("chunker", "lexical")},
    }


def _hash_of_code() -> str:
    folder = Path(__file__).parents[3]
    trees = (_what_runs(ast.parse(folder.joinpath(name).read_text("utf-8"))) for name in _SOURCES)
    return hashlib.sha256("\n".join(map(_dump, trees)).encode()).hexdigest()[:16]


def _dump(tree: ast.AST) -> str:
    """Returns the text of a syntax tree as Python 3.11 writes it: later versions have one more field, and leave empty
    lists out."""
    empty: dict[str, Any] = {"show_empty": True} if sys.version_info >= (3, 13) else {}
    return ast.dump(tree, **empty).replace(", type_params=[]", "")


def _what_runs(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [n for n in body if not _is_silent(n)]  # type: ignore[attr-defined]
    return tree


def _is_silent(node: ast.stmt) -> bool:
    """Whether the statement is a docstring, another bare constant, or an import."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
