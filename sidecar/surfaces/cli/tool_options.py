"""Makes the options of the commands that run tools from the tools' `ToolSpec`, and turns parsed options into arguments.

`shell.json` holds what the shell needs to know about the tools and the settings. It is generated from them, because
importing them would take longer than a search.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from sidecar.surfaces.cli.presentation import Argument, ToolCommand

Facts: TypeAlias = Mapping[str, Any]
"""The content of `shell.json`."""


@cache
def shell_facts() -> Facts:
    """Returns the content of `shell.json`."""
    facts: Facts = json.loads(Path(__file__).with_name("shell.json").read_text(encoding="utf-8"))
    return facts


def summary_of(command: ToolCommand, facts: Facts) -> str:
    """Returns the command's line in the list of commands."""
    return command.summary or "; ".join(_lower(facts["tools"][tool]["summary"]) for tool in command.tools)


def manual_of(command: ToolCommand, facts: Facts) -> str:
    """Returns the command's manual: the purpose of its first tool, then what only the shell has."""
    return f"{facts['tools'][command.tools[0]]['purpose']}\n{command.manual}".rstrip()


def add_options(parser: argparse.ArgumentParser, command: ToolCommand, facts: Facts) -> None:
    """Adds an option or a positional argument for every parameter of the command's tools."""
    for name, field in _parameters(command, facts):
        _add(parser, name, field, command.arguments.get(name, Argument()))
    for flag, text in command.flags:
        parser.add_argument(flag, action="store_true", help=text)
    if command.has_format:
        choices = ("table", "json", "yaml")
        parser.add_argument("--format", choices=choices, default="table", help="how to print it (default table)")


def arguments_of(command: ToolCommand, args: argparse.Namespace, tool: str, stdin: TextIO) -> dict[str, object]:
    """Returns the arguments of one of the command's tools, as they were typed; one that was not typed is None. For a
    parameter that joins several words, a single `-` stands for the content of `stdin`."""
    given: dict[str, object] = {}
    for name in shell_facts()["tools"][tool]["parameters"]:
        value = getattr(args, name)
        if name in _PATHS and isinstance(value, str) and not value.isascii():
            from sidecar.parts.paths import storable

            value = storable(value)  # a name that is not valid Unicode is spelled as the status shows it
        words = command.arguments.get(name, Argument()).position == "words"
        given[name] = _text(value, stdin) if words else value
    return given


def missing_position(command: ToolCommand, given: Mapping[str, object]) -> tuple[str, str]:
    """Returns the positional parameter that was not typed, and its name in the manual; two empty texts if none is
    missing."""
    for name, argument in command.arguments.items():
        if argument.position and name in given and not given[name]:
            return name, _metavar(name, {}, argument)
    return "", ""


def _text(words: Sequence[str], stdin: TextIO) -> str | None:
    return stdin.read() if list(words) == ["-"] else " ".join(words) or None


def number(text: str) -> object:
    """Returns the text as a number if it is one, otherwise the text: the tool itself reports what is wrong with it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _parameters(command: ToolCommand, facts: Facts) -> Iterator[tuple[str, Mapping[str, Any]]]:
    found: dict[str, Mapping[str, Any]] = {}
    for tool in command.tools:
        found |= facts["tools"][tool]["parameters"]
    positions = [name for name in found if command.arguments.get(name, Argument()).position]
    yield from ((name, found[name]) for name in dict.fromkeys((*positions, *found)))


def json_value(text: str) -> object:
    """Parses the text as JSON, or returns it as it is if it is not JSON: the tool itself reports what is wrong with
    it."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


_PATHS = ("path", "file_path")
_COUNTS = {"one": "?", "needed": None, "words": "*", "each": "*"}
_KINDS: Mapping[str, Callable[[str], object]] = {
    "integer": number,
    "number": number,
    "string": str,
    "object": json_value,
}


def _add(parser: argparse.ArgumentParser, name: str, field: Mapping[str, Any], argument: Argument) -> None:
    """Adds one parameter. Raises ValueError for a type that the shell cannot accept."""
    text = help_of(field, argument)
    metavar = _metavar(name, field, argument)
    if argument.position:
        parser.add_argument(name, metavar=metavar, nargs=_COUNTS[argument.position], help=text)
        return
    flags = [flag for flag in (argument.short, argument.long or f"--{name.replace('_', '-')}") if flag]
    kind = str(field.get("type"))
    if kind == "boolean" and not field.get("default"):
        parser.add_argument(*flags, dest=name, action="store_true", help=text)
    elif kind == "array" and field["items"].get("type") == "string":
        parser.add_argument(*flags, dest=name, metavar=metavar, action="append", help=text)
    elif kind in _KINDS:
        parser.add_argument(*flags, dest=name, metavar=metavar, type=_KINDS[kind], help=text)
    else:
        raise ValueError(f"the shell cannot take {name}: {kind}")


def _metavar(name: str, field: Mapping[str, Any], argument: Argument) -> str:
    return argument.metavar or {"integer": "N", "object": "JSON"}.get(str(field.get("type")), name.upper())


def help_of(field: Mapping[str, Any], argument: Argument = Argument()) -> str:  # noqa: B008  # immutable
    """Returns a parameter's description with its range, its default and what only the shell has to say."""
    text = re.sub(r"(?<!\.)\.$", "", _lower(str(field["description"])))
    choices = [str(choice) for choice in field.get("enum", ())]
    facts = []
    if choices and not all(choice in text for choice in choices):
        facts.append(", ".join(choices))
    if "minimum" in field and "maximum" in field:
        facts.append(f"{field['minimum']:g} to {field['maximum']:.12g}")
    default = field.get("default")
    if default not in (None, False, "", [], {}):
        facts.append(f"default {json.dumps(default) if isinstance(default, dict) else default}")
    notes = [argument.note] if argument.note else []
    if argument.position == "words":
        notes.append("a single - reads standard input")
    if field.get("type") == "array" and not argument.position:
        notes.append("may be repeated")
    return "; ".join([text + (f" ({', '.join(facts)})" if facts else ""), *notes]).replace("%", "%%")


def _lower(sentence: str) -> str:
    """Returns the sentence with a small first letter, unless its second letter is a capital too."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
