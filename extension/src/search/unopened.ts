// A hit whose file cannot be opened any more: what is told in place of the editor's own error.
import * as vscode from "vscode";
import { asFailure } from "../failure";
import { type Sentence, fromSidecar, place, said } from "../shown";
import type { PlacedHit } from "../sidecar";
import { tell } from "../tell";
import { several, uriOf } from "./place";
import { pathOf } from "./row";

type Opened = Pick<PlacedHit, "path" | "workspace">;

/** Runs `open`, which opens a hit. If that fails, says why and what to do. */
export async function openOrTell(hit: Opened, open: () => PromiseLike<void>): Promise<void> {
  try {
    await open();
  } catch (error) {
    void tell.error(whyNotOpened(pathOf(hit, several()), await isThere(uriOf(hit)), error));
  }
}

export function whyNotOpened(path: string, isThere: boolean, error: unknown): Sentence {
  if (!isThere)
    return said`Sidecar: ${place(path)} is no longer there. It was deleted, moved or renamed after this search: search again.`;
  return said`Sidecar: ${place(path)} cannot be opened. ${fromSidecar(asFailure(error).message)}`;
}

async function isThere(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}
