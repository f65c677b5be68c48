"""The settings a user can change: declared in `declare`, merged in `load`, each value read in `values`.

This package imports nothing, so that `home` alone stays cheap.
"""
