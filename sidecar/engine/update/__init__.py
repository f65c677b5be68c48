"""Keeps an index up to date with the files: change queue, live update, passes over the workspace, and model upgrade."""
