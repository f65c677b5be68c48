"""The doors: a package per protocol translates between it and the tools. `loopback` is what those on a port share."""
