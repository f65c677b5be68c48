"""The index on disk and in memory: folder layout, generations, snapshots and the swap of generations."""
