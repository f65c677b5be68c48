// The Python that is selected for this folder, if the Python extension is installed and answers in time.
import * as vscode from "vscode";

interface PythonApi {
  environments?: {
    getActiveEnvironmentPath: (resource?: vscode.Uri) => { path: string };
    resolveEnvironment: (path: { path: string }) => Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

const WAIT_MS = 5000;

export async function selectedPython(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (extension === undefined) return undefined;
  const late = new Promise<undefined>((settle) => setTimeout(() => settle(undefined), WAIT_MS));
  return Promise.race([resolve(extension), late]).catch(() => undefined);
}

async function resolve(extension: vscode.Extension<PythonApi>): Promise<string | undefined> {
  const { environments } = await extension.activate();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const found = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
  return found?.executable.uri?.fsPath;
}
