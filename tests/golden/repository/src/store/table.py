from .cache import LruCache
from .journal import Journal


class Table:
    """Rows by key, on disk through the journal, hot ones in the cache."""

    def __init__(self, path):
        self.cache = LruCache(1000)
        self.journal = Journal(path)

    def insert(self, key, row):
        self.journal.append(("insert", key, row))
        self.cache.put(key, row)
