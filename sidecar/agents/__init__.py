"""The settings files of agents: where each agent lists its MCP servers, and how sidecar is added to and removed from
that list."""
