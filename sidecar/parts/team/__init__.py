"""Team snapshots as files: the container, its signature, the places that hold them, and the history of a repository."""
