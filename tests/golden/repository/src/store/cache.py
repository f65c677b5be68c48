from collections import OrderedDict


class LruCache:
    """Drops the entry that was used least recently when it is full."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.entries = OrderedDict()

    def get(self, key):
        self.entries.move_to_end(key)
        return self.entries[key]

    def put(self, key, value):
        self.entries[key] = value
        if len(self.entries) > self.capacity:
            self.entries.popitem(last=False)
