// Keys as the person's own keyboard names them.
import * as vscode from "vscode";

/**
 * Whether the keyboard may belong to another kind of machine than the one that this runs on. The editor tells no extension
 * which kind: it names no key of a command, and `process.platform` is that of the machine with the files. WSL is always
 * used from Windows, whose keys have the names of Linux's.
 */
export function keyboardIsElsewhere(env: Pick<typeof vscode.env, "remoteName" | "uiKind"> = vscode.env): boolean {
  if (env.uiKind === vscode.UIKind.Web) return true;
  return env.remoteName !== undefined && env.remoteName !== "wsl";
}

/**
 * A key that our texts write as `Ctrl+Enter`, as the keyboard names it; if that is not known, both ways. Where ours is Alt
 * and a letter, it is Ctrl+Cmd on macOS, because Option and a letter types a character there.
 */
export function keyName(
  key: string,
  platform: NodeJS.Platform = process.platform,
  elsewhere: boolean = keyboardIsElsewhere(),
): string {
  const onMac = key.replaceAll("Ctrl", "Cmd").replaceAll("Alt", "Ctrl+Cmd");
  if (elsewhere) return `${key}, on macOS ${onMac}`;
  return platform === "darwin" ? onMac : key;
}
