"""The daemon and its clients. This package connects surfaces with the engine and does none of their work."""
