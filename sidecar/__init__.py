"""Search a workspace by meaning and by word, on the user's own machine."""

import os
import sys

__version__ = "0.1.0"

# `python -m sidecar` puts the working directory first among the places of modules: a workspace, whose `json.py` is not
# ours to run. (The console script does not.) Before any import that is not built in.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:  # noqa: PTH109
    del sys.path[0]

from sidecar.no_telemetry import keep_quiet

keep_quiet(os.environ)
