"""Loads a program of these folders as a module. Programs without a suffix cannot be imported."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType


def load_script(path: str) -> ModuleType:
    """`bench/bench-quality` as the module `bench_quality`. Each call runs the program's top level again."""
    file = Path(__file__).parent / path
    loader = SourceFileLoader(file.name.replace("-", "_"), str(file))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    # Dataclasses look up their module there.
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module
