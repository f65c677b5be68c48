"""Downloads a published model and verifies every file.

Files are stored in a folder of unfinished downloads, where an interrupted download is resumed. The folder is moved into
place when every file has the expected size and hash. The caller decides whether a download is allowed, and makes sure
that only one process downloads.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sidecar import shown
from sidecar.errors import Cancelled, DiskFull, ModelDownloadFailed, SidecarError, disk_error
from sidecar.model.terms import IsCancelled, Progress
from sidecar.parts.embed.published import LOCK_FILE, UNFINISHED, Published, RemoteFile
from sidecar.parts.network import Expected, Server, Way
from sidecar.small_files import replace_file

MAX_FILE_BYTES = 4 * 1024**3
_SPARE_BYTES = 64 * 1024**2
_COMMIT = re.compile("[0-9a-f]{40}")
_WAY = Way("modelsSource", ModelDownloadFailed)


def fetch_model(
    model: Published, downloads: Path, source: str, progress: Progress, is_cancelled: IsCancelled = lambda: False
) -> Path:
    """Downloads and verifies the model's files and returns their folder. `source` is the address of the hub or of a
    mirror, which a model with an address of its own does not need; `progress` counts bytes.

    Raises ModelDownloadFailed, DiskFull, PermissionDenied or Cancelled. `downloads` then has no new model, and a later
    attempt continues the download.
    """
    source = model.address or source
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
                there = before + done
                progress(there, total, shown.so_far_in_megabytes(f"Downloading {name}", there, total))

            sums[name] = hub.fetch(hub.address(model, commit, file.path), file, staged / name, report)
            before += file.size
        lock = {"id": model.entry.id, "repository": model.repository, "revision": model.revision, "commit": commit}
        files = {name: {"size": file.size, "sha256": sums[name]} for name, file in expected.items()}
        return _put_in_place(model.entry.id, staged, downloads, {**lock, "source": source, "files": files})


class _Hub(Server):
    """The hub, a mirror with the same paths, or the files of a release."""

    def __init__(self, source: str) -> None:
        super().__init__(source, _WAY)

    def __enter__(self) -> _Hub:
        super().__enter__()
        return self

    def address(self, model: Published, revision: str, path: str) -> str:
        """Returns the URL of a file of the model at a revision. At a release's address, the files are side by side."""
        if model.address:
            return f"{self.source}/{quote(path)}"
        return f"{self.source}/{quote(model.repository)}/resolve/{quote(revision, safe='')}/{quote(path)}"

    def describe(self, model: Published) -> tuple[str, dict[str, Expected]]:
        """Returns the commit and the expected files by local name. Asks the hub only if the catalog does not pin every
        size and hash.

        Raises ModelDownloadFailed if the hub does not answer as expected or contradicts the catalog.
        """
        files = model.files
        if all(file.sha256 and file.size for file in files.values()):
            return model.revision, {n: Expected(f.path, f.size, f.sha256) for n, f in files.items()}
        url = f"{self.source}/api/models/{quote(model.repository)}/revision/{quote(model.revision, safe='')}?blobs=true"
        try:
            stated = json.loads(self.read(url).content)
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


def _expected(file: RemoteFile, blob: Any) -> Expected:
    """Returns the size and hash that the hub states for a file. Raises ModelDownloadFailed if these contradict the
    catalog or the hash is missing.
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
    replace_file(staged / LOCK_FILE, (json.dumps(lock, indent=2) + "\n").encode(), 0o600)
    if target.exists():
        target.replace(aside)
    staged.replace(target)
    for left in (aside, *staged.parent.glob(f"{model}@*")):
        shutil.rmtree(left, ignore_errors=True)
    return target


@contextmanager
def _files_translated(downloads: Path) -> Iterator[None]:
    """Turns an OSError into DiskFull or PermissionDenied."""
    try:
        yield
    except SidecarError:
        raise
    except OSError as error:
        raise disk_error(error, error.filename or downloads) from error
