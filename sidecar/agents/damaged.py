"""The error of a settings file of another program that sidecar leaves unchanged."""

from __future__ import annotations


class NotChanged(Exception):
    """The file cannot be changed without loss. The text continues a sentence that begins with the file's path."""
