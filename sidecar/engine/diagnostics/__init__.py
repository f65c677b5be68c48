"""Answers about the index itself: its status, and why a path is or is not in it."""
