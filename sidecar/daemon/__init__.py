"""The daemon and its clients. This package puts surfaces together and does nothing that a surface does."""
