"""Search by word: tokens, an inverted index in SQLite, BM25, and who defines a name. No ranking, no vectors."""

from sidecar.parts.lexical.index import LexicalIndex

__all__ = ["LexicalIndex"]
