"""The shell's door: the `sidecar` command line."""
