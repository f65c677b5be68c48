"""Search a workspace by meaning and by word, on the user's own machine."""

__version__ = "0.1.0"
