"""What `sidecar --version` prints: the version, the commit that it was built from, and the models that ship."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sidecar import __version__
from sidecar.surfaces.cli.tool_options import Facts

_PACKAGE = Path(__file__).resolve().parents[2]


def version_text(facts: Facts, package: Path = _PACKAGE) -> str:
    """Returns two lines: `sidecar 1.2.3 (commit 0123456789ab)`, and the models, the default one first.

    The commit is left out if it is not known.
    """
    commit = _commit(package)
    first = f"sidecar {__version__}" + (f" (commit {commit})" if commit else "")
    return f"{first}\nmodels: {', '.join(facts['models'])}"


def _commit(package: Path) -> str:
    """Returns the commit that the wheel's build noted, otherwise the one that git reports for the checkout; empty if
    neither is known."""
    try:
        return (package / "_commit").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        pass
    if not (package.parent / ".git").exists():
        return ""
    line = ["git", "-C", str(package.parent), "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
