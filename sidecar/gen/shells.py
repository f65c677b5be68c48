"""Generates what a shell is told of the command line: completions and the manual page, from the one grammar."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath

from sidecar.agents.catalog import AGENTS
from sidecar.gen.shell import known_models
from sidecar.surfaces.cli.options import COMMANDS, COMPLETED, add_common_options, build_parser, command_named
from sidecar.surfaces.cli.tool_options import shell_facts

_FILES = frozenset({"path", "file_path", "patterns", "token_file", "own_token_file"})
_FOLDERS = frozenset({"workspace"})
_REQUEST = re.compile(r"\.[A-Z]{1,2}( |$)")


def completions() -> Mapping[str, str]:
    """The completion script of each shell, by its path in a checkout."""
    import shtab

    folder = PurePosixPath("sidecar/surfaces/cli/completion")
    return {str(folder / f"sidecar.{shell}"): f"{shtab.complete(_grammar(), shell).strip()}\n" for shell in COMPLETED}


def manual() -> str:
    """The manual page, in troff. It has no date, so that it changes only with what it says."""
    from argparse_manpage.manpage import Manpage

    parser = build_parser()
    page = Manpage(parser)
    what_for = str(parser.description).split(".")[0]
    page.date, page.manual = "", "sidecar"
    page.description = what_for[0].lower() + what_for[1:]
    return "\n".join(_as_text(line.rstrip()) for line in str(page).splitlines()).rstrip() + "\n"


def _as_text(line: str) -> str:
    """A line that begins with a full stop or an apostrophe and is no request of the page's: troff would drop it."""
    return line if not line.startswith((".", "'")) or _REQUEST.match(line) else f"\\&{line}"


def _grammar() -> argparse.ArgumentParser:
    """The grammar as completions need it: a command of two words is a command below the first word.

    `search index` and `search query` are left out, for after `search` any word may follow.
    """
    parser = argparse.ArgumentParser(prog="sidecar", description="Search a codebase by meaning and by word.")
    add_common_options(parser, shell_facts(), suppress=False)
    commands = parser.add_subparsers(dest="command")
    parsers: dict[str, argparse.ArgumentParser] = {}
    groups: dict[str, argparse._SubParsersAction[argparse.ArgumentParser]] = {}
    for name in COMMANDS:
        command = command_named(name, shell_facts())
        first, _, second = name.partition(" ")
        if second and first in parsers and _takes_words(parsers[first]):
            continue
        if second and first not in groups:
            about = f"commands about {first}"
            above = parsers.get(first) or commands.add_parser(first, help=about, description=about)
            groups[first] = above.add_subparsers(dest="second")
        place = groups[first] if second else commands
        summary = command.summary.replace("%", "%%")
        added = parsers[name] = place.add_parser(second or first, help=summary, description=summary)
        command.add(added)
        add_common_options(added, shell_facts(), suppress=True, without=command.replaces)
        _complete_values(added)
    _complete_values(parser)
    return parser


def _takes_words(parser: argparse.ArgumentParser) -> bool:
    return any(not action.option_strings for action in _actions(parser))


def _complete_values(parser: argparse.ArgumentParser) -> None:
    import shtab

    for action in _actions(parser):
        if action.dest in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks for it
        elif action.dest in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        else:
            action.choices = _choices().get(action.dest, action.choices)


@cache
def _choices() -> Mapping[str, Sequence[str]]:
    """The words that options and positions offer, by their name. The program itself takes other words too, such as a
    model's folder, or refuses them with a reason."""
    tools = shell_facts()["tools"].values()
    models = tuple(card.model.entry.id for card in known_models())
    return {
        **{name: field["enum"] for tool in tools for name, field in tool["parameters"].items() if "enum" in field},
        "device": shell_facts()["settings"]["device"]["enum"],
        "agent": [agent.id for agent in AGENTS],
        "model": models,
        "id": models,
        "tool": [tool["name"] for tool in tools],
    }


def _actions(parser: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    return parser._actions  # noqa: SLF001  # argparse has no other way to list them
