"""What `doctor` checks and which models there are, for surfaces; the engine does the looking."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def run_checks(flags: Mapping[str, object], root: str, env: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """One `{name, ok, found, advice}` per check; advice is empty when all is well. Raises nothing."""
    from sidecar.engine.checkup import check_everything

    environment = os.environ if env is None else env
    return [
        {"name": check.name, "ok": check.ok, "found": check.found, "advice": check.advice}
        for check in check_everything(flags, environment, root)
    ]


def list_models(flags: Mapping[str, object], root: str, env: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The models that ship and the one in use. Raises `ModelLoadFailed` when the catalog cannot be read."""
    from sidecar.engine.checkup import known_models

    environment = os.environ if env is None else env
    return [
        {
            "id": model.id,
            "dimension": model.dimension,
            "size": model.size,
            "licence": model.licence,
            "source": model.source,
            "inUse": model.in_use,
        }
        for model in known_models(flags, environment, root)
    ]
