"""What every door on a loopback port needs.

Any user of the machine can connect to such a port, but only one user may be served.
"""
