"""The workspace folders that the client has open, in its order. Not here: the engine's workspaces."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sidecar import shown
from sidecar.errors import WorkspaceNotFound
from sidecar.surfaces.lsp.uris import path_from, path_of


class Folders:
    """Folders by path. A folder of another scheme than `file` is not served and counts as absent."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._paths)

    def add(self, uris: Iterable[str]) -> list[str]:
        """Returns the paths that are new."""
        new = [path for path in map(path_of, uris) if path is not None and path not in self._paths]
        self._paths.update(dict.fromkeys(new))
        return list(dict.fromkeys(new))

    def remove(self, uris: Iterable[str]) -> list[str]:
        """Returns the paths that were there."""
        gone = [path for path in map(path_of, uris) if path is not None and path in self._paths]
        for path in gone:
            self._paths.pop(path, None)
        return gone

    def chosen(self, place: object) -> str:
        """The folder that a call names by URI or path; it need not be open in the client, nor does a place inside."""
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
        self.require()
        return next(iter(self._paths))

    def require(self) -> tuple[str, ...]:
        if not self._paths:
            raise WorkspaceNotFound("No folder is open in the editor. Open one, or name it in the parameter workspace.")
        return self.paths

    def locate(self, path: str) -> tuple[str, str] | None:
        """The innermost folder that holds this path, and the path relative to it, `/`-separated."""
        inside = [folder for folder in self._paths if Path(path).is_relative_to(folder) and path != folder]
        if not inside:
            return None
        folder = max(inside, key=len)
        return folder, Path(path).relative_to(folder).as_posix()
