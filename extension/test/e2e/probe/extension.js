// Stands for other people's extensions: a language whose symbols come late, an agent that invokes the editor's language
// model tools, a model that a user can choose in the chat, and a command that adds a folder to the window.
const { readFileSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const vscode = require("vscode");

/** The language's symbols come this many milliseconds after the editor last asked for lenses. It does not ask again. */
const QUIET_MS = 2500;
let lastAsked = Infinity;

exports.activate = ({ subscriptions }) => {
  const language = { language: "probe" };
  const waiting = setInterval(() => {
    if (Date.now() - lastAsked < QUIET_MS) return;
    clearInterval(waiting);
    subscriptions.push(vscode.languages.registerDocumentSymbolProvider(language, { provideDocumentSymbols }));
  }, 200);
  subscriptions.push(
    vscode.languages.registerCodeLensProvider(language, { provideCodeLenses }),
    vscode.commands.registerCommand("probe.invokeTools", invokeTools),
    vscode.commands.registerCommand("probe.addFolder", addFolder),
    vscode.lm.registerLanguageModelChatProvider("probe", MODEL),
  );
  void vscode.lm.selectChatModels({ vendor: "probe" });
};

/** Returns the parent of the opened folder. */
function beside() {
  return join(vscode.workspace.workspaceFolders[0].uri.fsPath, "..");
}

/** Notes the time of the request. The editor asks all extensions at once, so this stands for the requests to ours. */
function provideCodeLenses() {
  lastAsked = Date.now();
  return [];
}

/** Every line that begins with `def` is a function. */
function provideDocumentSymbols(document) {
  return Array.from({ length: document.lineCount }, (_, at) => document.lineAt(at))
    .filter(({ text }) => text.startsWith("def "))
    .map(({ text, range }) => new vscode.DocumentSymbol(text.slice(4), "", vscode.SymbolKind.Function, range, range));
}

/** Invokes the tool that the file `asked.json` beside the folder names, and writes the answer into `told.json`. */
async function invokeTools() {
  const asked = JSON.parse(readFileSync(join(beside(), "asked.json"), "utf8"));
  const told = [];
  for (const { tool, input } of asked) told.push(await invoke(tool, input));
  writeFileSync(join(beside(), "told.json"), JSON.stringify(told));
}

/** Adds the folder `uvicorn`, which is beside the opened one. */
function addFolder() {
  vscode.workspace.updateWorkspaceFolders(1, 0, { uri: vscode.Uri.file(join(beside(), "uvicorn")) });
}

async function invoke(tool, input) {
  try {
    const { content } = await vscode.lm.invokeTool(tool, { input, toolInvocationToken: undefined });
    return { text: content.map(({ value }) => value).join("") };
  } catch (error) {
    return { error: String(error.message) };
  }
}

const MODEL = {
  provideLanguageModelChatInformation: () => [
    {
      id: "probe",
      name: "Probe",
      family: "probe",
      version: "1",
      maxInputTokens: 100_000,
      maxOutputTokens: 1000,
      isUserSelectable: true,
      isDefault: true,
      capabilities: { toolCalling: true },
    },
  ],
  provideTokenCount: () => 1,
  provideLanguageModelChatResponse: async (_model, messages, _options, progress) => {
    const asked = messages.flatMap(({ content }) => content.map(({ value = "" }) => value)).join("");
    progress.report(new vscode.LanguageModelTextPart(`The model was given ${asked.length} characters.`));
  },
};
