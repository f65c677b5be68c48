// Offers the sidecar to the editor's own agents: one MCP server for each open folder, started by the editor when asked.
import * as vscode from "vscode";
import type { Features } from "../features";
import { namesOf } from "../search/place";
import { environmentFor } from "../server/program";
import { SECTION } from "../settings";

export const PROVIDER = "sidecar.mcp";

export function registerMcp({ extension, programs }: Features): vscode.Disposable[] {
  // Editors based on older versions of VS Code do not have it.
  if (typeof (vscode.lm as Partial<typeof vscode.lm> | undefined)?.registerMcpServerDefinitionProvider !== "function")
    return [];
  const changes = new vscode.EventEmitter<void>();
  const { version } = extension.extension.packageJSON as { version: string };
  const provider: vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition> = {
    onDidChangeMcpServerDefinitions: changes.event,
    provideMcpServerDefinitions: async () => {
      const command = await programs.forAgents().catch(() => undefined);
      return command === undefined ? [] : folders().map((folder) => definition(folder, command, version));
    },
    // Here the person has asked for it, so the private environment may be made.
    resolveMcpServerDefinition: async (server) => {
      const program = await programs.find();
      server.command = program.command;
      server.env = onlyChanges(environmentFor(program, process.env), process.env);
      // From now on agents have the searches from this server, and would otherwise see them twice (`chat/tools.ts`).
      await vscode.commands.executeCommand("setContext", "sidecar.mcpStarted", true);
      return server;
    },
  };
  return [
    changes,
    vscode.lm.registerMcpServerDefinitionProvider(PROVIDER, provider),
    vscode.workspace.onDidChangeWorkspaceFolders(() => changes.fire()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changes.fire()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(SECTION)) changes.fire();
    }),
  ];
}

function folders(): vscode.WorkspaceFolder[] {
  const open = vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : [];
  return open.filter((folder) => folder.uri.scheme === "file");
}

function definition(folder: vscode.WorkspaceFolder, command: string, version: string): vscode.McpStdioServerDefinition {
  const all = folders();
  const label = all.length > 1 ? `Sidecar (${namesOf(all).get(folder.uri.fsPath) ?? folder.name})` : "Sidecar";
  const server = new vscode.McpStdioServerDefinition(
    label,
    command,
    ["mcp", "--workspace", folder.uri.fsPath],
    {},
    version,
  );
  server.cwd = folder.uri;
  return server;
}

/** The editor passes its own environment; null removes a variable from it. */
function onlyChanges(wanted: NodeJS.ProcessEnv, own: NodeJS.ProcessEnv): Record<string, string | null> {
  const changed: Record<string, string | null> = {};
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(own)]))
    if (wanted[name] !== own[name]) changed[name] = wanted[name] ?? null;
  return changed;
}
