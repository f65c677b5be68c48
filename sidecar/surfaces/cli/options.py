"""The command line's grammar: every command, its options and its manual. It runs nothing and uses only the standard
library."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, NoReturn

from sidecar import shown
from sidecar.errors import InvalidParams
from sidecar.surfaces.cli.presentation import TOOL_COMMANDS
from sidecar.surfaces.cli.tool_options import (
    Facts,
    add_options,
    help_of,
    manual_of,
    number,
    shell_facts,
    summary_of,
)

ABOUT = """\
Search a codebase by meaning and by word, on this machine.

The workspace is the nearest folder at or above the current one that holds
.git, package.json, pyproject.toml, Cargo.toml or go.mod, unless --workspace
names another. Data goes to standard output and nothing else does; progress,
notices and errors go to standard error."""

EXITS = """\
exit status:
    0  done (a search that finds nothing is done too)
    1  something went wrong inside, or doctor found a problem
    2  the command line or a parameter is wrong
    3  no index, no such file or no such folder
    4  conflict: an index exists, is being built, or is held by another process
    5  the file is excluded from the index
    6  the index is corrupt or was made by another version
    7  the model or the vector store failed
    8  no space left, or permission denied
    9  not confirmed: the answer was no, or nobody could be asked
  130  interrupted      141  the reader of standard output went away"""

STANDALONE_HELP = "do everything in this process, without the daemon (the default where CI is set)"

COMPLETED = ("bash", "zsh", "fish")
"""The shells for which there is a completion script."""
NOT_CONFIRMED = 9
PIPE_CLOSED = 141

FIRST_STEPS = """\
examples:
    sidecar index                              index this workspace, or refresh it
    sidecar search where are retries done      ask in words
    sidecar search -m fts parse_config         look for exact words
    sidecar docs how to configure logging      ask the documentation
    sidecar --stdio                            serve an editor (LSP)
    sidecar mcp                                serve an agent (MCP)
    sidecar serve                              serve a script (REST)

"""


class Command(NamedTuple):
    """One command: its line in the list, its manual, its examples, and the function that adds its options.

    `_OWN_COMMANDS` are those that run no tool. `replaces` names a common option that means something else in this
    command.
    """

    name: str
    summary: str
    manual: str
    examples: str
    add: Callable[[argparse.ArgumentParser], None]
    replaces: str = ""


TOKEN_FILE_HELP = "with --tcp: the file that holds the token; created if missing (default: a new one each time)"


class UsageError(InvalidParams):
    """The words are not a valid command line. `usage` is the line that argparse shows above such a message; it may be
    empty."""

    def __init__(self, detail: str, usage: str = "") -> None:
        super().__init__(detail)
        self.usage = usage


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raises UsageError, with a suggestion if a known word is close."""
        raise UsageError(message + (_meant(message) or f"; {self.prog} -h says how."), self.format_usage())


class _Version(argparse.Action):
    """Prints the version, which is looked up only when it is asked for, because a checkout has to ask git."""

    def __init__(self, option_strings: Sequence[str], dest: str, facts: Facts, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)
        self._facts = facts

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Prints the version and ends the program."""
        from sidecar.surfaces.cli.version import version_text

        print(shown.visible(version_text(self._facts)))
        parser.exit()


_WRONG_CHOICE = re.compile(r"invalid choice: (\S+) \(choose from (.*)\)", re.DOTALL)


def _meant(message: str) -> str:
    """Suggests, as the end of a sentence, a valid choice that is close to the one argparse refused; empty if none
    is."""
    refused = _WRONG_CHOICE.search(message)
    return did_you_mean(refused[1].strip("'"), re.findall(r"[\w-]+", refused[2])) if refused else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns `; did you mean KNOWN?` for the end of a sentence; empty if no known word is close."""
    from difflib import get_close_matches

    nearest = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parses the words of a command line; prints the help and raises SystemExit if they ask for it.

    Raises UsageError.
    """
    words = join_commands(argv)
    parser = build_parser(words)
    at = _command_at(words)
    asks_for_help = not {"-h", "--help", "--version"}.isdisjoint(words[:at])
    if at < len(words) and words[at] not in COMMANDS and not asks_for_help:
        if {"-h", "--help"}.isdisjoint(words[at:]) or not (inner := _commands_below(words[at])):
            raise _no_command(words[at:])
        print(shown.visible(_help_of_group(words[at], inner)))
        raise SystemExit(0)
    args, unknown = parser.parse_known_args(words)
    if unknown:
        raise _unknown_words(unknown, args.command)
    return args


def _no_command(words: Sequence[str]) -> UsageError:
    """Returns an error for `words`, the first of which is no command, with a suggestion if a command is close."""
    first, second = words[0], next((word for word in words[1:] if not word.startswith("-")), "")
    inner = _commands_below(first)
    if not inner:
        meant = did_you_mean(first, [name.partition(" ")[0] for name in COMMANDS])
        return UsageError(f"{shown.quoted(first)} is no command{meant or '; sidecar -h lists them all.'}")
    meant = did_you_mean(second, inner) if second else ""
    unknown = f"{shown.quoted(f'{first} {second}')} is no command; " if second else ""
    advice = meant or f"; sidecar {first} {next(iter(inner))} -h says how."
    return UsageError(f"{unknown}sidecar {first} needs one of: {', '.join(inner)}{advice}")


def _commands_below(first: str) -> dict[str, str]:
    """Returns the commands of two words that begin with this one, by their second word."""
    return {name.partition(" ")[2]: name for name in COMMANDS if name.startswith(f"{first} ")}


def _help_of_group(first: str, inner: Mapping[str, str]) -> str:
    """Returns the help for the first word of commands of two words: a line for each command."""
    facts = shell_facts()
    width = max(map(len, inner))
    lines = [f"  {second:{width}}  {command_named(name, facts).summary}" for second, name in inner.items()]
    usage = f"usage: sidecar {first} COMMAND …"
    return "\n".join([usage, "", "commands:", *lines, "", f"sidecar {first} COMMAND -h explains each."])


def _unknown_words(unknown: Sequence[str], command: str | None) -> UsageError:
    name = f"sidecar {command}" if command else "sidecar"
    known = re.findall(r"(?<![\w-])--?\w[\w-]*", _options_of(command))
    options = [word.partition("=")[0] for word in unknown if word.startswith("-")]
    meant = next(filter(None, (did_you_mean(option, known) for option in options)), "")
    words = ", ".join(map(shown.quoted, unknown))
    return UsageError(f"{name} does not take {words}{meant or f'; {name} -h lists what it takes.'}")


def _options_of(command: str | None) -> str:
    """Returns a text that names every option that the command accepts."""
    if command is None:
        return build_parser().format_help()
    parser, facts = _Parser(), shell_facts()
    found = command_named(command, facts)
    found.add(parser)
    add_common_options(parser, facts, suppress=True, without=found.replaces)
    return parser.format_help()


def build_parser(argv: Sequence[str] = (), facts: Facts | None = None) -> argparse.ArgumentParser:
    """Returns the whole grammar, or that of the one command that `argv` names: building all of it takes 10 ms.

    `facts` replaces `shell_facts()` while `shell.json` itself is generated.
    """
    facts = shell_facts() if facts is None else facts
    named = named_command(argv)
    parser = _Parser(
        prog="sidecar",
        description=ABOUT,
        epilog=FIRST_STEPS + EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, facts=facts, help="show version, commit and models, and exit")
    parser.add_argument("--stdio", action="store_true", help="serve the Language Server Protocol on stdin and stdout")
    parser.add_argument("--tcp", metavar="HOST:PORT", help="serve the Language Server Protocol on a loopback port")
    parser.add_argument("--token-file", dest="own_token_file", metavar="FILE", help=TOKEN_FILE_HELP)
    parser.add_argument("--clientProcessId", help=argparse.SUPPRESS)
    add_common_options(parser, facts, suppress=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in COMMANDS if named is None else (named,):
        command = command_named(name, facts)
        sub = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.manual,
            epilog=f"examples:\n{command.examples}\n{EXITS}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add(sub)
        add_common_options(sub, facts, suppress=True, without=command.replaces)
    return parser


def add_common_options(parser: argparse.ArgumentParser, facts: Facts, suppress: bool, without: str = "") -> None:
    """Adds the options that may stand before or after the command, except the one called `without`."""
    settings = {key: help_of(field) for key, field in facts["settings"].items()}
    group = parser.add_argument_group("options everywhere")
    unset = argparse.SUPPRESS if suppress else None
    off = argparse.SUPPRESS if suppress else False
    names = [name for name in ("-w", "--workspace") if name != without]
    group.add_argument(*names, dest="workspace", metavar="DIR", default=unset, help="the folder to work on")
    group.add_argument("--json", action="store_true", default=off, help="print JSON, errors too (on standard error)")
    group.add_argument("-q", "--quiet", action="store_true", default=off, help="no progress and no notices")
    group.add_argument("--no-color", action="store_true", default=off, help="no colours, no links (so does NO_COLOR)")
    group.add_argument(
        "-y",
        "--yes",
        action="store_true",
        default=off,
        help="answer every question with yes; without a terminal, only where no editor can be asked",
    )
    group.add_argument("--standalone", action="store_true", default=off, help=STANDALONE_HELP)
    group.add_argument("--offline", action="store_const", const=True, default=unset, help=settings["offline"])
    group.add_argument("--model", metavar="NAME", default=unset, help=settings["model"])
    group.add_argument("--device", metavar="D", default=unset, help=settings["device"])
    group.add_argument("--toolsets", metavar="NAMES", default=unset, help=settings["toolsets"])


_TAKE_A_VALUE = frozenset(
    {"-w", "--workspace", "--model", "--device", "--toolsets", "--tcp", "--token-file", "--clientProcessId"}
)


def join_commands(argv: Sequence[str]) -> list[str]:
    """Joins the two words of a command such as `search index` into one, if they stand next to each other."""
    at = _command_at(argv)
    pair = " ".join(argv[at : at + 2])
    return [*argv[:at], pair, *argv[at + 2 :]] if pair in _TWO_WORDS else list(argv)


def named_command(argv: Sequence[str]) -> str | None:
    """Returns the name of the command in these arguments; None if they name none or ask for help on all commands."""
    at = _command_at(argv)
    if at >= len(argv) or not {"-h", "--help", "--version"}.isdisjoint(argv[:at]):
        return None
    return argv[at] if argv[at] in COMMANDS else None


def _command_at(argv: Sequence[str]) -> int:
    """Returns the index of the first argument that is neither an option nor an option's value."""
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        at += 2 if argv[at] in _TAKE_A_VALUE else 1
    return at


def _add_serve(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--host", metavar="HOST", default="127.0.0.1", help="a loopback address of this machine (default 127.0.0.1)")
    add("--port", metavar="N", type=number, default=0, help="the port to listen on (default 0: any free one)")
    add(
        "--token-file",
        metavar="FILE",
        help="the file that holds the token; created if missing (default: a new one each time)",
    )
    add("--share", metavar="[NAME=]DIR", action="append", help="a workspace for a group; may be given several times")
    add("--callers", metavar="FILE", help="with --share: the list of callers (default: the data folder's)")
    add("--tls-cert", metavar="FILE", help="with --share: the certificate chain (PEM)")
    add("--tls-key", metavar="FILE", help="with --share: the key of the certificate (PEM, without a passphrase)")
    add("--behind-proxy", action="store_true", help="with --share: a proxy in front of this server does TLS")
    add("--url", metavar="URL", help="with --share: its public address; requests to another host are then refused")
    add("--per-minute", metavar="N", type=number, default=600, help="with --share: requests a minute of each caller")
    add(
        "--at-once", metavar="N", type=number, default=16, help="with --share: requests at the same time of each caller"
    )


def _add_serve_token(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", metavar="ACTION", choices=("add", "list", "remove"), help="add, list, remove")
    add("name", metavar="NAME", nargs="?", help="add and remove: whose token it is")
    add("--workspace", dest="may_search", metavar="NAME", action="append", help="add: a workspace; '*' for all of them")
    add("--tools", metavar="NAMES", help="add: tools, separated by commas; reading (default): all that only read; all")
    add("--metrics", action="store_true", help="add: may read the numbers of all callers")
    add("--callers", metavar="FILE", help="the list of callers (default: the data folder's)")


def _add_call(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", metavar="TOOL", help="the tool's name, for example search_code")
    parser.add_argument(
        "arguments",
        metavar="JSON",
        nargs="?",
        default="{}",
        help="its parameters as one JSON object; - reads them from stdin",
    )


def _add_daemon(parser: argparse.ArgumentParser) -> None:
    actions = ("start", "stop", "status", "logs", "run")
    parser.add_argument(
        "action", metavar="ACTION", choices=actions, help="start, stop, status, logs, or run (stays in the foreground)"
    )
    parser.add_argument(
        "-n", "--lines", metavar="N", type=int, default=20, help="how many lines of the log (default 20)"
    )
    parser.add_argument("--ready-fd", type=int, help=argparse.SUPPRESS)


def _add_models(parser: argparse.ArgumentParser) -> None:
    actions = ("list", "show", "download")
    parser.add_argument("action", metavar="ACTION", nargs="?", choices=actions, default="list", help=", ".join(actions))
    parser.add_argument("id", metavar="ID", nargs="?", help="the model to show or to download")


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=COMPLETED, help=f"one of {', '.join(COMPLETED)}")


def _add_prune(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--unused", metavar="DAYS", type=number, help="also what was not used for so many days")
    add("--all-data", action="store_true", help="also their memories, added documents and edited settings")


def _add_install(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("agent", metavar="AGENT", nargs="?", help="the agent, for example claude-code; --list names them all")
    add("--list", action="store_true", help="list the agents: which are here, their files, and who has sidecar")
    add("--project", action="store_true", help="the list of this project, which others may share (default: your own)")
    add("--remove", action="store_true", help="take out what was written, and nothing else")
    add("--replace", action="store_true", help="also where another server stands under the name sidecar")


def _add_snapshot(parser: argparse.ArgumentParser) -> None:
    actions = ("make", "get", "push")
    parser.add_argument("action", metavar="ACTION", choices=actions, help=", ".join(actions))
    parser.add_argument("place", metavar="PLACE", nargs="?", help="get and push: an address (https://...) or a folder")
    parser.add_argument(
        "--out",
        "--from",
        dest="folder",
        metavar="DIR",
        help="the folder of snapshots made here (default: sidecar's own)",
    )
    parser.add_argument("--with-texts", action="store_true", help="make: put the texts of the chunks in as well")
    parser.add_argument("--key", metavar="FILE", help="make: sign with this Ed25519 private key (PEM)")
    parser.add_argument(
        "--base",
        metavar="PLACE",
        help="make: leave out what the nearest whole snapshot at this address, folder or file holds",
    )


def _add_nothing(parser: argparse.ArgumentParser) -> None:
    pass


_OWN_COMMANDS: tuple[Command, ...] = (
    Command(
        "indexes",
        "list all indexes of this user",
        "List every index of the data folder, the one last used first: its workspace, how many files and chunks it\n"
        "has, its size, when it was last opened for writing, and what is kept beside it (memories, documents, edited\n"
        "settings), which outlives a deleted index and is then listed by its folder: nothing names its workspace any\n"
        "more.",
        "    sidecar indexes\n    sidecar indexes --json\n",
        _add_nothing,
    ),
    Command(
        "prune",
        "remove indexes that nobody needs",
        "Remove the indexes whose workspace does not exist any more, and the cached vectors that no index names.\n"
        "Shows them and asks first. Memories, added documents and edited settings stay unless --all-data is given.\n"
        "With --unused it also takes indexes of workspaces that exist, and with --all-data what cannot be made again:\n"
        "for these a person has to answer in a terminal. An index that another process has open stays.",
        "    sidecar prune\n    sidecar prune --unused 90\n    sidecar prune --all-data\n",
        _add_prune,
    ),
    Command(
        "doctor",
        "check that everything works here",
        "Check Python, the libraries, the model's files, the vector store, the data folder and the system's limits.\n"
        "Each line says ok or what is wrong and what to do; the exit status is 1 when something is wrong.",
        "    sidecar doctor\n    sidecar doctor --json\n",
        _add_nothing,
    ),
    Command(
        "models",
        "list, show and download embedding models",
        "list names the model that ships and those that can be downloaded, with dimension, size and licence; the one\n"
        "in use is marked *. show says everything about one. download gets one from the Hugging Face hub, or our own\n"
        "from sidecar's release (or either from the mirror that the setting modelsSource names), checks the hash of\n"
        "every file and tries the model. It refuses to with --offline. An interrupted download continues where it\n"
        "stopped. Choose a model with --model or SIDECAR_MODEL; a folder with model.onnx and tokenizer.json is a\n"
        "model too.",
        "    sidecar models\n    sidecar models show bge-small-en-v1.5\n    sidecar models download bge-small-en-v1.5\n"
        "    SIDECAR_MODEL=./my-model sidecar index\n",
        _add_models,
    ),
    Command(
        "install",
        "enter sidecar in an agent's list of servers",
        "Write into the settings of an agent what its documentation says, so that it starts sidecar mcp. Shows the\n"
        "change first and asks; without a terminal and without -y it only shows it and ends with 9. Comments, order\n"
        "and layout of the file stay, and a file that is damaged is not touched. The entry names the command sidecar\n"
        "where the PATH finds this program by it, else its place. --remove takes out exactly what was written.",
        "    sidecar install --list\n    sidecar install claude-code\n    sidecar install cursor --project -y\n"
        "    sidecar install codex --remove\n",
        _add_install,
    ),
    Command(
        "snapshot",
        "start from a team's index instead of from nothing",
        "make packs the index of the checked-out commit into one file, as CI does on main after sidecar index; push\n"
        "sends the newest one to a folder or, by plain PUT, to a server, and lists it in heads.json there.\n"
        "With --base, make leaves out what the last whole snapshot holds, as long as that saves three quarters.\n"
        "get takes the snapshot of the nearest ancestor of HEAD from there (without PLACE: from where the setting\n"
        "snapshotSource says) and reads only the files that differ. Where that setting is, a new index starts from a\n"
        "snapshot by itself. If none fits, get says why and exits with 7, and the index stays as it was. What was\n"
        "downloaded is checked: hashes, the signature if the setting snapshotKey is set, every row, and some vectors\n"
        "against the model. A snapshot is as secret as the sources. docs/team.md has recipes.",
        "    sidecar index && sidecar snapshot make --out snapshots\n"
        "    sidecar snapshot make --out snapshots --base https://ci.example.org/index/\n"
        "    sidecar snapshot push --from snapshots https://ci.example.org/index/\n"
        "    sidecar snapshot get https://ci.example.org/index/\n    sidecar snapshot get ~/team/snapshots\n",
        _add_snapshot,
    ),
    Command(
        "call",
        "call a tool by name with JSON",
        "Call any tool the way an agent does: by its name, with its parameters as JSON. Prints the result as JSON.\n"
        "With --json a failure is printed in the form of the tool's family.",
        '    sidecar call search_code \'{"query": "open a socket", "top_k": 3}\'\n'
        "    sidecar call create_index --yes\n",
        _add_call,
    ),
    Command(
        "completion",
        "print what makes a shell complete commands and options",
        "Print a script that makes Tab complete sidecar's commands, options and paths in this shell.",
        "    sidecar completion bash >~/.local/share/bash-completion/completions/sidecar\n"
        "    sidecar completion zsh >~/.zfunc/_sidecar        (a folder of $fpath)\n"
        "    sidecar completion fish >~/.config/fish/completions/sidecar.fish\n",
        _add_completion,
    ),
    Command(
        "mcp",
        "serve agents (Model Context Protocol, stdio)",
        "Serve the tools to an agent over the Model Context Protocol on standard input and output. The workspace is\n"
        "--workspace, else the client's roots, else the one of the current folder.",
        "    sidecar mcp\n    sidecar mcp --workspace ~/src/project\n",
        _add_nothing,
    ),
    Command(
        "serve",
        "serve scripts (REST) and agents (MCP over HTTP)",
        "Serve the tools over HTTP on this machine only, one workspace per process. Every request needs the token\n"
        "that is made at the start: Authorization: Bearer TOKEN. The URL and the file that holds the token are\n"
        "printed on standard error, with --json as one line on standard output. Ctrl-C or SIGTERM ends it with\n"
        "status 0. With --share it serves several workspaces to a group, also from other machines: sidecar serve\n"
        "token says who may call.",
        "    sidecar serve\n    sidecar serve --port 7777 --token-file ~/.sidecar-token --toolsets code,memory\n"
        "    sidecar serve --json\n"
        "    sidecar serve --share api=/srv/api --share web=/srv/web --host 0.0.0.0 --port 443 \\\n"
        "        --tls-cert chain.pem --tls-key key.pem\n",
        _add_serve,
    ),
    Command(
        "serve token",
        "who may call a server for a group",
        "Keep the list of those who may call sidecar serve --share: each has a name, a token, the workspaces it may\n"
        "use by name, and the tools, which by default are those that only read. The token is shown once, and only its\n"
        "hash is stored. A running server notices a change at once.",
        "    sidecar serve token add alice --workspace api --workspace web\n"
        "    sidecar serve token add ci --workspace '*' --tools reading,reindex_project\n"
        "    sidecar serve token list\n    sidecar serve token remove alice\n",
        _add_serve_token,
        replaces="--workspace",
    ),
    Command(
        "daemon",
        "the process that editors, agents and shells share",
        "One process per user holds the open indexes. Editors (--stdio) and agents (mcp) attach to it, and start it\n"
        "if none runs; a shell uses it if one runs, and starts it to search an index of 50,000 chunks or more (or as\n"
        "many as SIDECAR_DAEMON_FROM_CHUNKS says; 0: never). It ends after 30 minutes without sessions, or as many\n"
        "minutes as SIDECAR_DAEMON_IDLE_MINUTES says. status exits with 3 if none runs.",
        "    sidecar daemon status\n    sidecar daemon stop\n    sidecar daemon logs -n 50\n",
        _add_daemon,
    ),
)

COMMANDS = (*(command.name for command in TOOL_COMMANDS), *(command.name for command in _OWN_COMMANDS))
"""The names of all commands, in the order of the list."""
_TWO_WORDS = frozenset(name for name in COMMANDS if " " in name)


def command_named(name: str, facts: Facts) -> Command:
    """Returns the command called `name`, with the texts about tools taken from `facts`."""
    for command in TOOL_COMMANDS:
        if command.name == name:
            summary, manual = summary_of(command, facts), manual_of(command, facts)
            return Command(name, summary, manual, command.examples, partial(add_options, command=command, facts=facts))
    return next(command for command in _OWN_COMMANDS if command.name == name)
