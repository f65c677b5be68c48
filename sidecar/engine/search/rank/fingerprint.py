"""What the learned weights depend on: the features and their code, the model, how text is cut and made into terms.

A test compares it with what `weights.json` was trained on. Not used while searching.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from pathlib import Path

from sidecar.engine.search.rank.features import FEATURES

_SOURCES = (
    "rank/candidates.py",
    "rank/evidence.py",
    "rank/features.py",
    "rank/graph.py",
    "rank/groups.py",
    "rank/match.py",
    "rank/passages.py",
    "rank/paths.py",
    "rank/symbols.py",
    "fusion.py",
    "intent.py",
    "enrich.py",
)


def fingerprint(versions: Mapping[str, int], model: str) -> dict[str, object]:
    """JSON-ready. `versions` has those of the chunker and the lexical index, `model` is the default model's id.

    The code's hash is of its syntax without docstrings: comments and layout do not count.
    """
    return {
        "features": [feature.name for feature in FEATURES],
        "code": _hash_of_code(),
        "model": model,
        **{name: versions[name] for name in ("chunker", "lexical")},
    }


def _hash_of_code() -> str:
    folder = Path(__file__).parents[1]
    trees = (_without_docstrings(ast.parse(folder.joinpath(name).read_text("utf-8"))) for name in _SOURCES)
    return hashlib.sha256("\n".join(map(ast.dump, trees)).encode()).hexdigest()[:16]


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [n for n in body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]  # type: ignore[attr-defined]
    return tree
