"""Holds all workspaces that this process has open: creates each at its first use, frees the memory of idle ones, closes
them at the end."""

from __future__ import annotations

import threading
from pathlib import Path

from sidecar import shown
from sidecar.engine.concurrency.fair_slots import FairSlots
from sidecar.engine.concurrency.right_of_way import after_questions
from sidecar.engine.concurrency.usage import give_memory_back
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.models.loader import Models
from sidecar.engine.ports import Parts
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import WorkspaceNotFound
from sidecar.locks import Rank, make_lock
from sidecar.model.workspace import Workspace
from sidecar.parts.data_folder import data_folder_of
from sidecar.parts.lease import Lease
from sidecar.parts.paths import normalise_root

IDLE_LOOK_S = 30.0


class OpenWorkspaces:
    """Holds one `IndexedWorkspace` per root. They share models, worker processes and fair slots."""

    def __init__(self, home: Path, parts: Parts) -> None:
        self._home = home
        self._real_home = home.resolve()
        self._parts = parts
        self._models = Models(parts.make_embedder, home)
        self._open: dict[str, IndexedWorkspace] = {}
        self._lock = make_lock(Rank.WORKSPACES)
        self._fair_slots = FairSlots()
        self._closing = threading.Event()
        self._watching: threading.Thread | None = None

    def get(self, root: str) -> Workspace:
        """Returns the workspace of a root folder, created at its first use.

        Raises WorkspaceNotFound if the path is relative, is not a folder, or belongs to one of sidecar's data folders.
        """
        normal = normalise_root(root)
        if not Path(normal).is_dir():
            raise WorkspaceNotFound(f"{shown.place(root)} is not a folder.")
        if data := data_folder_of(normal, self._real_home):
            raise WorkspaceNotFound(
                f"{shown.place(root)} belongs to sidecar's own data in {shown.place(data)}, which is never searched. "
                "Go to a project's folder, or name one (in a shell with --workspace)."
            )
        with self._lock:
            if normal not in self._open:
                self._open[normal] = IndexedWorkspace(
                    normal,
                    IndexLayout(self._home, normal),
                    self._parts,
                    self._models,
                    Lease,
                    fair_slots=self._fair_slots,
                )
                self._watch()
            return self._open[normal]

    def problems(self, root: str) -> None:
        """Returns None: this process has one set of settings, and each workspace reports their problems itself."""

    def rest(self, after_s: float | None = None) -> None:
        """Frees the memory of idle workspaces, and that of models and worker processes if all workspaces are idle. What
        lately used workspaces needed for a while is returned to the system.

        `after_s` is the number of seconds that a workspace must have been idle; None means its setting `idleMinutes`.
        """
        with self._lock:
            workspaces = list(self._open.values())
        awake = [workspace for workspace in workspaces if not workspace.resting]
        idle = [workspace.rest(_idle_s(workspace) if after_s is None else after_s) for workspace in awake]
        if awake and all(idle):
            self._models.unload()
            self._parts.preparers.rest()
        if any(idle):
            give_memory_back()
        elif any(not workspace.usage.calm(IDLE_LOOK_S) for workspace in awake):
            # The allocator keeps what questions needed: 100 MB and more with a large index.
            after_questions(give_memory_back)

    def reload_settings(self) -> None:
        """Applies changed settings to all open workspaces, including those that are not being called."""
        with self._lock:
            workspaces = list(self._open.values())
        for workspace in workspaces:
            workspace.reload_settings()

    def _watch(self) -> None:
        def look() -> None:
            while not self._closing.wait(IDLE_LOOK_S):
                self.reload_settings()
                self.rest()

        if self._watching is None:
            self._watching = threading.Thread(target=look, name="sidecar-idle", daemon=True)
            self._watching.start()

    def close(self) -> None:
        """Closes all workspaces, the worker processes and the models."""
        self._closing.set()
        with self._lock:
            workspaces = list(self._open.values())
            self._open.clear()
        for workspace in workspaces:
            workspace.close()
        self._parts.preparers.rest()
        self._models.close()


def _idle_s(workspace: IndexedWorkspace) -> float:
    return workspace.settings().idle_minutes * 60.0 or float("inf")
