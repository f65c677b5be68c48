"""Every error the product raises on purpose: code, sentence for the user, HTTP status, exit status.

    SidecarError
    ├── InvalidParams            INVALID_PARAMS          a parameter is missing, misnamed or out of range
    │   ├── InvalidQuery         INVALID_QUERY
    │   ├── InvalidPattern       INVALID_PATTERN
    │   ├── PathTraversal        PATH_TRAVERSAL
    │   ├── BlankContent         BLANK_CONTENT
    │   └── UnknownBackend       UNKNOWN_BACKEND         of an index of documents
    ├── UnknownTool              UNKNOWN_TOOL
    ├── NotFound
    │   ├── IndexNotFound        INDEX_NOT_FOUND
    │   ├── DocsIndexNotFound    DOCS_INDEX_NOT_FOUND
    │   ├── FileNotFound         FILE_NOT_FOUND
    │   ├── MemoryNotFound       MEMORY_NOT_FOUND
    │   ├── DocumentIndexNotFound  DOCUMENT_INDEX_NOT_FOUND
    │   └── WorkspaceNotFound    WORKSPACE_NOT_FOUND
    ├── Conflict
    │   ├── IndexExists          INDEX_EXISTS
    │   ├── DocumentIndexExists  DOCUMENT_INDEX_EXISTS
    │   ├── IndexingInProgress   INDEXING_IN_PROGRESS
    │   └── IndexLocked          INDEX_LOCKED            another process holds this index
    ├── FileExcluded             FILE_EXCLUDED
    ├── IndexCorrupt             INDEX_CORRUPT           unreadable, or made by another model or schema
    ├── ModelLoadFailed          MODEL_LOAD_FAILED
    ├── ModelDownloadFailed      MODEL_DOWNLOAD_FAILED   the network, the hub or a file that is not what it must be
    ├── StoreFailed              STORE_FAILED            the vector store did not answer; searches go on without it
    ├── DaemonUnavailable        DAEMON_UNAVAILABLE      it cannot be started, reached or ended
    ├── DaemonEnded              DAEMON_ENDED            what was under way in it is lost; to be asked again
    ├── DiskFull                 DISK_FULL
    ├── PermissionDenied         PERMISSION_DENIED
    ├── ConfigInvalid            CONFIG_INVALID
    ├── Cancelled                CANCELLED
    └── Internal                 INTERNAL

A foreign exception is translated in the one file that imports its library. Surfaces catch
`SidecarError` once. `user_message` is the contract's sentence; `detail` says what exactly and what to do.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sidecar import shown


class SidecarError(Exception):
    """Base of all. `detail` is one sentence or two for the person: what exactly, and what to do. It is shown as it is,
    so what it says of strings that are not ours is made visible here; `facts` are exact."""

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
        """The contract's sentence, then the detail where there is one."""
        return f"{self.user_message} {self.detail}".strip()

    def as_dict(self) -> dict[str, Any]:
        """`{"code", "userMessage", "detail"?, "facts"?}`, JSON-ready."""
        body: dict[str, Any] = {"code": self.code, "userMessage": self.user_message}
        if self.detail:
            body["detail"] = self.detail
        if self.facts:
            body["facts"] = self.facts
        return body


class InvalidParams(SidecarError):
    code, user_message, http_status, exit_status = "INVALID_PARAMS", "Invalid parameters.", 400, 2


class InvalidQuery(InvalidParams):
    code, user_message = "INVALID_QUERY", "Search query is required."


class InvalidPattern(InvalidParams):
    code, user_message = "INVALID_PATTERN", "Invalid glob pattern."


class PathTraversal(InvalidParams):
    code, user_message = "PATH_TRAVERSAL", "Path must stay inside the project."


class BlankContent(InvalidParams):
    code, user_message = "BLANK_CONTENT", "Content must be a non-empty string"


class UnknownBackend(InvalidParams):
    code, user_message = "UNKNOWN_BACKEND", "Unknown backend:"


class UnknownTool(SidecarError):
    code, user_message, http_status, exit_status = "UNKNOWN_TOOL", "Unknown tool.", 404, 2


class NotFound(SidecarError):
    http_status, exit_status = 404, 3


class IndexNotFound(NotFound):
    code, user_message = "INDEX_NOT_FOUND", "This project hasn't been indexed yet."


class DocsIndexNotFound(NotFound):
    code, user_message = "DOCS_INDEX_NOT_FOUND", "No documentation has been indexed yet."


class FileNotFound(NotFound):
    code, user_message = "FILE_NOT_FOUND", "File not found."


class DocumentIndexNotFound(NotFound):
    """`detail` is the index's name, and nothing else: the sentence is the contract."""

    code, user_message = "DOCUMENT_INDEX_NOT_FOUND", "Index not found:"


class MemoryNotFound(NotFound):
    code, user_message = "MEMORY_NOT_FOUND", "There is no memory with this key."


class WorkspaceNotFound(NotFound):
    code, user_message = "WORKSPACE_NOT_FOUND", "Workspace folder not found."


class Conflict(SidecarError):
    http_status, exit_status = 409, 4


class IndexExists(Conflict):
    code, user_message = "INDEX_EXISTS", "This project already has an index."


class DocumentIndexExists(Conflict):
    code, user_message = "DOCUMENT_INDEX_EXISTS", "Index already exists:"


class IndexingInProgress(Conflict):
    code, user_message = "INDEXING_IN_PROGRESS", "Indexing is already in progress."


class IndexLocked(Conflict):
    code, user_message = "INDEX_LOCKED", "Another process is using this index."


class FileExcluded(SidecarError):
    code, user_message = "FILE_EXCLUDED", "File is excluded by configuration."
    http_status, exit_status = 422, 5


class IndexCorrupt(SidecarError):
    code, user_message = "INDEX_CORRUPT", "The index is corrupted or invalid."
    http_status, exit_status = 409, 6


class ModelLoadFailed(SidecarError):
    code, user_message = "MODEL_LOAD_FAILED", "The embedding model failed to load."
    http_status, exit_status = 503, 7


class ModelDownloadFailed(SidecarError):
    code, user_message = "MODEL_DOWNLOAD_FAILED", "The embedding model could not be downloaded."
    http_status, exit_status = 503, 7


class StoreFailed(SidecarError):
    code, user_message = "STORE_FAILED", "The vector store did not answer."
    http_status, exit_status = 503, 7


class DaemonEnded(SidecarError):
    code, user_message = "DAEMON_ENDED", "The sidecar daemon ended while this was under way."
    http_status, exit_status = 503, 7


class DaemonUnavailable(SidecarError):
    code, user_message = "DAEMON_UNAVAILABLE", "The sidecar daemon cannot be had."
    http_status, exit_status = 503, 7


class DiskFull(SidecarError):
    code, user_message = "DISK_FULL", "There is no space left on the disk."
    http_status, exit_status = 507, 8


class PermissionDenied(SidecarError):
    code, user_message = "PERMISSION_DENIED", "Permission denied."
    http_status, exit_status = 403, 8


def without_locks(path: object, error: OSError) -> PermissionDenied:
    """The error for a file that cannot be locked, though nobody holds a lock on it."""
    return PermissionDenied(
        f"{path} cannot be locked ({error.strerror}): its file system has no locks. "
        "SIDECAR_HOME moves everything to another one."
    )


class ConfigInvalid(SidecarError):
    code, user_message = "CONFIG_INVALID", "The configuration is invalid."
    http_status, exit_status = 400, 2


class Cancelled(SidecarError):
    code, user_message = "CANCELLED", "The operation was cancelled."
    http_status, exit_status = 499, 130


class Internal(SidecarError):
    pass
