"""Rewrites `expected.txt`: `python -m tests.golden.update`, then read the diff before committing it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.golden.ranking import EXPECTED, rank_all

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        EXPECTED.write_text(rank_all(Path(folder)), "utf-8")
