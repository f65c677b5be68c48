"""A copy of the package as after an installation, with the test's own list of published models."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import sidecar
from sidecar.parts.embed.catalog import models_folder
from tests import hub as hubs

PATHS = {"model.onnx": "onnx/model.onnx", "weights.bin": "onnx/weights.bin", "tokenizer.json": "tokenizer.json"}
MINILM = models_folder() / "minilm-code"


def install(site: Path, models: list[dict[str, Any]]) -> Path:
    """Returns the folder for PYTHONPATH."""
    shutil.copytree(Path(sidecar.__file__).parent, site / "sidecar", ignore=shutil.ignore_patterns("__pycache__"))
    packed = site / "sidecar" / "_models"
    packed.mkdir()
    for name in ("catalog.json", "static-code-256"):
        (packed / name).symlink_to(models_folder() / name)
    (packed / "published.json").write_text(json.dumps({"models": models}), "utf-8")
    return site


def serve_minilm(folder: Path) -> dict[str, Any]:
    """Lays out our MiniLM as on the hub. Returns its entry, pinned to a commit."""
    files = {}
    entry: dict[str, Any]
    for name, path in PATHS.items():
        target = folder / "acme" / "minilm" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(MINILM / name.replace("model.onnx", "int8.onnx"), target)
        files[name] = {"path": path, "size": target.stat().st_size, "sha256": hubs.sha256(target)}
    entry = {"id": "minilm-hub", "about": "a test", "repository": "acme/minilm", "revision": hubs.COMMIT}
    entry |= {"dimension": 384, "pooling": "graph", "max_tokens": 256, "texts_per_run": 1, "licence": "Apache-2.0"}
    return {**entry, "download": files}


def environment(site: Path, home: Path, **more: str) -> dict[str, str]:
    """Returns an environment without proxies, because a hub on this machine must be reached directly, and without
    variables of another test's shell."""
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and not k.startswith("SIDECAR_")}
    return {**kept, "PYTHONPATH": str(site), "SIDECAR_HOME": str(home), "CI": "1", **more}


def command(*words: str, python: str = sys.executable) -> list[str]:
    return [python, "-P", "-m", "sidecar", *words]
