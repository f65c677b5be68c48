"""The checks of `sidecar doctor`, for surfaces; `engine/doctor.py` performs them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def run_checks(flags: Mapping[str, object], root: str, env: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """One `{name, ok, found, advice}` per check; `advice` is empty when nothing needs to be done. Never raises."""
    from sidecar.engine.doctor import check_everything

    environment = os.environ if env is None else env
    return [
        {"name": check.name, "ok": check.ok, "found": check.found, "advice": check.advice}
        for check in check_everything(flags, environment, root)
    ]
