"""Tools for concurrency that do not depend on the index: fair slots, locks, stages, memos and usage counts."""
