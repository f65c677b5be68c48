"""The order in which the files of a workspace are read. A limit on their number leaves out the last ones.

The order depends only on the paths and on what the caller knows about the files; no file is opened.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum
from functools import lru_cache

from sidecar.model.files import FoundFile
from sidecar.parts.languages import language_of

LATER_S = 3600.0
"""Seconds. A file that is this much newer than the median file was changed after the checkout."""
MOST_RECENT = 1000


class Worth(IntEnum):
    """The kinds of files, the one that a person most likely asks for first. The lowest number is read first."""

    CODE = 0
    BESIDE = 1
    """Code beside the code of the project: tests, examples, benchmarks, and copies of other people's code."""
    PROSE = 2
    DATA = 3
    WORKFLOW = 4
    """Configuration for machines: pipelines, and the hidden folders of editors and tools."""
    TRANSLATION = 5


_PROSE = frozenset("asciidoc latex markdown notebook rst text typst".split())
_DATA = frozenset("csv diff gitignore html ini json requirements toml xml yaml".split())

_BESIDE_FOLDERS = frozenset(
    "bench benchmark benchmarks demo demos e2e example examples external fixture fixtures mock mocks sample samples"
    " selftest selftests spec specs stubs test testdata testing tests third-party third_party thirdparty tutorial"
    " tutorials vendor vendored __mocks__ __snapshots__ __tests__".split()
)
_BESIDE_NAME = re.compile(r"test_.+|conftest\.py|.+(?:[_.-](?:test|tests|spec|bench)|[a-z0-9]Tests?|[a-z0-9]Spec)\.\w+")

_TRANSLATED_FOLDERS = frozenset("_locales i18n intl l10n lang langs locale locales translation translations".split())
_TRANSLATED_NAME = re.compile(r".+\.(?:po|pot|mo|xlf|xliff|arb|resx|ftl)", re.IGNORECASE)
# A folder named after the language of its texts. English is missing, because texts are translated from it.
_TONGUE = re.compile(
    r"(?:ar|bg|bn|cs|da|de|el|es|et|fa|fi|fr|he|hi|hr|hu|id|it|ja|ka|ko|lt|lv|nl|pl|pt|ro|ru|sk|sr|sv|sw|ta|te|th|tr|uk|ur"
    r"|vi|zh)(?:[_-][A-Za-z]{2,4})?"
)


def reading_order(
    files: Iterable[FoundFile], open_files: Collection[str] = (), recent: Sequence[str] = ()
) -> list[FoundFile]:
    """Returns the same files, those first that a person most likely asks for.

    First come `open_files`, the paths that are open in an editor. All others come by their kind, the most likely first
    (`Worth`); within a kind come those in `recent` (paths that changed lately, the latest first), then those beside an
    open file, then those near the root. Files that are alike in all of this keep their order.
    """
    age = {path: place for place, path in reversed(list(enumerate(recent)))}
    opened = frozenset(open_files)
    open_folders = frozenset(map(_folder_of, opened))

    def place(found: FoundFile) -> tuple[bool, Worth, int, bool, int]:
        path = found.path
        beside = _folder_of(path) in open_folders
        return path not in opened, worth_of(found), age.get(path, len(recent)), not beside, path.count("/")

    return sorted(files, key=place)


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def lately_changed(files: Iterable[FoundFile]) -> list[str]:
    """Returns the paths of the at most `MOST_RECENT` files that changed last, the latest first; none in a fresh
    checkout.

    Git writes a file anew when a checkout, a pull or a merge changes it, and an editor does when it saves. Such a file
    is newer than the many files that have not changed since the checkout.
    """
    found = sorted(files, key=_changed_at, reverse=True)
    if not found:
        return []
    usual = _changed_at(found[len(found) // 2]) + int(LATER_S * 1e9)
    return [file.path for file in found[:MOST_RECENT] if _changed_at(file) > usual]


def _changed_at(found: FoundFile) -> int:
    return found.stat.mtime_ns


def worth_of(found: FoundFile) -> Worth:
    """Returns the kind of a file, by its path and its collection."""
    folder, _, name = found.path.rpartition("/")
    language = language_of(found.path)
    is_code = found.collection == "code" and language not in _PROSE and language not in _DATA
    hidden, beside, translated = _folder_facts(folder)
    if not is_code:
        if translated or _TRANSLATED_NAME.fullmatch(name):
            return Worth.TRANSLATION
        if hidden:
            return Worth.WORKFLOW
        return Worth.DATA if found.collection == "code" and language in _DATA else Worth.PROSE
    return Worth.BESIDE if beside or hidden or _BESIDE_NAME.fullmatch(name) else Worth.CODE


@lru_cache(maxsize=1 << 12)
def _folder_facts(folder: str) -> tuple[bool, bool, bool]:
    """Whether a folder, or one above it, is hidden, holds what is beside the code, and holds translated texts."""
    parts = folder.split("/")
    return (
        any(part.startswith(".") for part in parts),
        any(part.lower() in _BESIDE_FOLDERS for part in parts),
        any(part.lower() in _TRANSLATED_FOLDERS or _TONGUE.fullmatch(part) is not None for part in parts),
    )
