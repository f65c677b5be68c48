"""The settings that a user can change: declared in `declare`, merged in `load`, each value parsed in `values`.

This package imports nothing, so that `home` alone stays cheap to import.
"""
