"""Concurrency tools that know nothing of indexes: fair slots, locks, stages, memos and usage counts."""
