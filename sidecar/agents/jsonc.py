"""Sets and removes one member of a JSON text, which may have comments and trailing commas, and changes nothing else.

No well-maintained library does that: those that keep comments reformat the rest, or need Node.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sidecar.agents.damaged import NotChanged

_BOM = "\ufeff"
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<mark>[{}\[\]:,])"""
    r"""|(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")|(?P<word>[^\s{}\[\]:,"/]+)""",
    re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class _Node(NamedTuple):
    """A value and its position. `comma`: whether a comma follows its last member. `tail`: the position for a new
    member."""

    value: Any
    start: int
    end: int
    members: Sequence[_Member] = ()
    comma: bool = False
    tail: int = 0


class _Member(NamedTuple):
    """A member of an object: its key begins at `start`, `node` is its value."""

    key: str
    start: int
    node: _Node


def value_at(text: str, way: Sequence[str]) -> Any:
    """Returns the value at the end of the way; None if it is missing. Raises NotChanged if the text is no JSON
    object."""
    node = _find(_parsed(text, way), way)[0]
    return None if node is None else node.value


def nest(way: Sequence[str], value: object) -> object:
    """Nests the value under these keys: `{"a": {"b": value}}` for the way (a, b)."""
    for key in reversed(way):
        value = {key: value}
    return value


def printed(value: object, unit: str = "  ") -> str:
    """Formats JSON with each member of an object on a line of its own, and each list on one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    members = (f"{json.dumps(key, ensure_ascii=False)}: {printed(one, unit)}" for key, one in value.items())
    return "{\n" + ",\n".join(members).replace("\n", "\n" + unit).join((unit, "\n")) + "}"


def with_value(text: str, way: Sequence[str], value: object) -> str:
    """Returns the text with the value at the end of the way. Adds missing objects along the way.

    Raises NotChanged.
    """
    if not text.strip(_BOM + " \t\r\n"):
        return text.strip() + printed(nest(way, value)) + "\n"
    root = _parsed(text, way)
    node, parent, left = _find(root, way)
    if node is not None:
        made = text if node.value == value else _replaced(text, node, value)
    else:
        made = _inserted(text, parent, left[0], nest(left[1:], value))
    return _checked(text, made, _merged(root.value, way, value))


def with_keys(text: str, way: Sequence[str], values: Mapping[str, object]) -> str:
    """Returns the text with these members set in the object at the end of the way; its other members stay. Raises
    NotChanged."""
    if not isinstance(value_at(text, way), dict):
        return with_value(text, way, values)
    for key, value in values.items():
        text = with_value(text, [*way, key], value)
    return text


def without(text: str, way: Sequence[str]) -> str:
    """Returns the text without the last member of the way; the objects around it stay. Raises NotChanged."""
    root = _parsed(text, way)
    parent = _find(root, way[:-1])[0]
    at = -1 if parent is None else next((n for n, one in enumerate(parent.members) if one.key == way[-1]), -1)
    if parent is None or at < 0:
        return text
    cuts = _cuts(text, parent, at)
    wanted = _merged(root.value, way[:-1], {key: one for key, one in parent.value.items() if key != way[-1]})
    made = text
    for start, end in reversed(cuts):
        made = made[:start] + made[end:]
    return _checked(text, made, wanted, removed=text[slice(*cuts[-1])])


def _cuts(text: str, parent: _Node, at: int) -> list[tuple[int, int]]:
    """Returns the spans to cut for a member: the member with the space before it, and one comma, the one after it or
    otherwise the one before it."""
    start, end = parent.members[at].start, parent.members[at].node.end
    behind = _first(text, end)
    if behind.text == ",":
        return [(_space_before(text, start), behind.end)]
    own = (_space_before(text, start), end)
    if at == 0:
        return [own]
    comma = _first(text, parent.members[at - 1].node.end)
    return [(comma.start, own[1])] if comma.end == own[0] else [(comma.start, comma.end), own]


def _first(text: str, at: int) -> _Token:
    """Returns the first token from here on that is neither space nor a comment."""
    return next(token for token in _tokens(text, at) if token.kind not in ("space", "comment"))


def _space_before(text: str, at: int) -> int:
    return len(text[:at].rstrip(" \t\r\n"))


def _replaced(text: str, node: _Node, value: object) -> str:
    former = text[node.start : node.end]
    if any(token.kind == "comment" for token in _tokens(former)):
        raise NotChanged("has comments in the place that would be written")
    new = _block(text, value, _indent(text, node.start)) if "\n" in former else _line(value)
    return text[: node.start] + new + text[node.end :]


def _inserted(text: str, parent: _Node, key: str, value: object) -> str:
    """Returns the text with a new last member. It only inserts: all former text stays before or after the new
    member."""
    name = json.dumps(key, ensure_ascii=False) + ": "
    lines = "\n" in text[parent.start : parent.end] or not parent.members
    if lines:
        outer = _indent(text, parent.start)
        inner = _indent(text, parent.members[-1].start) if parent.members else outer + _unit(text)
        member = _end(text) + inner + name + _block(text, value, inner)
        if "\n" not in text[parent.tail : parent.end]:
            member += _end(text) + outer
    else:
        member = " " + name + _line(value)
    if not parent.members or parent.comma:
        return text[: parent.tail] + member + text[parent.tail :]
    last = parent.members[-1].node.end
    tail = parent.tail if lines else last
    return text[:last] + "," + text[last:tail] + member + text[tail:]


def _line(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)}: {_line(one)}" for key, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _block(text: str, value: object, indent: str) -> str:
    return printed(value, _unit(text)).replace("\n", _end(text) + indent)


def _indent(text: str, at: int) -> str:
    """Returns the space at the beginning of the line that contains this position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    first = re.search(r'^([ \t]+)["}/]', text, re.MULTILINE)
    return first[1] if first else "  "


def _end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _checked(before: str, after: str, wanted: object, removed: str = "") -> str:
    """Returns the text after a change if it has the wanted value and every comment. Raises NotChanged otherwise."""
    if _parsed(after).value != wanted or _comments(before) != sorted([*_comments(after), *_comments(removed)]):
        raise NotChanged("has an unexpected form")
    return after


def _comments(text: str) -> list[str]:
    """Returns the comments in order of their text. Plain JSON has none, which a library says much faster."""
    with contextlib.suppress(ValueError, RecursionError):
        json.loads(text.lstrip(_BOM))
        return []
    return sorted(token.text for token in _tokens(text) if token.kind == "comment")


def _merged(whole: Any, way: Sequence[str], value: object) -> object:
    return {**whole, way[0]: _merged(whole.get(way[0], {}), way[1:], value)} if way else value


def _find(root: _Node, way: Sequence[str]) -> tuple[_Node | None, _Node, Sequence[str]]:
    """Returns the value at the end of the way or None, the last existing object on it, and the keys that are missing
    after that."""
    node = root
    for depth, key in enumerate(way):
        if not isinstance(node.value, dict):
            raise NotChanged(f"has something else than an object as {json.dumps(way[depth - 1])}")
        named = [member.node for member in node.members if member.key == key]
        if len(named) > 1:
            raise NotChanged(f"has {json.dumps(key)} twice")
        if not named:
            return None, node, way[depth:]
        node = named[0]
    return node, node, ()


def _tokens(text: str, at: int = 0) -> Iterator[_Token]:
    """Yields the tokens. Raises NotChanged at text that is no part of JSON."""
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _broken(text, at)
        yield _Token(match.lastgroup, match[0], at, match.end())
        at = match.end()


def _broken(text: str, at: int) -> NotChanged:
    return NotChanged(f"is not valid JSON in line {text.count(chr(10), 0, at) + 1}")


def _parsed(text: str, way: Sequence[str] = ()) -> _Node:
    """Returns the value of the whole text. Only objects on the way have members."""
    start = len(text) - len(text.lstrip(_BOM))
    try:
        root = _Parser(text, start).whole(way)
    except RecursionError:
        raise NotChanged("is nested too deeply") from None
    if not isinstance(root.value, dict):
        raise NotChanged("does not hold a JSON object")
    return root


class _Parser:
    """Parses one JSON value, which may contain comments and commas after the last member.

    An agent's settings may have megabytes. Values beside the way are therefore left to `json`, which is fifty times as
    fast, until one of them is not plain JSON.
    """

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._at = start
        self._space = start
        self._plain: Callable[[str, int], tuple[Any, int]] | None = json.JSONDecoder().raw_decode

    def whole(self, way: Sequence[str]) -> _Node:
        """Returns the value of the whole text. Raises NotChanged."""
        root = self._value(self._next(), [*way, ""])
        token = self._peek()
        if token is not None:
            raise _broken(self._text, token.start)
        return root

    def _peek(self) -> _Token | None:
        """Returns the next token that is neither space nor a comment; None at the end. Space before it begins at
        `self._space`."""
        self._space = self._at
        for token in _tokens(self._text, self._at):
            if token.kind not in ("space", "comment"):
                return token
            self._space = token.start if token.kind == "space" else token.end
        return None

    def _next(self) -> _Token:
        token = self._peek()
        if token is None:
            raise _broken(self._text, len(self._text.rstrip()))
        self._at = token.end
        return token

    def _value(self, token: _Token, way: Sequence[str]) -> _Node:
        """Returns the value that begins with this token. `way`: the keys of the members to be read, one in each object;
        empty for a value beside the way."""
        if token.text in ("{", "["):
            plain = None if way else self._beside(token)
            return plain or (self._object if token.text == "{" else self._array)(token, way)
        return _Node(self._decoded(token), token.start, token.end)

    def _beside(self, opened: _Token) -> _Node | None:
        """Returns the object or array as plain JSON; None if it is not, or another one before was not."""
        if self._plain is None:
            return None
        try:
            value, self._at = self._plain(self._text, opened.start)
        except ValueError:
            self._plain = None
            return None
        return _Node(value, opened.start, self._at)

    def _decoded(self, token: _Token) -> Any:
        try:
            return json.loads(token.text)
        except ValueError:
            raise _broken(self._text, token.start) from None

    def _object(self, opened: _Token, way: Sequence[str]) -> _Node:
        members: list[_Member] = []
        comma = False
        while (token := self._next()).text != "}":
            if (members and not comma) or token.kind != "string" or self._next().text != ":":
                raise _broken(self._text, token.start)
            key = self._decoded(token)
            inner = way[1:] if way and key == way[0] else ()
            members.append(_Member(key, token.start, self._value(self._next(), inner)))
            comma = self._comma()
        value = {member.key: member.node.value for member in members}
        return _Node(value, opened.start, token.end, members, comma, self._space)

    def _array(self, opened: _Token, _way: Sequence[str]) -> _Node:
        values: list[Any] = []
        comma = True
        while (token := self._next()).text != "]":
            if not comma:
                raise _broken(self._text, token.start)
            values.append(self._value(token, ()).value)
            comma = self._comma()
        return _Node(values, opened.start, token.end)

    def _comma(self) -> bool:
        token = self._peek()
        if token is None or token.text != ",":
            return False
        self._at = token.end
        return True
