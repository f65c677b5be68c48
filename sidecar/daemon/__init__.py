"""Processes that serve more than one surface: they put surfaces together, and do nothing that a surface does."""
