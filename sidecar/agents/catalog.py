"""The agents whose settings sidecar can be added to: where each lists its MCP servers, and what an entry looks like.

For each of them, `docs/agents.md` names the page that documents this, and how it was tested.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from sidecar.agents.program import NAME

Entry = Mapping[str, object]
_IN_FOLDER = ("--workspace", "${workspaceFolder}")


class AgentFile(NamedTuple):
    """A settings file of an agent. `files`: patterns for `Machine.path`; the first that exists counts, otherwise the
    last.

    `shape` makes the entry from the command line that starts the server, which ends with `options`. `way` are the keys
    that lead to the entry. `form` is json, toml, or own: a file that contains only sidecar's entry, whose text `shape`
    returns under the key "text". `elsewhere` has the files of platforms that differ.
    """

    files: Sequence[str]
    way: Sequence[str]
    shape: Callable[[Sequence[str]], Entry]
    options: Sequence[str] = ()
    form: str = "json"
    elsewhere: Mapping[str, Sequence[str]] = MappingProxyType({})


class Agent(NamedTuple):
    """An agent. `user` and `project` are its lists of servers for a user and for a project; None if its documentation
    names no such file.

    `signs` are files, folders and programs; if one of them exists, the agent is installed. `then` is the person's next
    step.
    """

    id: str
    name: str
    user: AgentFile | None
    project: AgentFile | None
    signs: Sequence[str]
    then: str
    other_names: Sequence[str] = ()


def _plain(words: Sequence[str]) -> Entry:
    return {"command": words[0], "args": [*words[1:]]}


def _typed(words: Sequence[str]) -> Entry:
    return {"type": "stdio", **_plain(words)}


def _in_one_list(words: Sequence[str]) -> Entry:
    return {"type": "local", "command": [*words]}


def _block(words: Sequence[str]) -> Entry:
    args = "".join(f"      - {json.dumps(word)}\n" for word in words[1:])
    return {"text": f"{BLOCK_HEAD}    command: {json.dumps(words[0])}\n    args:\n{args}"}


BLOCK_HEAD = f"name: Sidecar\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: {NAME}\n"
"""The beginning of a file that contains only sidecar's entry."""

_SERVERS = ("mcpServers", NAME)
_CLINE = "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

AGENTS: tuple[Agent, ...] = (
    Agent(
        "claude-code",
        "Claude Code",
        AgentFile(("{CLAUDE_CONFIG_DIR|~}/.claude.json",), _SERVERS, _typed),
        AgentFile(("{project}/.mcp.json",), _SERVERS, _typed),
        ("~/.claude.json", "~/.claude", "claude"),
        "Claude Code has it in its next session; for a project it asks once whether it may use it.",
        ("claude",),
    ),
    Agent(
        "codex",
        "Codex",
        AgentFile(("{CODEX_HOME|~/.codex}/config.toml",), ("mcp_servers", NAME), _plain, form="toml"),
        AgentFile(("{project}/.codex/config.toml",), ("mcp_servers", NAME), _plain, form="toml"),
        ("~/.codex", "codex"),
        "Codex has it in its next session; that of a project only where you trust the project.",
    ),
    Agent(
        "cursor",
        "Cursor",
        AgentFile(("~/.cursor/mcp.json",), _SERVERS, _typed),
        AgentFile(("{project}/.cursor/mcp.json",), _SERVERS, _typed, _IN_FOLDER),
        ("~/.cursor", "cursor"),
        "Switch the server on in Cursor's settings, under MCP.",
    ),
    Agent(
        "vscode",
        "Copilot in VS Code",
        AgentFile(("{data}/Code/User/mcp.json",), ("servers", NAME), _typed),
        AgentFile(("{project}/.vscode/mcp.json",), ("servers", NAME), _typed, _IN_FOLDER),
        ("{data}/Code", "code"),
        "VS Code offers Start above the entry. Whoever has the sidecar extension needs no entry.",
        ("copilot", "vs-code"),
    ),
    Agent(
        "gemini",
        "Gemini CLI",
        AgentFile(("~/.gemini/settings.json",), _SERVERS, _plain),
        AgentFile(("{project}/.gemini/settings.json",), _SERVERS, _plain),
        ("~/.gemini", "gemini"),
        "Gemini CLI has it in its next session, in the folders that you trust.",
        ("gemini-cli",),
    ),
    Agent(
        "windsurf",
        "Windsurf",
        AgentFile(("~/.codeium/windsurf/mcp_config.json",), _SERVERS, _plain),
        None,
        ("~/.codeium/windsurf", "windsurf"),
        "Refresh the list of servers in Windsurf's Cascade panel.",
    ),
    Agent(
        "zed",
        "Zed",
        AgentFile(
            ("{config}/zed/settings.json",),
            ("context_servers", NAME),
            _plain,
            elsewhere={"win32": ("{data}/Zed/settings.json",), "darwin": ("~/.config/zed/settings.json",)},
        ),
        None,
        ("{config}/zed", "{data}/Zed", "zed"),
        "Zed starts it at once; its state is in the Agent Panel's settings.",
    ),
    Agent(
        "opencode",
        "OpenCode",
        AgentFile(("{config}/opencode/opencode.jsonc", "{config}/opencode/opencode.json"), ("mcp", NAME), _in_one_list),
        AgentFile(("{project}/opencode.jsonc", "{project}/opencode.json"), ("mcp", NAME), _in_one_list),
        ("{config}/opencode", "opencode"),
        "OpenCode has it in its next session.",
    ),
    Agent(
        "cline",
        "Cline",
        AgentFile(("~/.cline/data/settings/cline_mcp_settings.json",), _SERVERS, _plain),
        None,
        ("~/.cline", "cline"),
        "Cline has it in its next session.",
    ),
    Agent(
        "cline-vscode",
        "Cline in VS Code",
        AgentFile(("{data}/Code/User/globalStorage/" + _CLINE,), _SERVERS, _plain),
        None,
        ("{data}/Code/User/globalStorage/saoudrizwan.claude-dev",),
        "Cline reads the file at once; the server is in its list under Configure.",
    ),
    Agent(
        "continue",
        "Continue",
        AgentFile(("~/.continue/mcpServers/sidecar.yaml",), (), _block, form="own"),
        AgentFile(("{project}/.continue/mcpServers/sidecar.yaml",), (), _block, form="own"),
        ("~/.continue", "cn"),
        "Continue offers the tools in agent mode.",
    ),
    Agent(
        "jetbrains",
        "JetBrains AI Assistant",
        None,
        None,
        ("{data}/JetBrains", "~/.config/JetBrains"),
        "In the IDE: Settings | Tools | AI Assistant | Model Context Protocol (MCP) | Add | As JSON, and paste it.",
        ("intellij", "pycharm"),
    ),
    Agent(
        "neovim",
        "Neovim (mcphub.nvim)",
        AgentFile(("~/.config/mcphub/servers.json",), _SERVERS, _plain),
        AgentFile(("{project}/.mcphub/servers.json",), _SERVERS, _plain),
        ("~/.config/mcphub", "nvim"),
        "mcphub.nvim sees it at once. Neovim itself needs no agent: see the plugin in extension/neovim.",
        ("nvim", "mcphub"),
    ),
)

PASTED: AgentFile = AgentFile((), _SERVERS, _plain)
"""The entry for a program whose documentation names no file."""

BY_NAME: Mapping[str, Agent] = MappingProxyType(
    {name: agent for agent in AGENTS for name in (agent.id, *agent.other_names)}
)
