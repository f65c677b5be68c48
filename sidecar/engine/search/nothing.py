"""Explains why a search found nothing: one sentence about the first cause that applies, and what would help.

Only answers without results are examined, so searches that find something take no longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from sidecar import shown
from sidecar.engine.search.absent import (
    did_you_mean,
    is_complete,
    matches_none,
    why_no_match,
    why_nothing_is_indexed,
)
from sidecar.engine.search.filters import allowed_chunks
from sidecar.engine.search.query import understand
from sidecar.engine.search.rank.index_columns import columns_of
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.model.answers import SearchRequest
from sidecar.model.files import KINDS, Rule
from sidecar.model.terms import Collection
from sidecar.parts.globs import compile_glob
from sidecar.parts.languages import LANGUAGES, language_of
from sidecar.parts.manifest import COLLECTIONS
from sidecar.parts.manifest_reads import read_skips
from sidecar.shown import count

_CALLED = {"code": "code", "docs": "documentation"}
_TOOL = {"code": "`search_code`", "docs": "`search_docs`"}
_MOST_LISTED = 12


def why_no_hits(snapshot: SearchedSnapshot, request: SearchRequest, total: int) -> str:
    """Returns the reason why this search has no hits on its page; `total` counts the hits on all pages. Raises
    InvalidPattern."""
    if total:
        return f"The offset {request.offset} is past the end, after {count(total, 'result')}."
    return (
        _why_empty(snapshot, request.collection)
        or _why_no_language(snapshot, request)
        or _why_no_kind(snapshot, request)
        or _why_no_path(snapshot, request)
        or _why_not_together(snapshot, request)
        or _why_no_word(snapshot, request)
    )


def why_no_paths(snapshot: SearchedSnapshot, pattern: str) -> str:
    """Returns the reason why no indexed path matches a glob."""
    if not snapshot.paths:
        return why_nothing_is_indexed(snapshot)
    return why_no_match(snapshot, [pattern], snapshot.paths, "")


def why_no_symbols(snapshot: SearchedSnapshot, name: str, kinds: Sequence[str], found: Iterable[str]) -> str:
    """Returns the reason why no definition was found. `found` has the kinds of all definitions with this name."""
    if not snapshot.paths:
        return why_nothing_is_indexed(snapshot)
    unknown = _unknown_kind([kind for kind in kinds if kind not in KINDS], ())
    if unknown:
        return unknown
    others = list(dict.fromkeys(found))
    if others:
        return f"{shown.quoted(name)} is defined as {', '.join(others)}, and not as {' or '.join(kinds)}."
    return f"No indexed definition is called {shown.quoted(name)}, begins with it or has all its words."


def why_nothing_close(snapshot: SearchedSnapshot, closest: float | None, threshold: float) -> str:
    """Returns the reason why no chunk is close enough to a question. `closest` is the best similarity, 0-1; None if no
    vector was compared."""
    if not len(snapshot.chunk_ids):
        return why_nothing_is_indexed(snapshot)
    if closest is None:
        return "No passage has a vector yet: the model is still reading the files."
    shown_as = min(closest, threshold - 0.0001)
    return f"The closest passage has a similarity of {shown_as:.4g}, below the threshold {threshold:g}."


def why_nothing_similar(collection: Collection, closest: float | None) -> str:
    """Returns the reason why no other chunk is similar to a given one. For `closest` see `why_nothing_close`."""
    if closest is None:
        return f"There is no other indexed {_CALLED[collection]} to compare it with."
    return f"No other indexed {_CALLED[collection]} is like it: the closest has a similarity of {closest:.4g}."


def why_no_docs(snapshot: SearchedSnapshot) -> str:
    """Returns the reason why no documentation is indexed."""
    skips = read_skips(snapshot.connection)
    rules = Counter(skip.decision.rule for skip in skips)
    limit = next((skip.decision.detail for skip in skips if skip.decision.rule is Rule.NOT_IN_PATTERNS), None)
    off, beyond = rules[Rule.DOCS_OFF], rules[Rule.TOO_MANY]
    if off:
        verb = "is" if off == 1 else "are"
        files = count(off, "file of documentation", "files of documentation")
        return f"The setting indexDocs is false: {files} {verb} left out."
    if not snapshot.paths:
        return why_nothing_is_indexed(snapshot)
    if limit is not None:
        return f"{limit[:1].upper()}{limit[1:]}."
    number = len(snapshot.paths)
    if beyond:
        verb = "is" if beyond == 1 else "are"
        none = "The only indexed file is no documentation"
        if number > 1:
            none = f"None of the {count(number, 'indexed file')} is documentation"
        return (
            f"{none}; {count(beyond, 'file')} {verb} beyond the setting maxFiles, which"
            " keeps code first. Raise maxFiles to index them too."
        )
    return f"The setting docPatterns {matches_none(1, number, '')}."


# ---------------------------------------------------------------- the causes, in the order in which they are examined


def _why_empty(snapshot: SearchedSnapshot, collection: Collection) -> str:
    if not snapshot.paths:
        return why_nothing_is_indexed(snapshot)
    if len(_files_of(snapshot, collection)):
        return ""
    if not is_complete(snapshot):
        return f"No {_CALLED[collection]} has been read yet: the index is still being built, code first."
    other: Collection = "docs" if collection == "code" else "code"
    number, tool = len(snapshot.paths), _TOOL[other]
    if number == 1:
        return f"The only indexed file is {_CALLED[other]}; {tool} searches it."
    return f"All {count(number, 'indexed file')} are {_CALLED[other]}; {tool} searches them."


def _why_no_language(snapshot: SearchedSnapshot, request: SearchRequest) -> str:
    files = _files_of(snapshot, request.collection)
    present = _most_common_first(snapshot.languages[file] for file in files)
    wanted = list(dict.fromkeys(language.casefold() for language in request.languages))
    if not wanted or set(wanted) & {language.casefold() for language in present}:
        return ""
    what, has = _CALLED[request.collection], _listed(present)
    unknown = [language for language in wanted if language not in LANGUAGES]
    if not unknown:
        return f"No indexed {what} is in {_quoted(wanted)}; it has {has}."
    by_extension = language_of(f"x.{unknown[0]}")
    meant = by_extension if by_extension in LANGUAGES and by_extension != "text" else ""
    meant = meant or did_you_mean(unknown[0], LANGUAGES)
    help_with_it = f"did you mean {meant}?" if meant else f"the indexed {what} has {has}."
    return f"There is no language {shown.quoted(unknown[0])}; {help_with_it}"


def _most_common_first(names: Iterable[str]) -> list[str]:
    """Returns the distinct names, the most common first; equally common ones in alphabetical order."""
    counts = Counter(names)
    return sorted(counts, key=lambda name: (-counts[name], name))


def _why_no_kind(snapshot: SearchedSnapshot, request: SearchRequest) -> str:
    wanted = list(dict.fromkeys(kind.casefold() for kind in request.kinds))
    chunks = columns_of(snapshot, COLLECTIONS.index(request.collection)).in_collection
    codes = np.unique(snapshot.chunk_kind[chunks])
    present = sorted(snapshot.kinds[code] for code in codes)
    if not wanted or set(wanted) & set(present):
        return ""
    what = _CALLED[request.collection]
    unknown = _unknown_kind([kind for kind in wanted if kind not in KINDS], present, what)
    return unknown or f"No indexed {what} has the kind {_quoted(wanted)}; it has {_listed(present)}."


def _unknown_kind(unknown: Sequence[str], present: Sequence[str], what: str = "code") -> str:
    if not unknown:
        return ""
    meant = did_you_mean(unknown[0], KINDS)
    known = f"the indexed {what} has {_listed(present)}" if present else f"the kinds are {', '.join(KINDS)}"
    return f"There is no kind {shown.quoted(unknown[0])}; " + (f"did you mean {meant}?" if meant else f"{known}.")


def _why_no_path(snapshot: SearchedSnapshot, request: SearchRequest) -> str:
    globs = [compile_glob(pattern) for pattern in request.paths]
    files = set(_files_of(snapshot, request.collection))
    matching = [n for n, path in enumerate(snapshot.paths) if any(matches(path) for matches in globs)]
    if not globs or files & set(matching):
        return ""
    paths = [snapshot.paths[file] for file in sorted(files)]
    said = why_no_match(snapshot, request.paths, paths, f" of {_CALLED[request.collection]}")
    if not matching:
        return said
    other: Collection = "docs" if request.collection == "code" else "code"
    verb, them = ("matches", "it") if len(matching) == 1 else ("match", "them")
    files_of = count(len(matching), f"file of {_CALLED[other]}", f"files of {_CALLED[other]}")
    return f"{said} But {files_of} {verb}; {_TOOL[other]} searches {them}."


def _why_not_together(snapshot: SearchedSnapshot, request: SearchRequest) -> str:
    columns = columns_of(snapshot, COLLECTIONS.index(request.collection))
    if allowed_chunks(snapshot, columns, request).any():
        return ""
    bare = replace(request, paths=(), languages=(), kinds=(), exact=())
    alone = {
        "paths": replace(bare, paths=request.paths),
        "languages": replace(bare, languages=request.languages),
        "kinds": replace(bare, kinds=request.kinds),
        **{f"the text {shown.quoted(text)}": replace(bare, exact=(text,)) for text in request.exact},
    }
    passing = {name: int(allowed_chunks(snapshot, columns, one).sum()) for name, one in alone.items() if one != bare}
    absent = [text for text in request.exact if not passing[f"the text {shown.quoted(text)}"]]
    if absent:
        return f"No indexed {_CALLED[request.collection]} contains the text {shown.quoted(absent[0])}."
    counts = ", ".join(f"{name} {number:,}" for name, number in passing.items())
    return (
        f"No passage passes all filters at once. Of {int(columns.in_collection.sum()):,} passages, each alone lets"
        f" through: {counts}."
    )


def _why_no_word(snapshot: SearchedSnapshot, request: SearchRequest) -> str:
    what = f"indexed {_CALLED[request.collection]}"
    filtered = " that passes the filters" if request.paths or request.languages or request.kinds else ""
    if request.mode != "fts" and request.alpha > 0:
        return f"No {what}{filtered} has a vector yet, and none contains a word of the query."
    typed = request.query.replace("`", " ").split()  # a name between backticks would look like a tool to run
    words = [word for word in dict.fromkeys(typed) if any(map(str.isalnum, word))]
    if not words or not understand(request.query).terms:
        return "The query has no letter or digit to look for."
    return f"No {what}{filtered} contains any of these words: {shown.short(', '.join(words), 200)}."


def _files_of(snapshot: SearchedSnapshot, collection: Collection) -> list[int]:
    rows: list[int] = np.flatnonzero(snapshot.file_collection == COLLECTIONS.index(collection)).tolist()
    return rows


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(shown.quoted, names))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more
