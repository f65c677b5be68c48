"""Small disks, which tests fill."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(parent: Path, size: str) -> Iterator[Path]:
    """Yields the folder of an empty disk of this size (`20m`). Skips the test if it may not mount one."""
    folder = parent / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False)
    if done.returncode:
        pytest.skip("mounting a small disk needs the superuser")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
