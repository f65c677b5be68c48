"""Which files of a repository are read for training: no vendored, generated or minified files and few tests."""

from __future__ import annotations

import random
import re

from sidecar.parts.classify import generated_reason, minified_reason
from sidecar.parts.languages import language_of

from .repositories import Blob

LANGUAGES = frozenset(
    "python javascript typescript tsx go java kotlin c cpp csharp rust ruby php scala swift elixir haskell lua bash "
    "zig markdown".split()
)
LEAST_BYTES, MOST_BYTES = 200, 60_000
_SKIPPED = re.compile(
    r"(^|/)(vendor|node_modules|third_party|thirdparty|dist|build|deps|external|fixtures?|testdata|snapshots?|locales?|"
    r"i18n|generated|\.git\w*)(/|$)|\.min\.|_pb2|\.pb\.|\.g\.cs|\.lock|CHANGE|HISTORY|NEWS|LICENSE|CONTRIBUT|CODE_OF",
    re.IGNORECASE,
)
_TEST = re.compile(
    r"(^|/)(tests?|specs?|__tests__|testing|benchmarks?|examples?|samples?)(/|$)|[._-](test|spec)s?\.|(^|/)test_|Tests?\.",
    re.IGNORECASE,
)
_TESTS_KEPT = 0.1
_MARKDOWN_SHARE = 0.1


def language_for_training(path: str) -> str:
    """The language of the path; empty when such files are not read. Tests are left out by `choose`, not here."""
    if _SKIPPED.search(path):
        return ""
    language = language_of(path)
    return language if language in LANGUAGES else ""


def is_test(path: str) -> bool:
    """Whether the path is that of tests, specs, benchmarks, examples or samples."""
    return bool(_TEST.search(path))


def choose(blobs: list[Blob], most_bytes: int, chance: random.Random) -> list[Blob]:
    """Random files of at most `most_bytes` bytes, plus a tenth of that of Markdown. Keeps a tenth of the tests."""
    chosen, left = [], {True: int(most_bytes * _MARKDOWN_SHARE), False: most_bytes}
    for blob in chance.sample(blobs, len(blobs)):
        language = language_for_training(blob.path)
        prose = language == "markdown"
        if not language or not LEAST_BYTES <= blob.size <= MOST_BYTES or blob.size > left[prose]:
            continue
        if is_test(blob.path) and chance.random() > _TESTS_KEPT:
            continue
        left[prose] -= blob.size
        chosen.append(blob)
    return chosen


def is_written_by_hand(path: str, text: str) -> bool:
    """Whether the file is neither generated nor minified."""
    return not generated_reason(path, text) and not minified_reason(path, text)
