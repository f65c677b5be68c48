"""The programs that agents live in: where each lists its MCP servers, and how sidecar enters and leaves that list."""
