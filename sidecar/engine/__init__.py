"""The engine: everything that indexes and searches workspaces, independent of protocols. See docs/ARCHITECTURE.md."""
