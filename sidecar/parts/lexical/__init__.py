"""Search by word: tokens, an inverted index in SQLite, BM25, and look-ups of definitions. Ranks nothing, knows no
vectors.
"""

from sidecar.parts.lexical.index import LexicalIndex

__all__ = ["LexicalIndex"]
