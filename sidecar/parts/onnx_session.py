"""Options of onnxruntime: one thread, errors only in the log, no memory kept between runs, no telemetry."""

from __future__ import annotations

from typing import Any


def session_options() -> Any:
    """Returns the `onnxruntime.SessionOptions` of every session. Imports onnxruntime."""
    import onnxruntime

    # Windows builds report to the system's event log, whatever the environment says; `no_telemetry` quiets the others.
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options
