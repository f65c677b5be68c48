"""The files of one workspace: their place, their unsaved text, and the settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass

from sidecar.engine.ports import Parts, Walker, Watching
from sidecar.errors import FileNotFound, InvalidPattern
from sidecar.model.files import Checkout, FoundFile, IndexedBlob, SkippedPath, Stat
from sidecar.parts.globs import wrong_globs
from sidecar.parts.pattern_limit import PatternLimit
from sidecar.parts.reading_order import lately_changed, reading_order
from sidecar.settings.load import Settings


@dataclass(frozen=True)
class WorkspaceFiles:
    """The files below `root`. `buffers` maps paths to the unsaved text of editors; `settings` returns the settings.

    `limit` returns the patterns that the index is limited to; None means the whole workspace. It raises IndexCorrupt.
    `opened` are the paths that are open in editors.
    """

    root: str
    buffers: Mapping[str, str]
    parts: Parts
    settings: Callable[[], Settings]
    limit: Callable[[], PatternLimit | None] = lambda: None
    opened: Collection[str] = ()

    def walker(self) -> Walker:
        """Returns a walker with the current settings, limited to the patterns of the index."""
        return self.walker_within(self.limit())

    def wrong_globs(self) -> tuple[str, ...]:
        """Returns what is to be said of wrong globs in the settings; empty if there is none."""
        settings = self.settings()
        said = wrong_globs(settings.include, settings.exclude, settings.doc_patterns)
        return (said,) if said else ()

    def check_globs(self) -> None:
        """Raises InvalidPattern if a glob of the settings is wrong: nobody can tell what a new index is to leave
        out."""
        settings = self.settings()
        if said := wrong_globs(settings.include, settings.exclude):
            raise InvalidPattern(said)

    def walker_within(self, limit: PatternLimit | None) -> Walker:
        """Returns a walker with the current settings, limited to these patterns."""
        return self.parts.make_walker(self.root, self.settings(), limit)

    def watcher(self) -> Watching:
        """Returns a watcher with the current settings, not yet started."""
        return self.parts.make_watcher(self.root, self.settings())

    def checkout(self) -> Checkout:
        """Returns the present state of these files in git. It costs a few system calls."""
        return self.parts.read_checkout(self.root)

    def unmodified(self, files: Mapping[str, IndexedBlob]) -> Set[str]:
        """Returns the paths of those files that, according to git's index, have the content with this blob id."""
        return self.parts.unmodified(self.root, files)

    def in_order(self, files: Sequence[FoundFile]) -> list[FoundFile]:
        """Returns the same files in the order in which they are to be read; see `parts/reading_order.py`."""
        return reading_order(files, self.in_editors(), lately_changed(files))

    def in_editors(self) -> set[str]:
        """Returns the paths that are open in an editor or have unsaved text."""
        return {*list(self.opened), *list(self.buffers)}

    def find(self, path: str, walker: Walker | None = None) -> FoundFile | SkippedPath | None:
        """Returns the file if the walk would offer it, the reason if it would not, or None if it does not exist.

        Unsaved text counts as a file. A caller with many paths passes one `walker` for all of them.
        """
        walker = walker or self.walker()
        text = self.buffers.get(path)
        try:
            return walker.found(path)
        except FileNotFound:
            if text is None:
                return None
        decision = walker.decide(path)
        if not decision.indexed:
            return SkippedPath(path, decision)
        docs = self.parts.is_documentation(path, self.settings())
        return FoundFile(path, Stat(len(text), 0, 0, 0), "docs" if docs else "code")
