"""Search a workspace by meaning and by word, on the user's own machine."""

import os
import sys

__version__ = "0.2.0"

# `python -m sidecar` puts the working directory first on the module search path. That is often a workspace, whose
# `json.py` must not be imported, so this runs before any import that is not built in. (The console script does not add
# it.)
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    try:
        if sys.path[:1] == [os.getcwd()]:  # noqa: PTH109
            del sys.path[0]
    except FileNotFoundError:  # the working directory has been deleted
        pass

from sidecar.no_telemetry import keep_quiet, leave_out_exporter

# After each product, OpenBLAS's other threads would spin for 30 ms, on the processor that the rest of a search needs
# (docs/decisions/0034). It reads this when numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
keep_quiet(os.environ)
leave_out_exporter(sys.modules)
