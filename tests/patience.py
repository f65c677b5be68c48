"""How long a test waits for what must come: one number, so that no test is in more of a hurry than another."""

from __future__ import annotations

PATIENCE_S = 600.0
"""Seconds. Only what hangs takes as long, however busy the machine is."""
