"""Explains why nothing is indexed, why a path is not, or why a glob matches nothing, and suggests what may have been
meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches

from sidecar import shown
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.model.files import SkippedPath
from sidecar.parts.coverage import why_no_files
from sidecar.parts.globs import compile_glob
from sidecar.parts.manifest_reads import read_skips
from sidecar.shown import count

_WILD = frozenset("*?[{")
_NEAR = 0.7


def why_nothing_is_indexed(snapshot: SearchedSnapshot) -> str:
    """Returns the reason why the index has no files: it is still being built, everything is left out, or there are
    none."""
    if not is_complete(snapshot):
        return "Nothing is indexed yet: the index is still being built."
    return why_no_files(snapshot.connection)


def is_complete(snapshot: SearchedSnapshot) -> bool:
    """Whether the index has been brought up to date with the whole workspace once."""
    row = snapshot.connection.execute("SELECT value FROM meta WHERE key = 'complete'").fetchone()
    return row is not None and bool(row[0])


def why_not_indexed(snapshot: SearchedSnapshot, path: str) -> str:
    """Returns one or two sentences on why a path is not in the index."""
    left_out = _what_leaves_out(snapshot, path)
    if left_out:
        return left_out
    near = _near_path(snapshot.paths, path)
    if near:
        return f"{shown.place(path)} is not in the index. Did you mean {shown.place(near)}?"
    return f"{shown.place(path)} is not in the index; `explain_path` says why."


def why_no_match(snapshot: SearchedSnapshot, patterns: Sequence[str], paths: Sequence[str], of: str) -> str:
    """Returns the reason why none of these globs matches any of `paths`, the indexed files; `of` says which files these
    are."""
    names = ", ".join(shown.place(pattern) for pattern in patterns)
    said = f"{names} {matches_none(len(patterns), len(paths), of)}."
    helps = (_what_leaves_out(snapshot, _fixed_part(one)) or _meant(paths, one) for one in patterns)
    return " ".join([said, next(filter(None, helps), "")]).rstrip()


def matches_none(patterns: int, files: int, of: str) -> str:
    """Returns the predicate of a sentence that so many globs match none of so many indexed files; `of` says which files
    these are."""
    if files == 1:
        return f"{'does' if patterns == 1 else 'do'} not match the only indexed file{of}"
    return f"{'matches' if patterns == 1 else 'match'} none of the {count(files, 'indexed file')}{of}"


def _what_leaves_out(snapshot: SearchedSnapshot, path: str) -> str:
    """Returns which rule leaves out this path or a folder above it; empty if none does."""
    wanted = {path.rstrip("/"), *(f"{folder}/" for folder in _lineage(path.rstrip("/")))}
    for skip in read_skips(snapshot.connection):
        if skip.path in wanted:
            return _left_out(skip)
    row = snapshot.connection.execute("SELECT message FROM failures WHERE path = ?", (path,)).fetchone()
    return f"{shown.place(path)} could not be indexed: {shown.reason(row[0])}" if row is not None else ""


def _left_out(skip: SkippedPath) -> str:
    detail = f" ({shown.reason(skip.decision.detail)})" if skip.decision.detail else ""
    return f"{shown.place(skip.path)} is left out: {skip.decision.rule.value}{detail}."


def _lineage(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _fixed_part(glob: str) -> str:
    """Returns the path before a glob's first wildcard: `a/b` for `a/b/*.py`, and a glob without wildcards as it is."""
    fixed: list[str] = []
    for segment in glob.split("/"):
        if _WILD & set(segment):
            break
        fixed.append(segment)
    return "/".join(fixed)


# ---------------------------------------------------------------- what may have been meant


def _near_path(paths: Sequence[str], path: str) -> str:
    """Returns an indexed path that has the same name as this one or is spelled similarly; empty if there is none."""
    name = path.rpartition("/")[2]
    same_name = [known for known in paths if known.rpartition("/")[2] == name]
    near = get_close_matches(path, same_name or paths, 1, 0.0 if same_name else 0.85)
    return near[0] if near else ""


def _meant(paths: Sequence[str], glob: str) -> str:
    """Returns a question with a similar glob that matches something; empty if there is none."""
    for candidate in _like(paths, glob):
        matches = _compiled(candidate)
        if candidate != glob and any(matches(path) for path in paths):
            return f"Did you mean {shown.place(candidate)}?"
    return ""


def _like(paths: Sequence[str], glob: str) -> Iterator[str]:
    bare = glob.removeprefix("./").lstrip("/")
    yield bare
    respelled = _respelled(paths, bare)
    yield respelled
    if "/" not in bare:
        yield f"**/{respelled}"
    if not _WILD & set(bare):
        yield f"{respelled.rstrip('/')}/**"
    yield f"**/{bare}"


def _respelled(paths: Sequence[str], glob: str) -> str:
    """Returns the glob with its fixed segments and its extension spelled like those of indexed paths."""
    known = [path.split("/") for path in paths]
    spelled: list[str] = []
    for segment in glob.split("/"):
        if _WILD & set(segment):
            break
        at = len(spelled)
        beside = {path[at] for path in known if path[:at] == spelled and len(path) > at}
        spelled.append(_near(segment, beside) or segment)
    rest = glob.split("/")[len(spelled) :]
    if rest:
        rest[-1] = _with_known_extension(paths, rest[-1])
    return "/".join([*spelled, *rest])


def _with_known_extension(paths: Sequence[str], name: str) -> str:
    stem, dot, extension = name.rpartition(".")
    if not dot or not extension or _WILD & set(extension):
        return name
    known = {path.rpartition("/")[2].rpartition(".")[2] for path in paths}
    return f"{stem}.{_near(extension, known) or extension}"


def _near(word: str, known: Iterable[str]) -> str:
    """Returns the known word that equals this one or is most similar, regardless of case; empty if none is similar."""
    by_fold = {one.casefold(): one for one in sorted(known, reverse=True)}
    near = get_close_matches(word.casefold(), sorted(by_fold), 1, 0.6)
    return word if word in by_fold.values() else by_fold[near[0]] if near else ""


def _compiled(glob: str) -> Callable[[str], bool]:
    from sidecar.errors import InvalidPattern

    try:
        return compile_glob(glob)
    except InvalidPattern:
        return lambda _: False


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns the known word that a person may have meant; empty if none is similar."""
    near = get_close_matches(word.casefold(), sorted(known), 1, _NEAR)
    return near[0] if near else ""
