"""Downloads a published model and verifies every file. Only this module imports an HTTP client, and only for a
download.

Files arrive in a folder of unfinished downloads, where an interrupted download is resumed. The folder is moved into
place when every file has the size and hash that it must have. Requests carry no sign-in, no cookies and nothing about
the user. The caller decides whether a download is allowed, and sees to it that only one process downloads.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from sidecar import __version__, shown
from sidecar.errors import Cancelled, DiskFull, ModelDownloadFailed, SidecarError, disk_error
from sidecar.model import IsCancelled, Progress
from sidecar.parts.embed.published import LOCK_FILE, UNFINISHED, Published, RemoteFile

if TYPE_CHECKING:
    from httpx2 import Client, Request, Response

MAX_FILE_BYTES = 4 * 1024**3
MAX_ANSWER_BYTES = 8 * 1024**2
_MAX_REDIRECTS = 5
_CONNECT_S, _READ_S = 15.0, 60.0
_BLOCK = 1 << 18
_SPARE_BYTES = 64 * 1024**2
_PARTIAL = 206
_COMMIT = re.compile("[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Expected:
    """What a file must be: its size in bytes and a hash.

    For a file outside Git LFS the hub states the SHA-1 of the git blob instead of the SHA-256 of the content.
    """

    path: str
    size: int
    sha256: str = ""
    git_blob: str = ""


def fetch_model(
    model: Published, downloads: Path, source: str, progress: Progress, is_cancelled: IsCancelled = lambda: False
) -> Path:
    """Downloads and verifies the model's files and returns their folder. `source` is the address of the hub or of a
    mirror; `progress` counts kilobytes.

    Raises ModelDownloadFailed, DiskFull, PermissionDenied or Cancelled. `downloads` then has no new model, and a later
    attempt resumes with what has arrived.
    """
    with _files_translated(downloads), _Hub(source) as hub:
        commit, expected = hub.describe(model)
        staged = downloads / UNFINISHED / f"{model.entry.id}@{commit[:12]}"
        staged.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_room(staged, expected)
        total, before = sum(file.size for file in expected.values()), 0
        sums: dict[str, str] = {}
        for name, file in expected.items():

            def report(done: int, name: str = name, before: int = before) -> None:
                if is_cancelled():
                    raise Cancelled("What has been downloaded is kept; the same command continues from there.")
                progress((before + done) // 1000, max(1, total // 1000), f"kB {name}")

            sums[name] = _fetch_file(hub, hub.address(model.repository, commit, file.path), file, staged / name, report)
            before += file.size
        lock = {"id": model.entry.id, "repository": model.repository, "revision": model.revision, "commit": commit}
        files = {name: {"size": file.size, "sha256": sums[name]} for name, file in expected.items()}
        return _put_in_place(model.entry.id, staged, downloads, {**lock, "source": source, "files": files})


class _Hub:
    """The hub, or a mirror with the same paths. Reached by https, or by http if it is a server on this machine."""

    def __init__(self, source: str) -> None:
        self._source = source.strip().rstrip("/")
        try:
            address = urlsplit(self._source)
            self._local = address.scheme == "http" and _is_loopback(address.hostname or "")
        except ValueError as error:
            raise ModelDownloadFailed(
                f"modelsSource is {shown.reason(source)}, which is not a valid address: {shown.reason(error)}."
            ) from error
        if not self._may_ask(self._source) or address.query or address.fragment or "@" in address.netloc:
            raise ModelDownloadFailed(
                f"modelsSource is {shown.reason(source)}; it must begin with https:// and name a server, "
                f"without a password."
            )

    def __enter__(self) -> _Hub:
        import httpx2

        def check(request: Request) -> None:
            # httpx2 calls this for every redirect too.
            if not self._may_ask(str(request.url)):
                raise ModelDownloadFailed(
                    f"{shown.reason(self._source)} redirects to {shown.reason(request.url)}, which is not https."
                )

        try:
            self._client: Client = httpx2.Client(
                headers={"User-Agent": f"sidecar/{__version__}", "Accept-Encoding": "identity"},
                timeout=httpx2.Timeout(_READ_S, connect=_CONNECT_S),
                follow_redirects=True,
                max_redirects=_MAX_REDIRECTS,
                event_hooks={"request": [check]},
            )
        except (ImportError, ValueError, httpx2.InvalidURL) as error:
            raise ModelDownloadFailed(
                f"The proxy named by the environment cannot be used: {shown.reason(error)}"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def _may_ask(self, url: str) -> bool:
        """Whether a URL is https or, if the source is on this machine, is on it too."""
        address = urlsplit(url)
        host = address.hostname or ""
        return bool(host) and (address.scheme == "https" or (self._local and _is_loopback(host)))

    def address(self, repository: str, revision: str, path: str) -> str:
        """The URL of a file of the repository at a revision."""
        return f"{self._source}/{quote(repository)}/resolve/{quote(revision, safe='')}/{quote(path)}"

    def describe(self, model: Published) -> tuple[str, dict[str, Expected]]:
        """The commit, and what its files must be. Asks the hub only if the catalog does not pin every size and hash.

        Raises ModelDownloadFailed if the hub does not answer as expected or contradicts the catalog.
        """
        files = model.files
        if all(file.sha256 and file.size for file in files.values()):
            return model.revision, {n: Expected(f.path, f.size, f.sha256) for n, f in files.items()}
        url = (
            f"{self._source}/api/models/{quote(model.repository)}/revision/{quote(model.revision, safe='')}?blobs=true"
        )
        try:
            stated = json.loads(self._read(url))
            commit = str(stated["sha"])
            if not _COMMIT.fullmatch(commit) or (_COMMIT.fullmatch(model.revision) and commit != model.revision):
                raise ValueError(f"commit {commit[:80]!r}")
            blobs = {blob["rfilename"]: blob for blob in stated["siblings"]}
            return commit, {name: _expected(file, blobs.get(file.path)) for name, file in files.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelDownloadFailed(
                f"{shown.reason(url)} does not list its files in the form of the Hugging Face hub "
                f"({shown.reason(error)})."
            ) from error

    def _read(self, url: str) -> bytes:
        """The body of an answer. Raises ModelDownloadFailed if it exceeds MAX_ANSWER_BYTES."""
        content = bytearray()
        with self.open(url) as response:
            for block in response.iter_bytes(_BLOCK):
                content += block
                if len(content) > MAX_ANSWER_BYTES:
                    raise ModelDownloadFailed(f"{shown.reason(url)} answers with more than {MAX_ANSWER_BYTES} bytes.")
        return bytes(content)

    @contextmanager
    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[Response]:
        """Yields a response with status 200 or 206 whose body is still to be read.

        Raises ModelDownloadFailed on any other status, and on network errors until the block ends.
        """
        import httpx2

        try:
            with self._client.stream("GET", url, headers=dict(headers or {})) as response:
                if response.status_code not in (200, _PARTIAL):
                    raise ModelDownloadFailed(_refusal(url, response.status_code))
                yield response
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            reason = str(error).strip() or type(error).__name__
            raise ModelDownloadFailed(
                f"{shown.reason(url)}: {shown.reason(reason)}. Try again when the network works; what has been "
                f"downloaded is kept."
            ) from error


def _expected(file: RemoteFile, blob: Any) -> Expected:
    """What the hub says that a file must be. Raises ModelDownloadFailed if that contradicts the catalog or lacks a
    hash.
    """
    if blob is None:
        raise ModelDownloadFailed(f"The repository has no file {shown.place(file.path)} at this revision.")
    lfs = blob.get("lfs") or {}
    stated, size = str(lfs.get("sha256", "")), int(lfs.get("size", blob.get("size", 0)))
    if file.sha256 and stated and stated != file.sha256:
        raise ModelDownloadFailed(
            f"The hub states SHA-256 {stated} for {shown.place(file.path)}, but the catalog says {file.sha256}."
        )
    sha256, git_blob = file.sha256 or stated, "" if lfs else str(blob.get("blobId", ""))
    if not (sha256 or git_blob) or size <= 0 or (file.size and size != file.size):
        raise ModelDownloadFailed(
            f"The hub states no hash, or not the expected size, for {shown.place(file.path)}: {blob!r}."
        )
    return Expected(file.path, size, sha256, git_blob)


class _Sums:
    """The hashes of a file as it grows."""

    def __init__(self, file: Expected) -> None:
        self._file = file
        self._sha256 = hashlib.sha256()
        self._git = hashlib.sha1(f"blob {file.size}\0".encode(), usedforsecurity=False)

    def add(self, block: bytes) -> None:
        """Adds the next bytes of the file."""
        self._sha256.update(block)
        if self._file.git_blob:
            self._git.update(block)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes so far, in hex."""
        return self._sha256.hexdigest()

    def complaint(self) -> str:
        """What is wrong with the hashes of the complete file; empty if they are right."""
        if self._file.sha256 and self.sha256 != self._file.sha256:
            return f"its SHA-256 is {self.sha256}, but must be {self._file.sha256}"
        if self._file.git_blob and self._git.hexdigest() != self._file.git_blob:
            return f"its git blob is {self._git.hexdigest()}, but must be {self._file.git_blob}"
        return ""


def _fetch_file(hub: _Hub, url: str, file: Expected, target: Path, report: Callable[[int], None]) -> str:
    """Downloads a file to `target` and returns its SHA-256. A resumed file with a wrong hash is
    downloaded once more.
    """
    part = target.with_name(f"{target.name}.part")
    if target.exists():
        target.replace(part)  # left by an interrupted download; it is verified again below
    was_there = part.exists()
    sums = _fill(hub, url, file, part, report)
    if sums.complaint() and was_there:
        part.unlink()
        sums = _fill(hub, url, file, part, report)
    if complaint := sums.complaint():
        part.unlink()
        raise ModelDownloadFailed(
            f"{shown.reason(url)} is not the expected file: {shown.reason(complaint)}. It has been deleted."
        )
    part.replace(target)
    return sums.sha256


def _fill(hub: _Hub, url: str, file: Expected, part: Path, report: Callable[[int], None]) -> _Sums:
    """Appends to `part` what it still lacks. Raises ModelDownloadFailed if more or less than that arrives."""
    sums, done = _sums_so_far(file, part)
    report(done)
    if done == file.size:
        return sums
    with hub.open(url, {"Range": f"bytes={done}-"} if done else {}) as response, part.open("ab") as out:
        if done and not _goes_on(response, done):
            out.truncate(0)
            sums, done = _Sums(file), 0
        for block in response.iter_bytes(_BLOCK):
            done += len(block)
            if done > file.size:
                break
            out.write(block)
            sums.add(block)
            report(done)
        out.flush()
        os.fsync(out.fileno())
    if done > file.size:
        part.unlink()
        raise ModelDownloadFailed(f"{shown.reason(url)} is longer than the expected {file.size} bytes.")
    if done < file.size:
        raise ModelDownloadFailed(
            f"{shown.reason(url)} ended after {done} of {file.size} bytes; the same command continues from there."
        )
    return sums


def _goes_on(response: Response, done: int) -> bool:
    """Whether the response continues at byte `done`, and does not send the whole file again."""
    stated = response.headers.get("Content-Range", "")
    return response.status_code == _PARTIAL and stated.startswith(f"bytes {done}-")


def _sums_so_far(file: Expected, part: Path) -> tuple[_Sums, int]:
    """The hashes and the size of `part`. Deletes it and begins again if it is too long."""
    sums, done = _Sums(file), 0
    if part.exists():
        if part.stat().st_size > file.size:
            part.unlink()
            return sums, 0
        with part.open("rb") as there:
            while block := there.read(_BLOCK):
                sums.add(block)
                done += len(block)
    return sums, done


def _check_room(staged: Path, expected: Mapping[str, Expected]) -> None:
    """Raises DiskFull if the missing bytes do not fit on the disk, and ModelDownloadFailed if a file exceeds
    MAX_FILE_BYTES.
    """
    for file in expected.values():
        if file.size > MAX_FILE_BYTES:
            raise ModelDownloadFailed(f"{shown.place(file.path)} has {file.size} bytes; the limit is {MAX_FILE_BYTES}.")
    there = sum(path.stat().st_size for path in staged.iterdir())
    missing = sum(file.size for file in expected.values()) - there + _SPARE_BYTES
    free = shutil.disk_usage(staged).free
    if missing > free:
        raise DiskFull(f"{shown.place(staged)} needs {missing // 10**6} MB, but only {free // 10**6} MB are free.")


def _put_in_place(model: str, staged: Path, downloads: Path, lock: Mapping[str, Any]) -> Path:
    """Writes the lock file and replaces the model's folder by the staged one. Deletes other unfinished downloads of the
    model.
    """
    target, aside = downloads / model, staged.with_name(f"{model}.replaced")
    shutil.rmtree(aside, ignore_errors=True)
    (staged / LOCK_FILE).write_text(json.dumps(lock, indent=2) + "\n", "utf-8")
    if target.exists():
        target.replace(aside)
    staged.replace(target)
    for left in (aside, *staged.parent.glob(f"{model}@*")):
        shutil.rmtree(left, ignore_errors=True)
    return target


def _refusal(url: str, status: int) -> str:
    """The message about a status other than 200 and 206."""
    reasons = {
        401: "it asks for a login",
        403: "access is denied",
        404: "there is no such file",
        429: "too many requests",
    }
    known = reasons.get(status, "the server failed; try again later" if status >= 500 else "this is not a file")
    return f"{url} answers {status}: {known}."


def _is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _files_translated(downloads: Path) -> Iterator[None]:
    """Turns an OSError into DiskFull or PermissionDenied."""
    try:
        yield
    except SidecarError:
        raise
    except OSError as error:
        raise disk_error(error, error.filename or downloads) from error
