"""Questions for a reranker's training lists: from a repository's commits, from comments on definitions, and from their
names."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.bench.trees import Mirror
from sidecar.model.files import Definition
from sidecar.parts.chunk import parse_file
from sidecar.parts.languages import language_of

from .long_questions import changed_code, is_routine, question_of
from .pairs import NAMED, Comments
from .prose import query_from_comment, query_from_subject
from .rerank_texts import TreeTexts
from .selection import LEAST_BYTES, is_test, is_written_by_hand, language_for_training

_FORMAT = "%x01%H%x02%P%x02%an%x02%B%x02"
_LEAST_COMMENT, _LEAST_NAME = 20, 5
_COMMENTS_OF_FILE = 2
_FIRST_SENTENCE = 0.6
"""The share of comments of which the first sentence alone is asked."""
_SENTENCE = re.compile(r"(?<=[a-z)])\. ")


@dataclass(frozen=True)
class Change:
    """A commit with a question: its `subject`, its whole message as `long`, or both; the other is empty. `files` are
    the code files that it changed, `tests` the tests; `parent` is the commit before it."""

    commit: str
    parent: str
    subject: str
    long: str
    files: tuple[str, ...]
    tests: tuple[str, ...]

    def questions(self) -> list[tuple[str, str]]:
        """Kind and text of each question."""
        return [(kind, text) for kind, text in (("long", self.long), ("subject", self.subject)) if text]


@dataclass(frozen=True)
class AboutDefinition:
    """A question that one definition answers: lines `first` to `last` of a file."""

    kind: str
    text: str
    path: str
    first: int
    last: int


def changes_of(mirror: Mirror, revision: str, most: int) -> Iterator[Change]:
    """The commits with a question among the last `most` before `revision`, newest first. No title is asked twice."""
    log = mirror.text("log", "--no-merges", "--topo-order", f"-n{most}", "-z", "--no-renames", "--name-status",
                      f"--format={_FORMAT}", revision)  # fmt: skip
    titles = set()
    for row in log.split("\x01")[1:]:
        made = _change(row)
        if made is not None and made[0] not in titles:
            titles.add(made[0])
            yield made[1]


def _change(row: str) -> tuple[str, Change] | None:
    """The title and the commit of a row of the log; None if it is left out."""
    fields = row.split("\x02", 4)
    if len(fields) < 5:
        return None
    commit, parents, author, message, changed = fields
    names = [name for name in changed.lstrip("\n").split("\0") if name]
    files = [(letter.strip(), path) for letter, path in zip(names[::2], names[1::2], strict=False)]
    message = message.encode("utf-8", "replace").decode("utf-8")
    title = message.strip().partition("\n")[0]
    code, tests = changed_code(files)
    if not parents or not code or is_routine(title, author):
        return None
    subject, long = query_from_subject(title), question_of(message, files, author)
    if not subject and not long:
        return None
    asked = Change(commit, parents.split()[0], subject, long.question if long else "", code, tests)
    return title.lower(), asked


def definition_questions(
    paths: Sequence[str], texts: TreeTexts, chance: random.Random, most: int
) -> Iterator[AboutDefinition]:
    """At most `most` comments, and a quarter as many names, of definitions in randomly chosen files."""
    left = {"doc": most, "name": most // 4}
    code = [path for path in paths if language_for_training(path) not in ("", "markdown") and not is_test(path)]
    for path in chance.sample(code, len(code)):
        if not any(left.values()):
            return
        for found in _of_file(path, "\n".join(texts.lines(path)), chance):
            if left[found.kind]:
                left[found.kind] -= 1
                yield found


def _of_file(path: str, text: str, chance: random.Random) -> Iterator[AboutDefinition]:
    if len(text) < LEAST_BYTES or not is_written_by_hand(path, text):
        return
    parsed = parse_file(path, text, language_of(path) or "")
    comments = Comments(parsed)
    defined = [definition for definition in parsed.definitions if definition.kind in NAMED]
    chance.shuffle(defined)
    asked = 0
    for definition in defined:
        comment = comments.about(definition)
        query = query_from_comment(comment.text) if comment else ""
        if len(query) >= _LEAST_COMMENT and asked < _COMMENTS_OF_FILE:
            asked += 1
            yield _about("doc", _maybe_shorter(query, chance), path, definition)
    if defined and len((one := chance.choice(defined)).name) >= _LEAST_NAME:
        yield _about("name", one.name, path, one)


def _about(kind: str, text: str, path: str, definition: Definition) -> AboutDefinition:
    return AboutDefinition(kind, text, path, definition.start_line, definition.end_line)


def _maybe_shorter(query: str, chance: random.Random) -> str:
    first = _SENTENCE.split(query)[0]
    return first if chance.random() < _FIRST_SENTENCE and len(first) > _LEAST_COMMENT else query
