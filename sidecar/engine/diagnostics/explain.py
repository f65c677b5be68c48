"""Explains why a path is or is not in the index: the rules of the walk and of the content, staleness, the last
error."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from sidecar.engine.index.generation import Generation
from sidecar.engine.ingest.prepare import Look
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.ports import Walker
from sidecar.errors import FileNotFound
from sidecar.model.answers import Explanation
from sidecar.model.files import Decision, FoundFile, Rule
from sidecar.model.terms import never_cancelled
from sidecar.parts.manifest_reads import read_first_beyond
from sidecar.shown import count

_UNREAD = (Rule.BINARY, Rule.ENCODING)


def explain_path(files: WorkspaceFiles, path: str, generation: Generation | None) -> Explanation:
    """Explains `path`, which is relative to the root.

    Reads the file, because its content may be the reason to leave it out. `generation` is None if no index exists.
    """
    walker, has_buffer = _walker(files, generation), path in files.buffers
    try:
        found = walker.found(path)
    except FileNotFound:
        found = None
    exists = has_buffer or walker.is_there(path)
    decision = walker.decide(path) if found is None or isinstance(found, FoundFile) else found.decision
    if decision.rule is Rule.FOLDER:
        return Explanation(path, Decision(Rule.FOLDER, _held(path, generation)), exists, in_index=False, stale=False)
    if decision.indexed and not exists:
        decision = Decision(Rule.MISSING, "a file of this name would be indexed")
    sha256, encoding = b"", ""
    if isinstance(found, FoundFile):
        look = Look(path, found.stat.size)
        judged = files.parts.preparers.judge(files.root, files.settings(), look)
        detail = "; ".join(filter(None, (decision.detail, judged.decision.detail)))
        decision = replace(decision, detail=detail) if judged.decision.indexed else judged.decision
        sha256, encoding = judged.sha256, "" if judged.decision.rule in _UNREAD else judged.encoding
    answer = Explanation(path, decision, exists, in_index=False, stale=False, encoding=encoding)
    return answer if generation is None else _add_indexed(answer, generation, sha256, has_buffer)


def _walker(files: WorkspaceFiles, generation: Generation | None) -> Walker:
    """Returns a walker that knows which files exceed the limit on their number: from the index or, without an index,
    from a walk over all files."""
    walker = files.walker()
    if generation is None:
        walker.walk(never_cancelled)
    else:
        with generation.snapshots.open() as snapshot:
            is_indexed = frozenset(snapshot.paths).__contains__
            walker.leave_out_from(read_first_beyond(snapshot.connection), is_indexed)
            walker.keep(is_indexed)
    return walker


def _held(folder: str, generation: Generation | None) -> str:
    if generation is None:
        return "there is no index yet"
    inside = f"{folder}/" if folder else ""
    with generation.snapshots.open() as snapshot:
        (files,) = snapshot.connection.execute(
            "SELECT count(*) FROM files WHERE substr(path, 1, ?) = ?", (len(inside), inside)
        ).fetchone()
    return f"{count(files, 'file')} in it {'is' if files == 1 else 'are'} indexed"


def _add_indexed(answer: Explanation, generation: Generation, sha256: bytes, has_buffer: bool) -> Explanation:
    with generation.snapshots.open() as snapshot:
        failure = snapshot.connection.execute("SELECT message FROM failures WHERE path = ?", (answer.path,)).fetchone()
        row = snapshot.connection.execute(
            "SELECT f.language, f.parser, f.indexed_at, f.sha256, f.buffered, count(c.id), sum(c.vector_id <> 0)"
            " FROM files f LEFT JOIN chunks c ON c.file_id = f.id WHERE f.path = ? GROUP BY f.id",
            (answer.path,),
        ).fetchone()
    answer = replace(answer, last_error=failure[0] if failure else "")
    if row is None:
        return replace(answer, stale=answer.decision.indexed and answer.exists)
    language, parser, at, indexed_sha, buffered, chunks, embedded = row
    current = bool(buffered) if has_buffer else bytes(indexed_sha) == sha256
    return replace(
        answer,
        in_index=True,
        stale=not answer.decision.indexed or not current,
        chunks=chunks,
        embedded=embedded or 0,
        language=language,
        parser=parser,
        indexed_at=datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds"),
    )
