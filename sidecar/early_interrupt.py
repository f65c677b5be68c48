"""Lets Ctrl-C end the process without a traceback while the command line is still being imported.

To be imported before anything that takes long to import, by the main thread.
"""

from __future__ import annotations

import signal

_WAITS = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _WAITS:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ready() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt again, which the command line reports."""
    if _WAITS:
        signal.signal(signal.SIGINT, signal.default_int_handler)
