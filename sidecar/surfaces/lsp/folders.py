"""The workspace folders that the client has open, in the client's order. The engine's workspaces are kept elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sidecar import shown
from sidecar.errors import WorkspaceNotFound
from sidecar.surfaces.lsp.uris import path_from, path_of


class Folders:
    """Folders by path. A folder whose URI has a scheme other than `file` is ignored."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the open folders."""
        return tuple(self._paths)

    def add(self, uris: Iterable[str]) -> list[str]:
        """Adds folders and returns the paths that are new."""
        new = [path for path in map(path_of, uris) if path is not None and path not in self._paths]
        self._paths.update(dict.fromkeys(new))
        return list(dict.fromkeys(new))

    def remove(self, uris: Iterable[str]) -> list[str]:
        """Removes folders and returns the paths that were open."""
        gone = [path for path in map(path_of, uris) if path is not None and path in self._paths]
        for path in gone:
            self._paths.pop(path, None)
        return gone

    def chosen(self, place: object) -> str:
        """Returns the folder that a call names by URI or path.

        For a place inside an open folder, returns that folder. Any other place need not be open in the client and is
        returned as a path. Raises WorkspaceNotFound if `place` is neither a file URI nor an absolute path.
        """
        path = path_from(place) if isinstance(place, str) else None
        if path is None:
            raise WorkspaceNotFound(
                f"workspace must be a file URI or an absolute path, not {shown.quoted(str(place))}."
            )
        if path in self._paths:
            return path
        located = self.locate(path)
        return located[0] if located else path

    def first(self) -> str:
        """Returns the first open folder. Raises WorkspaceNotFound if no folder is open."""
        self.require()
        return next(iter(self._paths))

    def require(self) -> tuple[str, ...]:
        """Returns the open folders. Raises WorkspaceNotFound if no folder is open."""
        if not self._paths:
            raise WorkspaceNotFound("No folder is open in the editor. Open one, or name it in the parameter workspace.")
        return self.paths

    def locate(self, path: str) -> tuple[str, str] | None:
        """Returns the innermost open folder that contains this path, and the path relative to it with `/` as separator.

        Returns None if no open folder contains the path.
        """
        inside = [folder for folder in self._paths if Path(path).is_relative_to(folder) and path != folder]
        if not inside:
            return None
        folder = max(inside, key=len)
        return folder, Path(path).relative_to(folder).as_posix()
