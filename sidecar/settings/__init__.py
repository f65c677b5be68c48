"""The settings a user can change: declared in `declare`, read in `load`. This package imports nothing, so that `home`
alone stays cheap."""
