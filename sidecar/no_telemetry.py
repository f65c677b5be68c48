"""Keeps the libraries quiet: nothing of theirs reports home, looks for updates, or is configured to do so by a user's
own environment.

`sidecar/__init__.py` calls it, so that it has happened before any module of ours, in whichever process, can import a
library: some decide at their import, and what they then queue or write cannot be taken back.
"""

from __future__ import annotations

from collections.abc import MutableMapping

FIXED = {
    # onnxruntime: at its import a device id and an event store in the cache folder, after ten seconds an upload of the
    # program's path, system and processor. Its own function to disable that comes too late: after the import.
    "ORT_DISABLE_TELEMETRY": "1",
    # chromadb: product telemetry.
    "ANONYMIZED_TELEMETRY": "False",
    # opentelemetry, which mcp and chromadb call: no spans, wherever an exporter may have been set up.
    "OTEL_SDK_DISABLED": "true",
    # huggingface_hub, which tokenizers brings along.
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    # pydantic: other packages of the environment may watch what is validated, and send it.
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
    # Whoever else heeds it.
    "DO_NOT_TRACK": "1",
}
DROPPED = ("OTEL_", "CHROMA_OTEL_")
"""Beginnings of names: they choose the exporter, and the server that is told."""


def keep_quiet(environment: MutableMapping[str, str]) -> None:
    """Whatever else the environment says: a user who wants a library's telemetry does not want ours to have it."""
    for name in [name for name in environment if name.startswith(DROPPED)]:
        del environment[name]
    environment.update(FIXED)
