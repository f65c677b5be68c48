"""Sets and removes one table of a TOML text and changes nothing else in it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from sidecar.agents.damaged import NotChanged

_BOM = "\ufeff"


def value_at(text: str, way: Sequence[str]) -> Any:
    """Returns the value at the end of the way; None if it is missing. Raises NotChanged if the text is not valid
    TOML."""
    value: Any = _values(text)
    for key in way:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def printed(way: Sequence[str], values: Mapping[str, object]) -> str:
    """Returns the table as text."""
    return with_keys("", way, values)


def with_keys(text: str, way: Sequence[str], values: Mapping[str, object]) -> str:
    """Returns the text with these members set in the table at the end of the way; its other members stay. Raises
    NotChanged."""
    former = value_at(text, way)
    own = {**former, **values} if isinstance(former, dict) else dict(values)
    document = _document(text)
    table: MutableMapping[str, Any] = document
    for key in way[:-1]:
        if key not in table:
            table[key] = tomlkit.table(is_super_table=True)
        table = _table(table, key)
    if isinstance(former, dict):
        for key, value in values.items():
            if former.get(key) != value:
                table[way[-1]][key] = value
    else:
        made = tomlkit.inline_table() if isinstance(table, InlineTable) else tomlkit.table()
        made.update(values)
        table[way[-1]] = made
    return _checked(text, document, _merged(_values(text), way, own))


def without(text: str, way: Sequence[str]) -> str:
    """Returns the text without the table at the end of the way. Raises NotChanged."""
    if value_at(text, way) is None:
        return text
    document = _document(text)
    table: MutableMapping[str, Any] = document
    for key in way[:-1]:
        table = _table(table, key)
    del table[way[-1]]
    wanted = _values(text)
    inner = wanted
    for key in way[:-1]:
        inner = inner[key]
    del inner[way[-1]]
    return _checked(text, document, wanted)


def _table(table: MutableMapping[str, Any], key: str) -> MutableMapping[str, Any]:
    inner = table[key]
    if not isinstance(inner, MutableMapping):
        raise NotChanged(f'has something else than a table as "{key}"')
    return inner


def _values(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as error:
        raise NotChanged(f"is not valid TOML: {error}") from None


def _document(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text.removeprefix(_BOM))
    except TOMLKitError as error:
        raise NotChanged(f"is not valid TOML: {error}") from None


def _merged(whole: dict[str, Any], way: Sequence[str], value: object) -> dict[str, Any]:
    inner = _merged(whole.get(way[0], {}), way[1:], value) if way[1:] else value
    return {**whole, way[0]: inner}


def _checked(before: str, document: tomlkit.TOMLDocument, wanted: dict[str, Any]) -> str:
    """Returns the document as text if it has the wanted values. Raises NotChanged otherwise."""
    after = tomlkit.dumps(document)
    if "\r\n" in before:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    if before.startswith(_BOM):
        after = _BOM + after
    if _without_empty(_values(after)) != _without_empty(wanted):
        raise NotChanged("has an unexpected form")
    return after


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the values without empty tables: TOML cannot express the table of tables that is left behind."""
    inner = {key: _without_empty(one) if isinstance(one, dict) else one for key, one in values.items()}
    return {key: one for key, one in inner.items() if one != {}}
