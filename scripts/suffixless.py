"""Loads a script of this folder as a module. Scripts without a suffix cannot be imported."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType


def load_script(name: str) -> ModuleType:
    """`bench-quality` as the module `bench_quality`. Each call runs the script again."""
    loader = SourceFileLoader(name.replace("-", "_"), str(Path(__file__).with_name(name)))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    # Dataclasses look up their module there.
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module
