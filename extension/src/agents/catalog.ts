// The agents that can be connected: where each keeps its list of MCP servers, and the form of an entry.

export interface Agent {
  name: string;
  /** Relative to the folder, or to the person's home. */
  file: string;
  of: "folder" | "home";
  format: "json" | "toml";
  /** The keys that lead to the entry, its name last. */
  way: readonly string[];
  entry(command: string): object;
  /** What the person has to do afterwards. */
  then: string;
}

const NAME = "sidecar";
/** Names no folder: these agents start the server in the project's folder, and name that as an MCP root. */
const plain = (command: string) => ({ command, args: ["mcp"] });
const inFolder = (command: string) => ({ command, args: ["mcp", "--workspace", "${workspaceFolder}"] });

export const AGENTS: readonly Agent[] = [
  {
    name: "Claude Code",
    file: ".mcp.json",
    of: "folder",
    format: "json",
    way: ["mcpServers", NAME],
    entry: plain,
    then: "Claude Code asks once whether it may use the server when it is started in this folder.",
  },
  {
    name: "Cursor",
    file: ".cursor/mcp.json",
    of: "folder",
    format: "json",
    way: ["mcpServers", NAME],
    entry: inFolder,
    then: "Switch the server on in Cursor's settings, under MCP.",
  },
  {
    name: "VS Code (for people without this extension)",
    file: ".vscode/mcp.json",
    of: "folder",
    format: "json",
    way: ["servers", NAME],
    entry: (command) => ({ type: "stdio", ...inFolder(command) }),
    then: "VS Code offers a Start link above the entry.",
  },
  {
    name: "Codex CLI",
    file: ".codex/config.toml",
    of: "home",
    format: "toml",
    way: ["mcp_servers", NAME],
    entry: plain,
    then: "Codex has it in its next session, in every folder.",
  },
  {
    name: "Gemini CLI",
    file: ".gemini/settings.json",
    of: "folder",
    format: "json",
    way: ["mcpServers", NAME],
    entry: plain,
    then: "Gemini CLI has it in its next session in this folder.",
  },
  {
    name: "opencode",
    file: "opencode.json",
    of: "folder",
    format: "json",
    way: ["mcp", NAME],
    entry: (command) => ({ type: "local", command: [command, "mcp"], enabled: true }),
    then: "opencode has it in its next session in this folder.",
  },
  {
    name: "Windsurf",
    file: ".codeium/windsurf/mcp_config.json",
    of: "home",
    format: "json",
    way: ["mcpServers", NAME],
    entry: plain,
    then: "Refresh the list of servers in Windsurf's Cascade panel.",
  },
];
