"""Search in other texts than the workspace's files: documents, memories and one-shot search."""
