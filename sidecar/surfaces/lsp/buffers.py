"""Tells the engine which documents are open, and gives it their unsaved text, so that a search sees what the editor
shows.

If a document's text equals its file, the engine reads the file instead, so that it notices when the file changes on
disk. Only files inside a workspace folder count; untitled documents and other schemes are ignored.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar.errors import SidecarError
from sidecar.logs import workspace_log
from sidecar.model.workspace import Workspace
from sidecar.small_files import read_small_file
from sidecar.surfaces.lsp.documents import apply_changes
from sidecar.surfaces.lsp.folders import Folders
from sidecar.surfaces.lsp.uris import path_of

DEBOUNCE_S = 0.3
"""A changed document is passed to the engine after this pause in typing."""
FLUSH_WAIT_S = 2.0
"""How long a call waits for the engine to receive the unsaved texts."""


@dataclass(slots=True)
class _Open:
    """An open document: its folder and its path in it (None outside all folders), and the client's text."""

    place: tuple[str, str] | None
    text: str


class Buffers:
    """The client's open documents. Lives on the event loop; all calls of the engine run in one other thread, in
    order."""

    def __init__(self, folders: Folders, workspace: Callable[[str], Workspace], debounce_s: float = DEBOUNCE_S) -> None:
        self._folders = folders
        self._workspace = workspace
        self._debounce_s = debounce_s
        self._open: dict[str, _Open] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._running: set[asyncio.Future[None]] = set()
        self._given: set[tuple[str, str]] = set()
        self._refused: set[tuple[str, ...]] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sidecar-lsp-buffers")
        self.encoding = "utf-16"

    def opened(self, uri: str, text: str) -> None:
        """Handles an opened document."""
        path = path_of(uri)
        if path is not None:
            document = self._open[uri] = _Open(self._folders.locate(path), text)
            if document.place is not None:
                self._start(self._tell_open, *document.place)
            self._sync_now(uri)

    def changed(self, uri: str, changes: list[Any]) -> None:
        """Handles changes of a document; the engine gets the text after a pause."""
        document = self._open.get(uri)
        if document is None:
            return
        document.text = apply_changes(document.text, changes, self.encoding)
        self._cancel_timer(uri)
        self._timers[uri] = asyncio.get_running_loop().call_later(self._debounce_s, self._sync_now, uri)

    def saved(self, uri: str) -> None:
        """Handles a saved document."""
        if uri in self._open:
            self._sync_now(uri)

    def closed(self, uri: str) -> None:
        """Handles a closed document: the engine drops its text."""
        self._cancel_timer(uri)
        document = self._open.pop(uri, None)
        if document is not None and document.place is not None:
            self._start(self._drop, *document.place)
            self._start(self._tell_closed, *document.place)

    def folders_changed(self) -> None:
        """Looks up each document's folder again: it may now lie in another folder, or in none."""
        for uri, document in list(self._open.items()):
            path = path_of(uri)
            if path is not None and self._folders.locate(path) != document.place:
                self.closed(uri)
                self.opened(uri, document.text)

    async def flush(self) -> None:
        """Waits until the engine has all text that the client has sent so far, for at most `FLUSH_WAIT_S`."""
        for uri in list(self._timers):
            self._sync_now(uri)
        if self._running:
            await asyncio.wait(set(self._running), timeout=FLUSH_WAIT_S)

    async def close(self, timeout_s: float) -> None:
        """Makes the engine drop all texts, as far as the time allows."""
        for uri in list(self._open):
            self.closed(uri)
        if self._running:
            await asyncio.wait(set(self._running), timeout=timeout_s)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _cancel_timer(self, uri: str) -> None:
        timer = self._timers.pop(uri, None)
        if timer is not None:
            timer.cancel()

    def _sync_now(self, uri: str) -> None:
        self._cancel_timer(uri)
        document = self._open[uri]
        if document.place is not None:
            self._start(self._sync, *document.place, document.text)

    def _start(self, work: Callable[..., None], *arguments: str) -> None:
        future = asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, work, arguments)
        self._running.add(future)
        future.add_done_callback(self._running.discard)

    def _guarded(self, work: Callable[..., None], arguments: tuple[str, ...]) -> None:
        log = workspace_log("sidecar.lsp", arguments[0])
        try:
            work(*arguments)
        except SidecarError as error:
            if arguments[:2] not in self._refused:  # once per file, not at every pause in typing
                log.warning("the unsaved text of %s is not searched: %s", arguments[1], error.message)
            self._refused.add(arguments[:2])
        except Exception:
            log.exception("the unsaved text of %s is not searched", arguments[1])

    def _sync(self, folder: str, path: str, text: str) -> None:
        if _on_disk(Path(folder, path), text):
            self._drop(folder, path)
            return
        # JSON can hold a lone surrogate; UTF-8 cannot.
        self._given.add((folder, path))  # also if it is refused: it is kept until the index may be written
        self._workspace(folder).set_buffer(path, text.encode("utf-8", "replace").decode("utf-8"))

    def _tell_open(self, folder: str, path: str) -> None:
        self._workspace(folder).open_file(path)

    def _tell_closed(self, folder: str, path: str) -> None:
        self._workspace(folder).close_file(path)

    def _drop(self, folder: str, path: str) -> None:
        if (folder, path) in self._given:
            self._workspace(folder).drop_buffer(path)
            self._given.discard((folder, path))


def _on_disk(path: Path, text: str) -> bool:
    """Whether the file holds this text. Returns False for a file that is not valid UTF-8."""
    plain = text.removeprefix("\ufeff")
    try:
        content = read_small_file(path, len(codecs.BOM_UTF8) + len(plain.encode()))
        return content is not None and content.decode("utf-8-sig") == plain
    except (OSError, ValueError):
        return False
