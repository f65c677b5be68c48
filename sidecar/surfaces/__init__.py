"""The doors: one package per protocol, which translates between that protocol and the tools. `loopback` is what the
doors that listen on a port share."""
