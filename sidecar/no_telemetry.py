"""Keeps libraries from sending telemetry and checking for updates, even if the user's environment configures them to do
so.

`sidecar/__init__.py` calls it before any module of sidecar, in any process, can import a library: some libraries decide
when they are imported, and what they then queue or write cannot be taken back.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from types import ModuleType

FIXED = {
    # onnxruntime: on import it writes a device id and an event store into the cache folder, and ten seconds later it
    # uploads the program's path, the system and the processor. Its own function to disable that works only after the
    # import, which is too late.
    "ORT_DISABLE_TELEMETRY": "1",
    # chromadb: product telemetry.
    "ANONYMIZED_TELEMETRY": "False",
    # opentelemetry, which mcp and chromadb call: no spans, even if the user has configured an exporter.
    "OTEL_SDK_DISABLED": "true",
    # huggingface_hub, a dependency of tokenizers.
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    # pydantic: plugins from other installed packages could see all validated data, and send it elsewhere.
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
    # Any other library that respects it.
    "DO_NOT_TRACK": "1",
}
"""Environment variables that are always set."""
DROPPED = ("OTEL_", "CHROMA_OTEL_")
"""Prefixes of variables that are removed: they choose an exporter and the server that gets its reports."""
EXPORTER = ("opentelemetry.exporter.otlp.proto.grpc.trace_exporter", "OTLPSpanExporter")
"""Module and class by which chromadb sends its traces. It imports them whether or not it is to send any, and with them
gRPC and Protocol Buffers: 22 MB on disk and 12 MB in each process."""


def keep_quiet(environment: MutableMapping[str, str]) -> None:
    """Applies `FIXED` and `DROPPED` to the environment, in place, whatever the user has set.

    A user who wants a library's telemetry for another program does not want it from sidecar.
    """
    for name in [name for name in environment if name.startswith(DROPPED)]:
        del environment[name]
    environment.update(FIXED)


def leave_out_exporter(modules: MutableMapping[str, ModuleType]) -> None:
    """Puts a module without its class in place of `EXPORTER`, in `modules`, which is `sys.modules`."""
    name, exporter = EXPORTER
    empty = ModuleType(name, "Left out by sidecar: see sidecar/no_telemetry.py.")
    setattr(empty, exporter, None)
    modules[name] = empty
