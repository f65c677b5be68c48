"""Keeps an index in step with the files: change queue, live update, whole passes and model upgrade."""
