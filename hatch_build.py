"""Notes in the wheel of which commit it was built, for `sidecar --version`, and where its release is, for downloads."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]  # generic for its checker alone
    """Adds `sidecar/_commit` to a wheel and, if SIDECAR_REPOSITORY says where the project is published, the address of
    the release's files. A tree without git, such as a source archive, keeps what is in it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Writes the files below `build`, which git ignores, and includes them."""
        root = Path(self.root)
        checkout = (root / ".git").exists()
        named = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
        )
        note = root / "build" / "_commit"
        address = root / "build" / "_released_at"
        if checkout:
            note.parent.mkdir(exist_ok=True)
            address.unlink(missing_ok=True)
        if checkout and named.returncode == 0:
            note.write_text(named.stdout.strip() + "\n", encoding="ascii")
        if checkout and (repository := os.environ.get("SIDECAR_REPOSITORY", "").rstrip("/").removesuffix(".git")):
            address.write_text(f"{repository}/releases/download/v{self.metadata.version}\n", encoding="ascii")
        for made, packed in ((note, "sidecar/_commit"), (address, "sidecar/_models/released-at")):
            if made.exists():
                build_data["force_include"][str(made)] = f"build/{made.name}" if self.target_name == "sdist" else packed
