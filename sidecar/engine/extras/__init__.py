"""Search beyond the workspace's files: documents, memories and one-shot search."""
