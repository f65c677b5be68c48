"""The sidecar command of an older version, which still runs after its installation was upgraded."""

from __future__ import annotations

import sys

from sidecar.__main__ import main

if __name__ == "__main__":
    sys.exit(main(version="0.0.9", command=(sys.executable, "-m", "tests.daemon.older")))
