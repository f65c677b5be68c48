"""Team snapshots as files: their container, their signatures, the places that store them, and the history of a
repository."""
