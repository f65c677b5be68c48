"""What only a shell has: short flags, positional arguments, and what a command's manual adds to the tool's description.

Everything else that a command says about a tool (names, help, values, defaults) comes from its `ToolSpec`, by way of
`shell.json`. A parameter that is not in the table becomes an option of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple


class Argument(NamedTuple):
    """How the shell accepts one parameter of a tool. Empty fields are derived from the parameter.

    `position`: `one` (optional) and `needed` accept one word, `words` joins all words into one text, and `each` takes
    every word as an entry, or as a call of its own if the parameter is no list. `note` is added to the parameter's
    description.
    """

    position: str = ""
    short: str = ""
    long: str = ""
    metavar: str = ""
    note: str = ""


class ToolCommand(NamedTuple):
    """A command that runs tools: the first one, or another if its arguments ask for that.

    `summary` is set only if the command does something else than the tool. `manual` follows the tool's first sentence.
    `has_format`: it has the option `--format`. `flags` are switches that the tool does not know, each with its help.
    """

    name: str
    tools: tuple[str, ...]
    manual: str
    examples: str
    arguments: Mapping[str, Argument] = MappingProxyType({})
    summary: str = ""
    has_format: bool = False
    flags: tuple[tuple[str, str], ...] = ()


_SEARCH = {
    "query": Argument("words", metavar="WORDS"),
    "top_k": Argument(short="-k"),
    "mode": Argument(short="-m"),
    "alpha": Argument(short="-a", metavar="A"),
    "paths": Argument(short="-p", long="--path", metavar="GLOB"),
    "languages": Argument(short="-l", long="--lang", metavar="LANGUAGE"),
    "kinds": Argument(long="--kind", metavar="KIND"),
    "compact": Argument(note="without --json one line per result"),
}


def _group(name: str, *commands: tuple[str, str, str], arguments: Mapping[str, Argument]) -> Iterator[ToolCommand]:
    """Yields the commands of two words that begin with `name`: `commands` has the second word, the tool and an example
    of each.

    `arguments` apply to all of them; one that is named `word.parameter` applies to one command only.
    """
    for word, tool, example in commands:
        own = {key: argument for key, argument in arguments.items() if "." not in key}
        own |= {key.partition(".")[2]: one for key, one in arguments.items() if key.startswith(f"{word}.")}
        yield ToolCommand(f"{name} {word}", (tool,), "", example, own)


TOOL_COMMANDS: tuple[ToolCommand, ...] = (
    ToolCommand(
        "index",
        ("create_index",),
        "If there is one, bring it up to date: only what changed is read and embedded.\n"
        "Asks only where the setting confirm is always, before it makes an index or ends a limit to patterns.\n"
        "An index that was made by search index then holds the whole workspace.\n"
        "Prints the workspace, how many files and chunks there are, what was embedded and what was unchanged.",
        "    sidecar index\n    sidecar index -w ~/src/project --json\n",
        summary="create the index, or bring it up to date",
    ),
    ToolCommand(
        "search",
        ("search_code",),
        "Prints path:start-end and score, then the matching lines with their numbers.",
        "    sidecar search where are retries with backoff done\n    sidecar search -k 3 -l python parse command line\n"
        "    sidecar search -m fts -p 'src/**' parse_config\n    sidecar search --json --compact open a socket\n",
        _SEARCH,
    ),
    ToolCommand(
        "search index",
        ("search_index_patterns",),
        "Patterns start at the current folder; quote globs. Unchanged files are skipped unless --force. When there is\n"
        "no index, it makes one that is limited to the patterns; sidecar index makes that one whole. Asks first when\n"
        "there is a terminal and something new would be indexed. The word index right after search is this command:\n"
        "to search for the word, put -- or an option before it (sidecar search -- index out of range), or quote it\n"
        "together with other words.",
        "    sidecar search index '**/*.rs'\n    sidecar search index --force 'src/**/*.py' --format json\n",
        {
            "patterns": Argument("each", metavar="PATTERN", note="in a shell, to the current folder"),
            "force": Argument(short="-f"),
        },
        has_format=True,
    ),
    ToolCommand(
        "search query",
        ("search_query",),
        "Prints path:start-end, similarity and an excerpt of each chunk. The word query right after search is this\n"
        "command: to search for the word, put -- or an option before it (sidecar search -- query parser), or quote it\n"
        "together with other words.",
        "    sidecar search query 'error handling' --limit 5\n    sidecar search query 'open a socket' --format json\n",
        {"query": Argument("words", metavar="QUERY"), "limit": Argument(short="-l")},
        has_format=True,
    ),
    ToolCommand(
        "docs",
        ("search_docs",),
        "Options and output are those of search.",
        "    sidecar docs how to configure logging\n    sidecar docs -k 1 -m fts changelog\n",
        _SEARCH,
    ),
    ToolCommand(
        "paths",
        ("search_by_path",),
        "Case-sensitive; quote the glob.",
        "    sidecar paths '**/*.ts'\n    sidecar paths 'src/**/test_*.py' -n 100\n",
        {"pattern": Argument("one", metavar="GLOB"), "limit": Argument(short="-n")},
    ),
    ToolCommand(
        "status",
        ("get_index_status",),
        "",
        "    sidecar status\n    sidecar status --json\n",
    ),
    ToolCommand(
        "config",
        ("get_config",),
        "Edit the file, then run sidecar index.",
        "    sidecar config\n    sidecar config --json\n",
    ),
    ToolCommand(
        "reindex",
        ("reindex_project", "reindex_file"),
        "The new index is built beside the present one, which answers until then. Asks first when there is a\n"
        "terminal. An index that was made by search index keeps to its patterns unless --whole is given. With FILE,\n"
        "index only these files again, now. Like sidecar index it waits for a slow model's second stage.",
        "    sidecar reindex src/app.py\n    sidecar reindex --yes\n",
        {"file_path": Argument("each", metavar="FILE", note="without any, everything")},
    ),
    ToolCommand(
        "delete",
        ("delete_index",),
        "Asks first, and the answer is no unless you say yes. Without a terminal an editor that has the\n"
        "workspace open is asked, even with --yes; where there is none, --yes is needed (and not enough where the\n"
        "setting confirm is always). Otherwise nothing is deleted and the exit status is 9. The second question, of\n"
        "--all-data, is asked only in a terminal: elsewhere nothing is deleted where it would have to be asked.",
        "    sidecar delete\n    sidecar delete --yes\n    sidecar delete --all-data\n",
        flags=(("--all-data", "also memories, added documents and edited settings, after a second question"),),
    ),
    ToolCommand(
        "explain",
        ("explain_path",),
        "",
        "    sidecar explain src/app.py\n    sidecar explain .env\n",
        {"path": Argument("needed")},
    ),
    ToolCommand(
        "symbols",
        ("search_symbols",),
        "Prints path:start-end, kind and name, then the line where the definition begins.",
        "    sidecar symbols parse_config\n    sidecar symbols Session.send\n    sidecar symbols --kind class retry\n",
        {
            "name": Argument("words", metavar="NAME"),
            "kinds": Argument(long="--kind", metavar="KIND"),
            "limit": Argument(short="-n"),
        },
    ),
    ToolCommand(
        "similar",
        ("find_similar",),
        "PATH may end with the line, or with the lines, to compare: src/app.py:42 or src/app.py:42-60, as results and\n"
        "editors print them. The output is that of search.",
        "    sidecar similar src/app.py:42\n    sidecar similar src/app.py --line 42 --end-line 60 -n 3\n",
        {"path": Argument("needed", metavar="PATH[:LINE]"), "limit": Argument(short="-n")},
    ),
    ToolCommand(
        "overview",
        ("workspace_overview",),
        "Prints languages, how the workspace is built, where it starts, its settings and tests, and its central files.",
        "    sidecar overview\n    sidecar overview --central 40\n",
    ),
    *_group(
        "memory",
        ("save", "memory_save", "    sidecar memory save build/how-to 'Run make all; needs clang 17.' --tag build\n"),
        ("get", "memory_get", "    sidecar memory get build/how-to\n"),
        ("list", "memory_list", "    sidecar memory list\n    sidecar memory list --namespace build/\n"),
        ("search", "memory_search", "    sidecar memory search how is the project built\n"),
        ("words", "memory_fulltext_search", "    sidecar memory words clang 'make all' --operator AND\n"),
        ("delete", "memory_delete", "    sidecar memory delete build/how-to\n"),
        arguments={
            "key": Argument("one", metavar="KEY"),
            "text": Argument("words", metavar="TEXT"),
            "query": Argument("words", metavar="WORDS"),
            "keywords": Argument("each", metavar="WORD"),
            "tags": Argument(long="--tag", metavar="TAG"),
            "limit": Argument(short="-n"),
        },
    ),
    *_group(
        "documents",
        ("create", "search_create_index", "    sidecar documents create notes --backend sqlite\n"),
        ("add", "search_add_document", "    sidecar documents add --index notes doc-001 - <doc-001.txt\n"),
        (
            "search",
            "search_index_documents",
            "    sidecar documents search --index notes '+python \"rate limiting\"'\n",
        ),
        ("list", "search_list_documents", "    sidecar documents list --index notes\n"),
        ("indexes", "search_list_indexes", "    sidecar documents indexes\n"),
        ("delete", "search_delete_document", "    sidecar documents delete --index notes doc-001\n"),
        ("drop", "search_delete_index", "    sidecar documents drop notes\n"),
        arguments={
            "doc_id": Argument("one", metavar="ID"),
            "content": Argument("words", metavar="TEXT"),
            "query": Argument("words", metavar="WORDS"),
            "index_name": Argument(short="-i", long="--index", metavar="NAME"),
            "create.index_name": Argument("one", metavar="NAME"),
            "drop.index_name": Argument("one", metavar="NAME"),
            "k": Argument(short="-k"),
            "limit": Argument(short="-n"),
        },
    ),
)

WITHOUT_COMMAND: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("search_documents", "search_index_query", "search_fuzzy"),
        "the texts come with the call, as JSON; sidecar call",
    )
)
"""Tools without a command of their own, with the reason. `sidecar call` can call every tool."""
