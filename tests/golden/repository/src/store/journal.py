import os


class Journal:
    """Write-ahead log: a change is on disk before it is done."""

    def append(self, record):
        self.file.write(encode(record))
        os.fsync(self.file.fileno())

    def replay(self, apply):
        """Recovery after a crash."""
        for record in self.read():
            apply(record)
