"""Notes in the wheel of which commit it was built, for `sidecar --version`."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]  # generic for its checker alone
    """Adds `sidecar/_commit` to a wheel. A tree without git, such as a source archive, keeps what is in it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Writes the file below `build`, which git ignores, and includes it."""
        root = Path(self.root)
        named = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
        )
        note = root / "build" / "_commit"
        if named.returncode == 0 and (root / ".git").exists():
            note.parent.mkdir(exist_ok=True)
            note.write_text(named.stdout.strip() + "\n", encoding="ascii")
        if note.exists():
            build_data["force_include"][str(note)] = (
                "build/_commit" if self.target_name == "sdist" else "sidecar/_commit"
            )
