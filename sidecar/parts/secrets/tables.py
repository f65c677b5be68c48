"""Finds secrets in tables, where a name above them says what they are: passwords in a column of a file of separated
values or of an SQL statement, and the values of a map such as `tokens`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sidecar.parts.secrets.passwords import is_called_password, is_called_secret, is_generated_secret
from sidecar.parts.secrets.rule import NO_SECRET_NAME

_TABLE_FILE = re.compile(r"(?i)\.(?:csv|tsv|psv)$")
_COLUMN = re.compile(r"(?i)(?:.*[ _.-])?(?:pass(?:w(?:or)?d|phrase|code)?|pwd|secret|token|api[ _-]?key|psk)\d?")
_INSERT = re.compile(r"(?i)insert\s+into\s+[^\s(]{1,100}\s*\(([^()]{1,2000})\)\s*values\s*")
_ROW = re.compile(r"\(((?:'(?:[^'\\]|\\.)*+'|[^'()]|\([^()]*+\))*+)\)\s*+(?:,\s*+)?")
_FIELD = re.compile(r"\s*+(?:[NEB]?'((?:[^'\\]|\\.|'')*+)'|(?:[^,'()]|\([^()]*+\))*+)\s*+(?:,|$)")
_MAP_FILE = re.compile(r"(?i)\.(?:ya?ml|json5?|conf|cfg|hcl|tf|tfvars|properties)$|(?:^|/)[^.]+$")
_MAPS = ("keys", "secrets", "tokens", "passwords", "credentials")
_MAP = re.compile(
    rf"(?im)^([ \t]*)[\"']?((?:[\w-]{{0,20}}[_-])?(?:{'|'.join(_MAPS)}))[\"']?[ \t]*+[:=]?[ \t]*+\{{?[ \t]*\n"
)
# Keys and tokens that are public, that name a place in a table, a cache or a text, or that are styles.
_NO_SECRETS = re.compile(
    r"(?i)(?:^|[_-])(?:pub|public|trusted|known|host|authorized|gpg|pgp|ssh|cache|primary|foreign|unique|composite|sort"
    r"|partition|range|index|lookup|object|route|query|feature|flag|i18n|translation|message|lang|locale|design|theme"
    r"|colou?r|style|special|stop|lexer|parser|keyboard|hot|arrow|short(?:cut)?|contract|idempotency|dedup)[_-]"
)
# What an entry says about its secret: `secretName`, `storageClass`.
_ABOUT = frozenset(
    "name username hostname filename namespace class kind type provider engine region zone host port scope role issuer"
    " audience account bucket profile version algorithm alias user store prefix".split()
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENTRY = re.compile(
    r"(?:[ \t]*+(?:#[^\n]*)?\n)*+([ \t]*+)[\"']?([\w.@-]{1,60})[\"']?[ \t]*+(?::|=>?)[ \t]*+"
    r"[\"']?([^\s\"'#,;]{1,200})[\"']?,?[ \t]*+(?:#[^\n]*)?(?:\n|\Z)"
)
# Keyboards have keys too: `copy: ctrl+shift+f10`.
_CHORD = re.compile(r"(?i)<?(?:ctrl|control|alt|option|shift|cmd|command|meta|super|win|mod|leader|[acms])>?[-+]")
_MOST_ROWS = 1000
_LONGEST_ROW = 4000


def secrets_in_tables(path: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Yields start and end of each secret in a table or a map, and what it looks like."""
    yield from ((*span, "a password in a table") for span in _in_columns(path, text))
    yield from ((*span, "a secret in a map") for span in _in_maps(path, text))


def _in_columns(path: str, text: str) -> Iterator[tuple[int, int]]:
    """Yields start and end of each password in a table."""
    if _TABLE_FILE.search(path):
        yield from _in_lines(text)
    for words in ("INSERT INTO", "insert into", "Insert Into"):
        yield from _in_statements(text, words)


def _in_maps(path: str, text: str) -> Iterator[tuple[int, int]]:
    """Yields start and end of each secret in a map from names to secrets, one on a line: the map is called `keys`,
    `tokens`, `passwords` and the like, and its entries are whatever they belong to. Much else has keys and tokens, so
    only a value in a map of passwords need not look generated."""
    lowered = text.lower() if _MAP_FILE.search(path) else ""
    if not any(word in lowered for word in _MAPS):
        return
    at = 0
    while (head := _MAP.search(text, at)) is not None:
        at = head.end()
        if _NO_SECRETS.search(head[2]) or NO_SECRET_NAME.search(head[2]):
            continue
        is_secret = is_called_secret if head[2].lower().endswith("passwords") else is_generated_secret
        while (entry := _ENTRY.match(text, at)) is not None and len(entry[1]) > len(head[1] or ""):
            if is_secret(entry[3]) and not _CHORD.match(entry[3]) and not _is_about(entry[2]):
                yield entry.span(3)
            at = entry.end()


def _is_about(name: str) -> bool:
    """Whether an entry of a map says something about a secret, by its name."""
    words = _WORD.findall(name)
    return bool(NO_SECRET_NAME.search(name) or (words and words[-1].lower() in _ABOUT))


def _in_lines(text: str) -> Iterator[tuple[int, int]]:
    head, _, _ = text.partition("\n")
    sign = max(",\t;|", key=head.count)
    columns = [number for number, name in enumerate(head.split(sign)) if _COLUMN.fullmatch(name.strip(" \"'\r"))]
    if not columns:
        return
    at = len(head) + 1
    for line in text[at:].split("\n")[:_MOST_ROWS]:
        start = at
        for number, field in enumerate(line.split(sign)):
            value = field.strip(" \"'\r")
            if number in columns and len(value) >= 6 and is_called_password(value):
                begin = start + field.index(value)
                yield begin, begin + len(value)
            start += len(field) + 1
        at += len(line) + 1


def _in_statements(text: str, words: str) -> Iterator[tuple[int, int]]:
    found = -1
    while (found := text.find(words, found + 1)) >= 0:
        statement = _INSERT.match(text, found)
        if statement is None:
            continue
        names = [name.strip(" \"'`[]\n\t") for name in statement[1].split(",")]
        columns = {number for number, name in enumerate(names) if _COLUMN.fullmatch(name)}
        if not columns:
            continue
        at, rows = statement.end(), 0
        while rows < _MOST_ROWS and (row := _ROW.match(text, at, at + _LONGEST_ROW)) is not None:
            yield from _in_row(text, row.start(1), row.end(1), columns)
            at, rows = row.end(), rows + 1


def _in_row(text: str, at: int, end: int, columns: set[int]) -> Iterator[tuple[int, int]]:
    number = 0
    while at < end and (field := _FIELD.match(text, at, end)) is not None and field.end() > at:
        value = field[1]
        if (
            number in columns
            and value is not None
            and len(value) >= 6
            and " " not in value
            and is_called_password(value)
        ):
            yield field.span(1)
        at, number = field.end(), number + 1
