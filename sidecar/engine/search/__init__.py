"""Searches: everything from one request to its answer."""
