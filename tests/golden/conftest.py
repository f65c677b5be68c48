"""Keeps pytest away from the frozen repository, which holds tests of its own."""

collect_ignore = ["repository"]
