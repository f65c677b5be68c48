"""Why a settings file of another program is left as it is."""

from __future__ import annotations


class NotChanged(Exception):
    """The file cannot be changed without a loss. The text is the rest of a sentence that begins with the file."""
