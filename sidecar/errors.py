"""Every error the product raises on purpose: code, sentence for the user, HTTP status, exit status.

    SidecarError
    ├── InvalidParams            INVALID_PARAMS          a parameter is missing, misnamed or out of range
    │   ├── InvalidQuery         INVALID_QUERY
    │   │   └── QueryTooLong     INVALID_QUERY
    │   ├── InvalidPattern       INVALID_PATTERN
    │   ├── PathTraversal        PATH_TRAVERSAL
    │   ├── BlankContent         BLANK_CONTENT
    │   └── UnknownBackend       UNKNOWN_BACKEND         of a document index
    ├── UnknownTool              UNKNOWN_TOOL
    ├── NotFound
    │   ├── IndexNotFound        INDEX_NOT_FOUND
    │   ├── DocsIndexNotFound    DOCS_INDEX_NOT_FOUND
    │   ├── FileNotFound         FILE_NOT_FOUND
    │   ├── MemoryNotFound       MEMORY_NOT_FOUND
    │   ├── DocumentIndexNotFound  DOCUMENT_INDEX_NOT_FOUND
    │   ├── DocumentNotFound     DOCUMENT_NOT_FOUND
    │   └── WorkspaceNotFound    WORKSPACE_NOT_FOUND
    ├── Conflict
    │   ├── IndexExists          INDEX_EXISTS
    │   ├── DocumentIndexExists  DOCUMENT_INDEX_EXISTS
    │   ├── IndexingInProgress   INDEXING_IN_PROGRESS
    │   └── IndexLocked          INDEX_LOCKED            another process holds this index
    ├── FileExcluded             FILE_EXCLUDED
    ├── IndexCorrupt             INDEX_CORRUPT           unreadable, or made by another model or schema
    ├── ModelLoadFailed          MODEL_LOAD_FAILED
    ├── ModelDownloadFailed      MODEL_DOWNLOAD_FAILED   the network or the hub failed, or a file is wrong
    ├── SnapshotUnusable         SNAPSHOT_UNUSABLE       a team snapshot does not fit, is damaged, or cannot be had
    ├── StoreFailed              STORE_FAILED            the vector store did not answer; searches work without it
    ├── DaemonUnavailable        DAEMON_UNAVAILABLE      it cannot be started, reached or ended
    ├── DaemonEnded              DAEMON_ENDED            it ended during the call, whose result is lost
    ├── DiskFull                 DISK_FULL
    ├── PermissionDenied         PERMISSION_DENIED
    ├── ConfigInvalid            CONFIG_INVALID
    ├── Cancelled                CANCELLED
    └── Internal                 INTERNAL

The file that imports a library translates that library's exceptions. Surfaces catch `SidecarError` once.
`user_message` is the sentence that the contract fixes; `detail` says what exactly went wrong and what to do.
"""

from __future__ import annotations

import copy
import errno
from collections.abc import Callable
from typing import Any, ClassVar

from sidecar import shown

_MAKE_YOURS = "If it is sidecar's own, make it yours again, or set SIDECAR_HOME to another folder."
_CLOSE_SOME = "Try again in a moment; if it stays so, raise the limit on open files (`ulimit -n`)."
_LOOK_AT_DISK = "Try again; if it stays so, the disk or the file server has a fault."
_UNTIL_OPENED = {
    errno.EMFILE: _CLOSE_SOME,
    errno.ENFILE: _CLOSE_SOME,
    errno.EIO: _LOOK_AT_DISK,
    errno.ESTALE: _LOOK_AT_DISK,
}
_NO_SPACE = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


class SidecarError(Exception):
    """Base of all errors.

    `detail` is one or two sentences for the person: what exactly went wrong, and what to do. It is shown without
    further escaping, so foreign strings in it are made visible here; `facts` keep the exact values.
    """

    code: ClassVar[str] = "INTERNAL"
    user_message: ClassVar[str] = "Something went wrong inside sidecar."
    http_status: ClassVar[int] = 500
    exit_status: ClassVar[int] = 1

    def __init__(self, detail: str = "", **facts: Any) -> None:
        self.detail = shown.sentence(detail)
        super().__init__(self.detail or self.user_message)
        self.facts: dict[str, Any] = facts

    @property
    def message(self) -> str:
        """The user message, followed by the detail if the error has one."""
        return f"{self.user_message} {self.detail}".strip()

    def worded(self, say: Callable[[str], str]) -> SidecarError:
        """Returns a copy with the detail changed by `say`, or the error itself if nothing changes. The original stays
        as it is, because it may be raised again to another caller."""
        if (detail := say(self.detail)) == self.detail:
            return self
        copied = copy.copy(self)
        copied.detail, copied.args = detail, (detail,)
        return copied.with_traceback(self.__traceback__)

    def as_dict(self) -> dict[str, Any]:
        """Returns `{"code", "userMessage", "detail"?, "facts"?}`, JSON-ready."""
        body: dict[str, Any] = {"code": self.code, "userMessage": self.user_message}
        if self.detail:
            body["detail"] = self.detail
        if self.facts:
            body["facts"] = self.facts
        return body


class InvalidParams(SidecarError):
    """A parameter is missing, misnamed or out of range."""

    code, user_message, http_status, exit_status = "INVALID_PARAMS", "Invalid parameters.", 400, 2


class InvalidQuery(InvalidParams):
    """A search query is missing or empty."""

    code, user_message = "INVALID_QUERY", "Search query is required."


class QueryTooLong(InvalidQuery):
    """A search query has more characters than a search takes."""

    user_message = "Search query is too long."


class InvalidPattern(InvalidParams):
    """A glob is malformed or beyond its limits."""

    code, user_message = "INVALID_PATTERN", "Invalid glob pattern."


class PathTraversal(InvalidParams):
    """A path leads, or may lead, out of the workspace."""

    code, user_message = "PATH_TRAVERSAL", "Path must stay inside the project."


class BlankContent(InvalidParams):
    """The content to store is empty."""

    code, user_message = "BLANK_CONTENT", "Content must be a non-empty string"


class UnknownBackend(InvalidParams):
    """No backend for document indexes has this name; `detail` is the name only."""

    code, user_message = "UNKNOWN_BACKEND", "Unknown backend:"


class UnknownTool(SidecarError):
    """No tool has this name."""

    code, user_message, http_status, exit_status = "UNKNOWN_TOOL", "Unknown tool.", 404, 2


class NotFound(SidecarError):
    """Something that the caller names does not exist."""

    http_status, exit_status = 404, 3


class IndexNotFound(NotFound):
    """The workspace has no index."""

    code, user_message = "INDEX_NOT_FOUND", "This project hasn't been indexed yet."


class DocsIndexNotFound(NotFound):
    """The index has no documentation."""

    code, user_message = "DOCS_INDEX_NOT_FOUND", "No documentation has been indexed yet."


class FileNotFound(NotFound):
    """No file has this path, on disk or in the index."""

    code, user_message = "FILE_NOT_FOUND", "File not found."


class DocumentIndexNotFound(NotFound):
    """No document index has this name. `detail` is the name only: the contract fixes the whole sentence."""

    code, user_message = "DOCUMENT_INDEX_NOT_FOUND", "Index not found:"


class DocumentNotFound(NotFound):
    """No document of the index has this id."""

    code, user_message = "DOCUMENT_NOT_FOUND", "Document not found:"


class MemoryNotFound(NotFound):
    """No memory has this key."""

    code, user_message = "MEMORY_NOT_FOUND", "There is no memory with this key."


class WorkspaceNotFound(NotFound):
    """The path is not a folder."""

    code, user_message = "WORKSPACE_NOT_FOUND", "Workspace folder not found."


class Conflict(SidecarError):
    """The request conflicts with the present state."""

    http_status, exit_status = 409, 4


class IndexExists(Conflict):
    """The workspace already has a complete index."""

    code, user_message = "INDEX_EXISTS", "This project already has an index."


class DocumentIndexExists(Conflict):
    """A document index of this name already exists; `detail` is the name only."""

    code, user_message = "DOCUMENT_INDEX_EXISTS", "Index already exists:"


class IndexingInProgress(Conflict):
    """Another build, rebuild or deletion of this index is running."""

    code, user_message = "INDEXING_IN_PROGRESS", "Indexing is already in progress."


class IndexLocked(Conflict):
    """Another process holds this index."""

    code, user_message = "INDEX_LOCKED", "Another process is using this index."


class FileExcluded(SidecarError):
    """The rules leave this file out of the index."""

    code, user_message = "FILE_EXCLUDED", "File is excluded by configuration."
    http_status, exit_status = 422, 5


class IndexCorrupt(SidecarError):
    """A file of the index is unreadable, or was made by another model or schema."""

    code, user_message = "INDEX_CORRUPT", "The index is corrupted or invalid."
    http_status, exit_status = 409, 6


class ModelLoadFailed(SidecarError):
    """The embedding model cannot be loaded."""

    code, user_message = "MODEL_LOAD_FAILED", "The embedding model failed to load."
    http_status, exit_status = 503, 7


class ModelDownloadFailed(SidecarError):
    """The network or the hub failed, or a downloaded file is not the expected one."""

    code, user_message = "MODEL_DOWNLOAD_FAILED", "The embedding model could not be downloaded."
    http_status, exit_status = 503, 7


class SnapshotUnusable(SidecarError):
    """A team snapshot does not fit this checkout, is damaged, or cannot be fetched or stored. The index stays as it
    was."""

    code, user_message = "SNAPSHOT_UNUSABLE", "The snapshot could not be used or stored."
    http_status, exit_status = 503, 7


class StoreFailed(SidecarError):
    """The vector store did not answer; searches work without it."""

    code, user_message = "STORE_FAILED", "The vector store did not answer."
    http_status, exit_status = 503, 7


class DaemonEnded(SidecarError):
    """The daemon ended during the call, whose result is lost; the caller has to repeat it."""

    code, user_message = "DAEMON_ENDED", "The sidecar daemon ended during this call."
    http_status, exit_status = 503, 7


class DaemonUnavailable(SidecarError):
    """The daemon cannot be started, reached or ended."""

    code, user_message = "DAEMON_UNAVAILABLE", "The sidecar daemon is not available."
    http_status, exit_status = 503, 7


class DiskFull(SidecarError):
    """The disk has no space left."""

    code, user_message = "DISK_FULL", "There is no space left on the disk."
    http_status, exit_status = 507, 8


class PermissionDenied(SidecarError):
    """A file or folder cannot be read, written or locked."""

    code, user_message = "PERMISSION_DENIED", "Permission denied."
    http_status, exit_status = 403, 8


def without_locks(path: object, error: OSError) -> PermissionDenied:
    """Returns the error for a file that cannot be locked because its file system has no locks."""
    return PermissionDenied(
        f"{shown.place(path)} cannot be locked ({error.strerror}), because its file system has no locks. "
        "Set SIDECAR_HOME to a folder on another file system."
    )


def disk_error(error: OSError, path: object) -> DiskFull | PermissionDenied:
    """Returns the error for a file or folder of sidecar's own that could not be written at `path`."""
    if error.errno in _NO_SPACE:
        return DiskFull(f"Free some space on the disk that holds {shown.place(path)} and try again.")
    return PermissionDenied(
        f"{shown.place(path)} cannot be written: {error.strerror or error}. Set SIDECAR_HOME to another folder."
    )


def access_error(error: Exception) -> PermissionDenied | None:
    """Returns the error for a file or folder that the system does not open: not for this user, as after a call with
    sudo, not at the moment, or not on this disk. None for any other exception."""
    if not isinstance(error, OSError):
        return None
    advice = _MAKE_YOURS if isinstance(error, PermissionError) else _UNTIL_OPENED.get(error.errno or 0)
    if advice is None:
        return None
    what = shown.place(error.filename) if error.filename else "A file"
    return PermissionDenied(f"{what} cannot be opened: {error.strerror or error}. {advice}")


def output_error(error: OSError) -> DiskFull | PermissionDenied:
    """Returns the error for a result that could not be written to standard output."""
    if error.errno in _NO_SPACE:
        return DiskFull("The result could not be written to standard output.")
    return PermissionDenied(f"The result could not be written to standard output: {error.strerror or error}.")


class ConfigInvalid(SidecarError):
    """A setting is unknown or has a value that is not allowed."""

    code, user_message = "CONFIG_INVALID", "The configuration is invalid."
    http_status, exit_status = 400, 2


class Cancelled(SidecarError):
    """The client cancelled the operation."""

    code, user_message = "CANCELLED", "The operation was cancelled."
    http_status, exit_status = 499, 130


class Internal(SidecarError):
    """An error in sidecar itself."""
