"""Makes a team snapshot of one generation, whole or on a base, and adds it to the list of its folder."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidecar import __version__, shown
from sidecar.engine.models.facts import ModelFacts
from sidecar.engine.team.bases import rows_of_base
from sidecar.engine.team.choosing import check_signatures, choose
from sidecar.engine.team.gather import BaseRows, Gathered, Subject, gather
from sidecar.engine.team.held import Unpacked
from sidecar.engine.team.rows import PARTS, on_base
from sidecar.engine.team.sources import Sources
from sidecar.errors import PermissionDenied, SnapshotUnusable
from sidecar.model.answers import SnapshotReport, SnapshotRequest
from sidecar.model.terms import IsCancelled, Progress
from sidecar.parts.data_folder import UNFINISHED
from sidecar.parts.team.container import unpack
from sidecar.parts.team.heads import Head
from sidecar.parts.team.places import FolderPlace
from sidecar.parts.team.signing import sign
from sidecar.settings.load import Settings

if TYPE_CHECKING:
    from sidecar.parts.team.heads import Stored

MOST_OF_BASE = 0.25
"""The maximum size of a snapshot on a base, as a share of the base's size. If it is larger, a whole snapshot is made
instead, which can be the next base."""
_SHAPING = ("include", "exclude", "respectGitignore", "maxFileSize", "maxFiles", "docPatterns", "indexDocs")
_FLAG = "--base"


@dataclass(frozen=True)
class _Base:
    """The base of a snapshot, and its content."""

    stored: Stored
    rows: BaseRows


class SnapshotMaker:
    """Makes the snapshot that a request asks for. `whole` is the index to pack, without a base; `kind` says how its
    rows were made."""

    def __init__(self, sources: Sources, settings: Settings, whole: Subject, kind: dict[str, str]) -> None:
        self._sources = sources
        self._settings = settings
        self._whole = whole
        self._kind = kind

    def make(
        self, request: SnapshotRequest, model: ModelFacts, progress: Progress, stop: IsCancelled
    ) -> SnapshotReport:
        """Makes the snapshot, signs it, and lists it in the folder of the request.

        Raises SnapshotUnusable outside of a git repository, ConfigInvalid for an invalid key, Cancelled and OSError.
        """
        history = self._sources.history()
        if not (commit := history.head()):
            raise SnapshotUnusable("The workspace is in no git repository with a commit (or git is not installed).")
        about = {"commit": commit, "folder": history.folder(), "made": datetime.now(UTC).isoformat(timespec="seconds")}
        request.out.mkdir(parents=True, exist_ok=True, mode=0o700)
        base, notice = self._base(request, commit, model, progress, stop)
        done = self._gather(about, base, request.out, progress, stop)
        if base is not None and done.packed.size > MOST_OF_BASE * base.stored.size:
            done.packed.path.unlink()
            base, notice = None, f"It is whole: what its base lacks is more than {MOST_OF_BASE:.0%} of the base."
            done = self._gather(about, None, request.out, progress, stop)
        packed = done.packed
        head = Head(
            **about,
            sha256=packed.sha256,
            size=packed.size,
            files=done.files,
            chunks=done.chunks,
            kind=self._kind_on(base),
            signature=sign(packed.sha256, request.key) if request.key is not None else "",
            base=base.stored if base else None,
        )
        FolderPlace(request.out).put(packed.path, head)
        named = base.stored.sha256 if base else ""
        counts = (done.files, done.chunks, done.left_out)
        return SnapshotReport(str(packed.path), commit, packed.size, *counts, named, notice)

    def _gather(
        self, about: dict[str, str], base: _Base | None, out: Path, progress: Progress, stop: IsCancelled
    ) -> Gathered:
        facts: dict[str, Any] = {**about, "kind": self._kind_on(base), "by": __version__, "settings": self._shaping()}
        if base is None:
            return gather(self._whole, facts, out, progress, stop)
        return gather(replace(self._whole, base=base.rows), {**facts, "base": base.stored.sha256}, out, progress, stop)

    def _kind_on(self, base: _Base | None) -> dict[str, str]:
        return self._kind if base is None else on_base(self._kind)

    def _shaping(self) -> dict[str, object]:
        """Returns the settings that decide what an index contains."""
        config = self._settings.as_config()
        return {name: config[name] for name in (*_SHAPING, "chunkingStrategy")}

    # ------------------------------------------------------------ the base

    def _base(
        self, request: SnapshotRequest, commit: str, model: ModelFacts, progress: Progress, stop: IsCancelled
    ) -> tuple[_Base | None, str]:
        """Returns the nearest whole snapshot at the place that the request names; or None, and a sentence that says
        why."""
        if not request.base:
            return None, ""
        with tempfile.TemporaryDirectory(prefix=f"{UNFINISHED}base-", dir=request.out) as folder:
            try:
                head, file = self._fetched(request, commit, model, Path(folder), progress, stop)
                rows = self._rows_of(file, request.texts, model.dimension)
            except (SnapshotUnusable, PermissionDenied) as error:
                return None, f"It is whole. {error.detail}"
            self._sources.bases.keep(file)
        return _Base(head.needs[-1], rows), ""

    def _fetched(
        self,
        request: SnapshotRequest,
        commit: str,
        model: ModelFacts,
        folder: Path,
        progress: Progress,
        stop: IsCancelled,
    ) -> tuple[Head, Path]:
        where, only = request.base, ""
        if where.endswith(".zst"):
            where, _, only = where.rpartition("/")
        with self._sources.opened(where, _FLAG) as place:
            whole = [head for head in place.heads() if head.base is None and only in ("", f"{head.sha256}.zst")]
            kinds = {json.dumps(self._kind, sort_keys=True): model}
            head = choose(whole, place.name, self._sources.history(), kinds, self._sources.bases).head
            if head.commit == commit:
                raise SnapshotUnusable(
                    f"There is one of this commit at {shown.reason(place.name)}, so nothing would be left."
                )
            check_signatures(head, self._settings.snapshot_key)
            if request.key is not None and not head.signature:
                raise SnapshotUnusable("The last whole one is not signed, so one that adds to it could not be trusted.")
            (file,) = self._sources.fetch(place, head.needs, folder, progress, stop)
        return head, file

    def _rows_of(self, file: Path, texts: bool, dimension: int) -> BaseRows:
        parts = file.parent / "parts"
        parts.mkdir()
        header = unpack(file, parts, PARTS)
        if (header.get("kind"), header.get("base")) != (self._kind, None):
            raise SnapshotUnusable("The last whole one is not the snapshot that the list says.")
        if header.get("settings") != self._shaping() or (parts / "texts").exists() is not texts:
            raise SnapshotUnusable("The last whole one was made with other settings.")
        return rows_of_base(Unpacked(parts, header), dimension)
