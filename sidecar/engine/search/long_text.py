r"""Takes a long question apart: an issue, a commit message or a log, pasted as it is.

Reads only the text, never the index, and reads each line a bounded number of times. Every part is a span of the text,
or a name in it.

>>> parts_of("Wrong port in URLs\n\nCalling `build_url` in src/net/url.py drops it.").names
('build_url',)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sidecar.parts.languages import language_of
from sidecar.parts.lexical.tokens import STOP_WORDS

SHORT = 200
"""Texts with more characters are read as long questions."""
MOST_NAMES = 32
MOST_FILES = 48
_LINE = 1000
"""Only so many characters of a line are searched for frames, because a longer line is data and not a log."""
_TITLE = 200
_LONGEST_PATH = 300


class TextSpan(NamedTuple):
    """A part of the text, from `start` up to `end`, in characters."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Returns this part of the text."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class FileMention:
    """A file or a dotted module that the text names. `path` has slashes and no drive.

    `depth` is its position among the traceback's frames, 1 for the place of the failure; 0 if it is in no traceback.
    `dotted` is true for a module, class or function written with dots; its last parts need not be part of the file's
    path.
    """

    path: str
    at: TextSpan
    depth: int = 0
    dotted: bool = False


@dataclass(frozen=True, slots=True)
class LongText:
    """The parts of a long question.

    - `title`: the line that says what the question is about: the first one, unless that is a greeting or a heading of a
      form.
    - `code`: blocks of code, fenced or indented. `frames`: lines of tracebacks. `errors`: error messages.
    - `names`: words that are spelled as only identifiers are, and quoted words, the likeliest first; at most 32.
    - `files`: files and dotted modules that the question names, frames first; at most 48.
    """

    text: str
    title: TextSpan
    code: tuple[TextSpan, ...]
    frames: tuple[TextSpan, ...]
    errors: tuple[TextSpan, ...]
    names: tuple[str, ...]
    files: tuple[FileMention, ...]

    @property
    def prose(self) -> str:
        """The text without its code and its traceback frames."""
        kept, last = [], 0
        for start, end in sorted((*self.code, *self.frames)):
            if start >= last:
                kept.append(self.text[last:start])
            last = max(last, end)
        return "".join((*kept, self.text[last:]))


def is_long(text: str) -> bool:
    """Whether a stripped query is read as a long question: more than 200 characters, or at least three lines."""
    return len(text) > SHORT or text.count("\n") > 1


def parts_of(text: str) -> LongText:
    """Takes a text apart, in time proportional to its length. Raises nothing."""
    lines = list(_lines(text))
    frames = list(_frames(text, lines))
    at = tuple(frame.line for frame in frames)
    code = tuple(_code_blocks(text, lines))
    errors = tuple(line for line in lines if _is_error(text, line))
    taken = {line.start for line in at}
    return LongText(
        text=text,
        title=_title(text, [line for line in lines if line.start not in taken] or lines, errors),
        code=code,
        frames=at,
        errors=errors,
        names=_names(text, code, frames),
        files=_files(text, frames),
    )


def _lines(text: str) -> Iterator[TextSpan]:
    """Yields the lines that are not blank, without their line ends."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if not text[start:end].isspace() and end > start:
            yield TextSpan(start, end)
        start = end + 1


# ---------------------------------------------------------------- tracebacks


class _Frame(NamedTuple):
    path: str
    at: TextSpan
    name: str
    line: TextSpan
    last_is_innermost: bool


_FILE = r"[^\s\"'()<>:,;|]+"
_DRIVE = r"(?:[A-Za-z]:(?=[\\/]))?"
_FRAMES = tuple(
    re.compile(pattern)
    for pattern in (
        # Python, innermost last
        rf'^\s*+(?:[|>]\s*+)?File "(?P<path>{_DRIVE}[^"\n]++)", line \d++(?:, in (?P<last>\S++))?',
        # C#
        rf"^\s*+at (?P<name>[^(\n]++)\([^)\n]*+\) in (?P<path>{_DRIVE}[^:\n]++):line \d++",
        # Java, Kotlin, Scala, Groovy, Clojure
        (
            r"^\s*+at (?:[\w.@-]++/+)*(?P<dotted>[\w.$<>-]++)"
            r"\((?P<path>[\w$-]++\.(?:java|kt|kts|scala|groovy|clj))(?::\d++)?\)"
        ),
        # JavaScript and TypeScript
        (
            rf"^\s*+at (?:async )?(?:(?P<name>[^\s(]++)[^(\n]*+\()?(?:file://|webpack:///|webpack-internal:///)?"
            rf"(?P<path>{_DRIVE}{_FILE}):\d++(?::\d++)?\)?"
        ),
        rf"^\s*+(?P<name>[\w$.<>/]*+)@(?:https?://[^/\s]++/|file://)?(?P<path>{_FILE}):\d++:\d++$",
        # PHP
        rf"^\s*+#\d++ (?P<path>{_DRIVE}{_FILE})\(\d++\): (?P<name>[\w\\>:$-]*+)",
        rf"\bin (?P<path>{_DRIVE}[^\s:]+\.php)(?::\d++| on line \d++)",
        # C and C++: gdb, lldb, sanitizers
        rf"^\s*+#\d++ .*? ?in (?P<name>[\w:~<>]++).*? (?:at )?(?P<path>{_DRIVE}{_FILE}):\d++",
        rf"^\s*+(?:\* )?frame #\d++: .*?`(?P<name>[\w:~]++).*? at (?P<path>{_FILE}):\d++",
        # Ruby and Crystal
        rf"^\s*+(?:from |\d++: from )?(?P<path>{_DRIVE}{_FILE}\.(?:rb|rake|cr)):\d++:in [`'](?P<name>[^'`\n]++)",
        # Rust
        rf"^\s*+(?:at|-->) (?P<path>{_DRIVE}{_FILE}\.rs):\d++",
        rf"\bpanicked at (?:'[^'\n]*+', )?(?P<path>{_FILE}\.rs):\d++",
        # Go
        rf"^\s++(?P<path>{_DRIVE}{_FILE}\.(?:go|s)):\d++(?: \+0x[0-9a-f]++)?$",
        # Elixir and Erlang
        rf"^\s*+(?:\([\w.]++(?: [\w.+-]++)?\) )?(?P<path>{_FILE}\.(?:exs?|erl)):\d++: (?P<name>[\w.!?]++)",
        # Haskell
        rf"^\s*+(?P<name>[\w']++), called at (?P<path>{_FILE}\.l?hs):\d++:\d++",
        # Lua
        rf"^\s*+(?:lua: )?(?P<path>{_FILE}\.lua):\d++: in (?:\w++ ){{1,2}}[<'](?P<name>[^'>\n]++)",
    )
)
_PYTHON = _FRAMES[0]
_MAY_BE_FRAME = re.compile(r":\d|line \d|\(\d|\(\w+\.\w+\)")
_ERROR = re.compile(
    r"\s*+(?:[\w$.\\]*+(?:(?<=Error)|(?<=Exception)|(?<=Warning)|(?<=Failure)|(?<=Fault)|(?<=Panic)):"
    r"|(?i:[\w./\\: -]{0,120}?\b(?:error|fatal|panic|exception|failed)\b(?:\[\w+\])?: )|(?:Caused by|Uncaught) )"
)
"""Matches the beginnings of lines with error messages; Rust's may stand anywhere in a line."""
_PANICKED = "panicked at "


def _is_error(text: str, line: TextSpan) -> bool:
    end = min(line.end, line.start + _LINE)
    return bool(_ERROR.match(text, line.start, end) or text.find(_PANICKED, line.start, end) >= 0)


def _frames(text: str, lines: Iterable[TextSpan]) -> Iterator[_Frame]:
    for line in lines:
        row = text[line.start : min(line.end, line.start + _LINE)]
        if _MAY_BE_FRAME.search(row):
            match = next((match for pattern in _FRAMES if (match := pattern.search(row))), None)
            if match:
                yield _frame(match, line)


def _frame(match: re.Match[str], line: TextSpan) -> _Frame:
    groups = match.groupdict()
    path, name = groups["path"], groups.get("name") or groups.get("last") or ""
    dotted = groups.get("dotted")
    if dotted:
        *folders, _, name = dotted.split(".") if dotted.count(".") else ("", dotted)
        path = "/".join((*folders, path))
    at = TextSpan(line.start + match.start("path"), line.start + match.end("path"))
    return _Frame(_slashed(path), at, name, line, match.re is _PYTHON)


def _innermost_first(frames: list[_Frame]) -> list[_Frame]:
    """Returns the frames with the place of the failure first. Python prints that last; all others print it first."""
    python = [frame for frame in frames if frame.last_is_innermost]
    return [*reversed(python), *(frame for frame in frames if not frame.last_is_innermost)]


def _slashed(path: str) -> str:
    return re.sub(r"^[A-Za-z]:", "", path).replace("\\", "/").removeprefix("./").strip("/")


# ---------------------------------------------------------------- code


_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_INDENT = ("    ", "\t")
_BULLET = re.compile(r"\s*+(?:[-*+] |\d++[.)] )")


def _code_blocks(text: str, lines: list[TextSpan]) -> Iterator[TextSpan]:
    """Yields fenced blocks, without their fences, and blocks that are indented by four columns, except below an item of
    a list. A fence that is not closed extends to the end."""
    fence, begin, listed = "", 0, False
    block: list[TextSpan] = []
    for line in lines:
        match = _FENCE.match(text, line.start, line.end)
        if fence:
            if match and match[1].startswith(fence):
                yield TextSpan(begin, line.start)
                fence = ""
            continue
        if match:
            yield from _joined(block)
            block, fence, begin = [], match[1][:3], min(line.end + 1, len(text))
        elif text.startswith(_INDENT, line.start) and not listed:
            block.append(line)
        else:
            yield from _joined(block)
            block, listed = [], _BULLET.match(text, line.start, line.end) is not None
    yield from ([TextSpan(begin, len(text))] if fence else _joined(block))


def _joined(lines: list[TextSpan]) -> list[TextSpan]:
    return [TextSpan(lines[0].start, lines[-1].end)] if lines else []


# ---------------------------------------------------------------- the title


_MARKUP = re.compile(r"[\s#>*=_-]*+(?:\[[^\]\n]{1,30}\]:?\s*+)?")
_NO_TITLE = re.compile(
    r"(?i)(?:hi|hello|hey|dear|thanks|thank you)\b.{0,40}$"
    r"|(?:describe the bug|description|summary|expected|actual|steps to reproduce|what happened|bug report|issue"
    r"|problem|environment|version|feature request|context|motivation|background|title)\b[^a-z0-9]*$"
    r"|traceback \(|<!--|```|~~~"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[\u3002\uff01\uff1f]")


def _title(text: str, lines: list[TextSpan], errors: tuple[TextSpan, ...]) -> TextSpan:
    """Returns the first meaningful line; for a log without one, its last error. It has at most 200 characters; a longer
    line is cut at the end of a sentence if there is one, else at a blank."""
    starts = [_begun(text, line) for line in lines[:12] if not text.startswith(_INDENT, line.start)]
    said = [span for span in starts if span.end > span.start and not _NO_TITLE.match(text, span.start, span.end)]
    title = said[0] if said else lines[0] if lines else TextSpan(0, 0)
    if errors and (not said or any(span.end == title.end for span in errors)):
        title = errors[-1]
    if title.end - title.start <= _TITLE:
        return title
    end = _SENTENCE_END.search(text, title.start + 1, title.start + _TITLE)
    blank = text.rfind(" ", title.start, title.start + _TITLE)
    return TextSpan(title.start, end.end() if end else blank if blank > title.start else title.start + _TITLE)


def _begun(text: str, line: TextSpan) -> TextSpan:
    """Returns the line without the marks that it begins with, and without a label such as `[Bug]`."""
    match = _MARKUP.match(text, line.start, line.end)
    return TextSpan(match.end() if match else line.start, line.end)


# ---------------------------------------------------------------- names


_WORD = re.compile(r"[^\W\d]\w*+")
_QUOTED = re.compile(r"`([^`\n]{1,120})`|(?<!\w)'([^'\n ]{2,60})'(?!\w)")
_DEFINES = re.compile(
    r"\b(?:class|def|fn|func|function|struct|enum|trait|interface|module|impl|new|type)\s++([^\W\d]\w*+)"
)


def _names(text: str, code: tuple[TextSpan, ...], frames: list[_Frame]) -> tuple[str, ...]:
    """Returns the names: quoted words first, then those of frames, then the others by frequency, the earlier first in a
    tie."""
    quoted = [w for match in _QUOTED.finditer(text) for w in _WORD.findall(match[1] or match[2])]
    framed = [w for frame in _innermost_first(frames) for w in _WORD.findall(frame.name)[-1:]]
    defined = [match[1] for span in code for match in _DEFINES.finditer(text, span.start, span.end)]
    written = Counter(defined)
    written.update(_written(text))
    likeliest = (*dict.fromkeys(quoted), *dict.fromkeys(framed), *(name for name, _ in written.most_common(MOST_NAMES)))
    kept = (name for name in likeliest if 1 < len(name) <= 64 and name.lower() not in STOP_WORDS)
    return tuple(list(dict.fromkeys(kept))[:MOST_NAMES])


_LOOKS_LIKE_A_NAME = re.compile(
    r"(?:(?<![@$.#:>])[A-Za-z][a-z]*+(?![\w(])[\s,]*+)++"
    r"|\d++|(?![A-Za-z][a-z]*+(?!\w))(?=\w*?(?:[a-z0-9][A-Z]|[A-Za-z0-9]_+[A-Za-z0-9]|[A-Z]{2}[a-z]))"
    r"(?!_*[A-Z][A-Z\d_]*+s\b)(?P<inner>[^\W\d]\w*+)"
    r"|(?P<called>[^\W\d]\w*+)(?=\((?!s\)))"
    r"|(?<=[@$.#:>])(?:(?<=[^\n]{2}[@$])|(?<=\A[^\n][@$])|(?<=\A[@$])|(?<=[^\n]\w[.#])|(?<=\A\w[.#])"
    r"|(?<=[^\n]::)|(?<=\A::)|(?<=[^\n]->)|(?<=\A->))(?P<qualified>[^\W\d]\w*+)(?![./]\w)"
    r"|[^\W\d]\w*+"
)
"""Matches every word, and plain words in a row at once. A word is in a group if it has inner capitals or underscores,
is called, or is the last part of a dotted name. A plural such as `URLs` has no inner capitals."""


def _written(text: str) -> Iterator[str]:
    """Yields words that look like identifiers."""
    for inner, called, qualified in _LOOKS_LIKE_A_NAME.findall(text):
        if inner or called:
            yield inner or called
        elif qualified and language_of(f"x.{qualified}") == "text":
            yield qualified


# ---------------------------------------------------------------- files


_PATH = re.compile(
    r"(?:[A-Za-z]++(?![\w.@+$~/\\:-])[\s,]*+)++"
    r"|(?P<address>\w++://\S++)"
    r"|(?=[\w.@+$~/\\-])(?:[A-Za-z]:(?=[\\/]))?+[\w@+$~/\\-]*+(?P<dotted>\.[\w.@+$~/\\-]*+)?+"
)
"""Matches every word and address, and plain words in a row at once; it has a group if it may name a file."""
_IN_ADDRESS = re.compile(r"/(?:blob|blame|raw|src|tree)/[^/\s]++/(?P<path>[^\s#?()<>]++)")
_DOTTED = re.compile(r"[A-Za-z_]\w++(?:\.[A-Za-z_]\w++)++")


def _files(text: str, frames: list[_Frame]) -> tuple[FileMention, ...]:
    """Returns the files of traceback frames, innermost first, then the other files in the order of the text; each path
    once."""
    found: dict[str, FileMention] = {}
    for depth, frame in enumerate(_innermost_first(frames), 1):
        found.setdefault(frame.path, FileMention(frame.path, frame.at, depth))
    for mention in _mentioned(text):
        found.setdefault(mention.path, mention)
        if len(found) >= MOST_FILES:
            break
    return tuple(list(found.values())[:MOST_FILES])


def _mentioned(text: str) -> Iterator[FileMention]:
    for match in (match for match in _PATH.finditer(text) if match.lastgroup):
        start, end = match.span()
        if match.lastgroup == "address":
            inside = _IN_ADDRESS.search(text, start, min(end, start + _LINE))
            if not inside:
                continue
            start, end = inside.span("path")
        word = text[start:end].rstrip(".-/\\")
        if "." not in word:
            continue
        path = _slashed(word)
        name = path.rpartition("/")[2]
        if len(word) > _LONGEST_PATH:
            continue
        if "." in name[1:] and (language_of(name) != "text" or name.endswith(".txt")):
            yield FileMention(path, TextSpan(start, start + len(word)))
        elif _DOTTED.fullmatch(path):
            yield FileMention(path.replace(".", "/"), TextSpan(start, start + len(word)), dotted=True)
