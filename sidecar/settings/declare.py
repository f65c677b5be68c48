"""Every setting, declared once: key, type, default, limits, description, environment variable and scope.

`load.py` reads the layers of settings; the editor's settings page and the documentation are generated from this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from .address import server_address, server_headers

Kind: TypeAlias = Literal["boolean", "integer", "number", "text", "choice", "patterns", "size"]
Scope: TypeAlias = Literal["workspace", "user"]
Value: TypeAlias = bool | int | float | str | tuple[str, ...]
Effect: TypeAlias = Literal["call", "files", "upgrade", "rebuild", "connect", "open"]
Decider: TypeAlias = Literal["workspace", "session", "process"]

EFFECTS: Mapping[Effect, str] = MappingProxyType(
    {
        "call": "at once",
        "files": "at once; the files are looked over again",
        "upgrade": "at once; the vectors are made again in the background, or without twoStage by `reindex_project`",
        "rebuild": "when the index is rebuilt (`reindex_project`)",
        "connect": "for clients that connect afterwards",
        "open": "when the index is opened again: after `idleMinutes` without use, or after `sidecar daemon stop`",
    }
)
"""When a changed value takes effect in an open index. An open index checks its settings at every call, and every half
minute."""

ENVIRONMENT_PREFIX = "SIDECAR_"
TOOLSETS = ("code", "documents", "document-lists", "inline", "memory", "overview", "semantic")
"""The toolsets by name, in alphabetical order. `all` selects every one."""
_FEWEST_OF_KEY = 22
"""The number of base64 characters of a random key of 128 bits."""


def _vector_store(value: Value) -> None:
    if value != "embedded":
        server_address(str(value))


def _shared_vectors(value: Value) -> None:
    if value != "off":
        server_address(str(value))


def _headers(value: Value) -> None:
    server_headers(value if isinstance(value, tuple) else ())


def _key(value: Value) -> None:
    if 0 < len(str(value)) < _FEWEST_OF_KEY:
        raise ValueError


@dataclass(frozen=True, slots=True)
class Declaration:
    """One setting.

    `key` is as in config.json, with a dot for each level of nesting; `attribute` is its name on `Settings`. `kind`
    "size" is digits and a unit in files (and in `default`), and bytes on `Settings`. `scope` "workspace": every layer
    may set it. `scope` "user": only the user's own file, the environment and a flag may set it, because the editor's
    values and an index's config.json can come from the author of the workspace. `strictness` lists the values of such a
    setting, the loosest first: an index's config.json and the editor may only make it stricter than the other layers
    do. `low` and `high` are inclusive (bytes for "size", characters for "text"). `check` raises ValueError for a value
    that is not allowed; `words` then describes the allowed values. The value of a `secret` setting is never shown.

    `effect` is a key of `EFFECTS`. `decided_by` says whose value counts if several sessions share one process: that of
    one of the workspace's sessions, each session's own, or the process's.
    """

    key: str
    attribute: str
    kind: Kind
    default: Value
    description: str
    effect: Effect
    decided_by: Decider = "workspace"
    scope: Scope = "workspace"
    choices: tuple[str, ...] = ()
    low: float = 0
    high: float = 0
    may_be_empty: bool = True
    strictness: tuple[str, ...] = ()
    check: Callable[[Value], None] | None = None
    words: str = ""
    secret: bool = False

    @property
    def environment(self) -> str:
        """The environment variable: `SIDECAR_MAX_FILE_SIZE` for `maxFileSize`."""
        return ENVIRONMENT_PREFIX + re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\.", "_", self.key).upper()

    @property
    def allowed(self) -> str:
        """The allowed values in words, for messages and documentation."""
        if self.words:
            return self.words
        if self.kind == "choice":
            return ", ".join(self.choices)
        empty = "" if self.may_be_empty else " that is not empty"
        words: dict[Kind, str] = {
            "boolean": "true or false",
            "integer": f"a whole number from {self.low:.0f} to {self.high:.0f}",
            "number": f"a number from {self.low:g} to {self.high:g}",
            "text": f"a text of {self.low:.0f} to {self.high:.0f} characters",
            "patterns": f"a list of glob patterns{empty}",
            "size": 'digits followed by KB or MB, from "1KB" to "100MB"',
        }
        return words[self.kind]


DECLARATIONS: tuple[Declaration, ...] = (
    Declaration(
        key="include",
        attribute="include",
        kind="patterns",
        default=("**/*",),
        description="Globs of the files to index, relative to the workspace.",
        effect="files",
        may_be_empty=False,
    ),
    Declaration(
        key="exclude",
        attribute="exclude",
        kind="patterns",
        default=(),
        description="Globs of files to leave out, besides the built-in list of dependencies, build output and secrets.",
        effect="files",
    ),
    Declaration(
        key="respectGitignore",
        attribute="respect_gitignore",
        kind="boolean",
        default=True,
        description="Leave out what git ignores (nested .gitignore, .git/info/exclude and the global ignore file).",
        effect="files",
    ),
    Declaration(
        key="maxFileSize",
        attribute="max_file_size",
        kind="size",
        default="1MB",
        description="Files larger than this are left out.",
        effect="files",
        low=1024,
        high=100 * 1024**2,
    ),
    Declaration(
        key="maxFiles",
        attribute="max_files",
        kind="integer",
        default=200_000,
        description="At most this many files are indexed: code before texts, data and translations.",
        effect="files",
        low=1,
        high=1_000_000,
    ),
    Declaration(
        key="docPatterns",
        attribute="doc_patterns",
        kind="patterns",
        default=("**/*.md", "**/*.txt"),
        description="Globs of the files that are documentation, which has a search of its own.",
        effect="files",
    ),
    Declaration(
        key="indexDocs",
        attribute="index_docs",
        kind="boolean",
        default=True,
        description="Index documentation as well.",
        effect="files",
    ),
    Declaration(
        key="indexingStrategy",
        attribute="indexing_strategy",
        kind="choice",
        default="realtime",
        choices=("realtime", "lazy", "git"),
        description="When changes are indexed: at once, before the next search, or on commit, checkout and merge.",
        effect="call",
    ),
    Declaration(
        key="chunkingStrategy",
        attribute="chunking_strategy",
        kind="choice",
        default="code-aware",
        choices=("code-aware", "character"),
        description="Split files at definitions and headings, or into windows of lines regardless of their content.",
        effect="rebuild",
    ),
    Declaration(
        key="hybridSearch.enabled",
        attribute="hybrid_enabled",
        kind="boolean",
        default=True,
        description="Combine search by meaning and by word; if false, searches compare meanings alone, unless "
        "the search names its mode or alpha.",
        effect="call",
    ),
    Declaration(
        key="hybridSearch.defaultAlpha",
        attribute="default_alpha",
        kind="number",
        default=0.5,
        description="Weight of meaning against words unless a search says otherwise: 1 is meaning only, 0 words only.",
        effect="call",
        high=1,
    ),
    Declaration(
        key="model",
        attribute="model",
        kind="text",
        default="static-code-256",
        description="Embedding model: a name of the catalog, or a folder with model.onnx and tokenizer.json.",
        effect="upgrade",
        scope="user",
        low=1,
        high=4096,
    ),
    Declaration(
        key="twoStage",
        attribute="two_stage",
        kind="boolean",
        default=True,
        description="If the model is slow (a transformer), a quick one answers at once, and the slow one's vectors "
        "replace its vectors in the background.",
        effect="upgrade",
    ),
    Declaration(
        key="device",
        attribute="device",
        kind="choice",
        default="auto",
        choices=("auto", "cpu", "cuda"),
        description="Device for bulk embedding; auto uses a CUDA card if one works, else the processor.",
        effect="call",
    ),
    Declaration(
        key="threads",
        attribute="threads",
        kind="integer",
        default=0,
        description="Threads for embedding; 0 lets sidecar choose.",
        effect="call",
        high=256,
    ),
    Declaration(
        key="confirm",
        attribute="confirm",
        kind="choice",
        default="auto",
        choices=("auto", "always", "never"),
        description="Whether to ask before an index is created, rebuilt or deleted; auto asks if somebody can answer. "
        "A workspace and an agent's environment may only make it stricter.",
        effect="call",
        decided_by="session",
        scope="user",
        strictness=("never", "auto", "always"),
    ),
    Declaration(
        key="questionSeconds",
        attribute="question_seconds",
        kind="integer",
        default=120,
        description="How long a question in an editor waits for an answer; no answer means no.",
        effect="call",
        decided_by="session",
        scope="user",
        low=1,
        high=3600,
    ),
    Declaration(
        key="offline",
        attribute="offline",
        kind="boolean",
        default=False,
        description="Never use the network; sidecar models download then refuses, and sidecar snapshot where it would "
        "need one.",
        effect="call",
        decided_by="session",
        scope="user",
    ),
    Declaration(
        key="modelsSource",
        attribute="models_source",
        kind="text",
        default="https://huggingface.co",
        description="Where sidecar models download gets models from: the Hugging Face hub, or a mirror over https.",
        effect="call",
        decided_by="session",
        scope="user",
        low=8,
        high=500,
    ),
    Declaration(
        key="snapshotSource",
        attribute="snapshot_source",
        kind="text",
        default="",
        description="Where a team's snapshots are: an address that begins with https://, or the absolute path of a "
        "folder; {repository} in it stands for group/name of the remote origin. A new index starts from the newest one "
        "that fits; empty: from nothing.",
        effect="call",
        scope="user",
        high=2000,
    ),
    Declaration(
        key="snapshotKey",
        attribute="snapshot_key",
        kind="text",
        default="",
        description="The public key (Ed25519, DER in base64) of those who make the team's snapshots; others are then "
        "refused.",
        effect="call",
        scope="user",
        high=500,
    ),
    Declaration(
        key="snapshotSignIn",
        attribute="snapshot_sign_in",
        kind="text",
        default="",
        description="A file of yours whose first line is sent to the server of snapshotSource as the header "
        "Authorization, such as Bearer TOKEN.",
        effect="call",
        scope="user",
        high=4096,
    ),
    Declaration(
        key="toolsets",
        attribute="toolsets",
        kind="text",
        default="code",
        description=f"Toolsets offered to agents and scripts: {', '.join(TOOLSETS)} (with commas between), or all; "
        "editors and the shell have all.",
        effect="connect",
        decided_by="session",
        scope="user",
        low=1,
        high=200,
    ),
    Declaration(
        key="idleMinutes",
        attribute="idle_minutes",
        kind="integer",
        default=15,
        description="A workspace that nobody has used for this many minutes gives back its memory; 0: never.",
        effect="call",
        scope="user",
        high=10_080,
    ),
    Declaration(
        key="vectorsMegabytes",
        attribute="vectors_megabytes",
        kind="integer",
        default=2048,
        description="Up to this many megabytes of vectors that no index uses any more are kept, so that switching "
        "branches embeds nothing twice.",
        effect="call",
        scope="user",
        low=16,
        high=1_000_000,
    ),
    Declaration(
        key="activityLog",
        attribute="activity_log",
        kind="integer",
        default=500,
        description="How many calls the activity list remembers, in memory; 0 turns it off.",
        effect="call",
        decided_by="process",
        scope="user",
        high=10_000,
    ),
    Declaration(
        key="vectorStore",
        attribute="vector_store",
        kind="text",
        default="embedded",
        description="Where vectors are searched that do not fit into memory: Chroma on this machine, or a Chroma "
        "server, which is then sent the vectors of such indexes and of questions to them (team.md).",
        effect="open",
        scope="user",
        high=500,
        check=_vector_store,
        words="embedded, or the address of a Chroma server: http(s)://HOST:PORT/PATH?tenant=NAME&database=NAME",
    ),
    Declaration(
        key="vectorStoreHeaders",
        attribute="vector_store_headers",
        kind="patterns",
        default=(),
        description="Headers for the proxy that guards the Chroma server; sent by https or to this machine only.",
        effect="open",
        scope="user",
        check=_headers,
        words="a list of headers, each written as `Name: value`",
        secret=True,
    ),
    Declaration(
        key="vectorMemoryMegabytes",
        attribute="vector_memory_megabytes",
        kind="integer",
        default=280,
        description="Memory for the vectors of one open index; the vector store is asked only if they do not fit. 280 "
        "hold a million chunks of the default model.",
        effect="open",
        scope="user",
        high=16_384,
    ),
    Declaration(
        key="sharedVectors",
        attribute="shared_vectors",
        kind="text",
        default="off",
        description="Where a team keeps the vectors that a slow model has made, encrypted, so that nobody makes them "
        "twice: a server that takes GET and PUT, or with chroma+ a Chroma server (team.md).",
        effect="open",
        scope="user",
        high=500,
        check=_shared_vectors,
        words="off, or an address: http(s)://HOST:PORT/PATH, or chroma+http(s)://HOST:PORT?tenant=NAME&database=NAME",
    ),
    Declaration(
        key="sharedVectorsKey",
        attribute="shared_vectors_key",
        kind="text",
        default="",
        description="The team's key, by which shared vectors are named and encrypted.",
        effect="open",
        scope="user",
        high=500,
        check=_key,
        words="at least 22 random characters, such as `openssl rand -base64 32` prints",
        secret=True,
    ),
    Declaration(
        key="sharedVectorsHeaders",
        attribute="shared_vectors_headers",
        kind="patterns",
        default=(),
        description="Headers for the server of sharedVectors; sent by https or to this machine only.",
        effect="open",
        scope="user",
        check=_headers,
        words="a list of headers, each written as `Name: value`",
        secret=True,
    ),
    Declaration(
        key="sharedVectorsWrite",
        attribute="shared_vectors_write",
        kind="boolean",
        default=False,
        description="Also send to sharedVectors what this machine's model has made: for CI; others only read.",
        effect="open",
        scope="user",
    ),
)

INDEX_CONFIG_KEYS: tuple[str, ...] = tuple(d.key for d in DECLARATIONS[:11])
"""The specification's keys, which a new index's config.json contains."""
