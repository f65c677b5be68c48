"""What `doctor` checks, for surfaces; the engine does the looking."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def run_checks(flags: Mapping[str, object], root: str, env: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """One `{name, ok, found, advice}` per check; advice is empty when all is well. Raises nothing."""
    from sidecar.engine.doctor import check_everything

    environment = os.environ if env is None else env
    return [
        {"name": check.name, "ok": check.ok, "found": check.found, "advice": check.advice}
        for check in check_everything(flags, environment, root)
    ]
