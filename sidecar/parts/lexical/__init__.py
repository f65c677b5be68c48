"""Search by words: tokens, an inverted index in SQLite, BM25, and look-ups of definitions. It does not rank files and
does not deal with vectors."""

from sidecar.parts.lexical.index import LexicalIndex

__all__ = ["LexicalIndex"]
