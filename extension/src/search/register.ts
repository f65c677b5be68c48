// The commands that search, and the lasting state of searches: the mode, the results in view, the history.
import * as vscode from "vscode";
import type { Features } from "../features";
import { register as registerResults } from "../results/register";
import { Shelf } from "../results/shelf";
import { modeOf, usualMode, type ModeId } from "./modes";
import { baseName } from "./kinds";
import type { Opening } from "./opening";
import { Palette } from "./palette";
import type { Spot } from "./find";
import { LastTyped } from "./last";
import { asQuestion } from "./lines";
import { lastingSearches } from "./lasting";
import { filterText } from "./filters";
import { several } from "./place";
import { pathOfFolder } from "./typedPath";
import type { Sidecar } from "../sidecar";
import { said } from "../shown";
import { tell } from "../tell";

const MODE = "sidecar.mode";
const OPEN = "sidecar.paletteOpen";
const HEARD = "sidecar.heard";
/** Lines before and after the cursor. */
const AROUND = 10;

export function register(features: Features): vscode.Disposable[] {
  const { extension, sidecar, log } = features;
  const { globalState } = extension;
  const lasting = lastingSearches(extension, log);
  const shelf = new Shelf(lasting.file);
  const last = new LastTyped(lasting.file);
  let palette: Palette | undefined;
  const open = (opening: Omit<Opening, "mode">): void => {
    const opened = new Palette(
      { ...opening, mode: modeOf(globalState.get<string>(MODE) ?? usualId(sidecar)).id },
      {
        sidecar,
        shelf,
        remember: (mode: ModeId) => void globalState.update(MODE, mode),
        showAsEditor: async (asked, found) => {
          await vscode.commands.executeCommand("sidecar.results.showAsEditor", { asked, found });
        },
        keep: (asked, found) => void vscode.commands.executeCommand("sidecar.results.keep", { asked, found }),
        typed: (typed) => last.note(opening.subject, typed),
        closed: () => {
          last.keep();
          // Another palette was opened and has replaced it.
          if (palette !== opened) return;
          palette = undefined;
          void vscode.commands.executeCommand("setContext", OPEN, false);
        },
        heard: async () => {
          await vscode.commands.executeCommand("setContext", HEARD, true);
        },
      },
    );
    palette = opened;
    void vscode.commands.executeCommand("setContext", OPEN, true);
    opened.open();
  };
  const command = (name: string, run: (...given: never[]) => unknown) => vscode.commands.registerCommand(name, run);
  return [
    ...lasting.disposables,
    lasting.onChange(() => shelf.changed()),
    command("sidecar.searchCode", (given?: unknown) =>
      open({ ...CODE, query: textOf(given) ?? (selectedText() || last.of(CODE.subject)) }),
    ),
    command("sidecar.searchDocs", (given?: unknown) =>
      open({ ...DOCS, query: textOf(given) ?? (selectedText() || last.of(DOCS.subject)) }),
    ),
    command("sidecar.goToSymbol", (given?: unknown) =>
      open({ ...SYMBOL, query: textOf(given) ?? (selectedText() || last.of(SYMBOL.subject)) }),
    ),
    command("sidecar.searchByPath", (given?: unknown) =>
      open({ ...PATH, query: textOf(given) ?? last.of(PATH.subject) }),
    ),
    command("sidecar.findSimilar", (given?: unknown) => findSimilar(features, open, given)),
    command("sidecar.searchInFolder", (folder?: vscode.Uri) => open({ ...CODE, ...beginningIn(sidecar, folder) })),
    ...paletteCommands(() => palette),
    ...registerResults(features, shelf),
  ];
}

/** The commands of keys; each acts on the open palette. */
function paletteCommands(open: () => Palette | undefined): vscode.Disposable[] {
  const does = ["save", "nextMode", "openToSide", "peek", "keep", "showAsEditor"] as const;
  return does.map((name) => vscode.commands.registerCommand(`sidecar.palette.${name}`, () => open()?.[name]()));
}

function usualId(sidecar: Features["sidecar"]): ModeId {
  return usualMode(sidecar) === "vector" ? "meaning" : "hybrid";
}

const CODE = {
  subject: "code",
  title: "Search Code",
  placeholder: 'What does the code do? Narrow it down by lang: path: kind: "exact"',
} as const;
const DOCS = {
  subject: "docs",
  title: "Search Docs",
  placeholder: "What should the documentation explain?",
} as const;
const SYMBOL = {
  subject: "symbol",
  title: "Go to Symbol by Meaning",
  placeholder: "What does the function or class do?",
} as const;
const PATH = {
  subject: "path",
  title: "Search by Path",
  placeholder: "A part of the path, or a pattern: src/**/*.py",
} as const;

/** The filter with which a question about a folder begins. The workspace's only folder needs none. */
function beginningIn(sidecar: Sidecar, folder: vscode.Uri | undefined): Pick<Opening, "query" | "begun"> {
  const root = folder === undefined ? undefined : sidecar.workspaceOf(folder);
  if (folder === undefined || root === undefined) return { query: "", begun: true };
  const path = folder.path.slice(root.uri.path.length + 1);
  const name = several()?.get(root.uri.fsPath);
  if (path === "" && name === undefined) return { query: "", begun: true };
  return { query: `${filterText("path", pathOfFolder(path, name))} `, begun: true };
}

/** Other commands may pass a query. Menus pass other values, which are ignored. */
function textOf(given: unknown): string | undefined {
  return typeof given === "string" ? asQuestion(given) : undefined;
}

function selectedText(): string {
  const editor = vscode.window.activeTextEditor;
  return editor === undefined ? "" : asQuestion(editor.document.getText(editor.selection));
}

/** What to search for where no file's lines are to be compared: in an untitled text, or in a notebook's cell. */
function textAtCursor(): string {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return "";
  const { line } = editor.selection.active;
  const around = new vscode.Range(Math.max(0, line - AROUND), 0, line + AROUND + 1, 0);
  return selectedText() || asQuestion(editor.document.getText(around));
}

function findSimilar({ sidecar }: Features, open: (opening: Omit<Opening, "mode">) => void, given: unknown): void {
  const spot = isSpot(given) ? given : spotOfEditor((uri) => sidecar.workspaceOf(uri));
  if (spot === undefined) {
    const text = textAtCursor();
    if (text === "") void tell.info(said`Sidecar: put the cursor in code first.`);
    else open({ ...CODE, query: text });
    return;
  }
  const lines = spot.endLine === undefined ? `${spot.line}` : `${spot.line}–${spot.endLine}`;
  open({
    subject: "similar",
    title: `Code Like ${baseName(spot.path)}:${lines}`,
    placeholder: "Type to narrow the results down",
    query: `${spot.path}:${lines}`,
    spot,
  });
}

function isSpot(given: unknown): given is Spot {
  return typeof given === "object" && given !== null && "line" in given && "workspace" in given;
}

function spotOfEditor(folderOf: (uri: vscode.Uri) => vscode.WorkspaceFolder | undefined): Spot | undefined {
  const editor = vscode.window.activeTextEditor;
  const folder = editor === undefined ? undefined : folderOf(editor.document.uri);
  if (editor === undefined || folder === undefined) return undefined;
  const { selection, document } = editor;
  const path = document.uri.path.slice(folder.uri.path.length + 1);
  const spot = { workspace: folder.uri.fsPath, path, line: selection.start.line + 1 };
  if (selection.isEmpty) return spot;
  // A selection that ends before the first character of a line does not mean that line.
  const end = selection.end.character === 0 ? selection.end.line : selection.end.line + 1;
  return { ...spot, endLine: Math.max(spot.line, end) };
}
