// Results in an editor: an unsaved text with find, folding, copying, and links to the hits.
import * as vscode from "vscode";
import { titleOf } from "../search/find";
import { several } from "../search/place";
import { countText } from "../search/row";
import { oneLine, quoted } from "../shown";
import type { PlacedHit } from "../sidecar";
import type { VirtualTexts } from "../virtualText";
import type { Kept } from "./shelf";
import { LANGUAGE, textOfHits } from "./text";

/** The hits may be a part of the kept ones. */
export async function showAsEditor(
  texts: VirtualTexts,
  { asked, found }: Kept,
  hits: readonly PlacedHit[],
): Promise<void> {
  const heading = `${titleOf(asked)}: ${countText(hits.length)}`;
  const name = `Results for ${quoted(oneLine(asked.query)).replace(/[/?#%]/g, " ")}`;
  const uri = texts.keep(name, textOfHits(heading, found.notice, hits, several()));
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document, { preview: false });
  // An editor without its own search results shows plain text.
  if ((await vscode.languages.getLanguages()).includes(LANGUAGE))
    await vscode.languages.setTextDocumentLanguage(document, LANGUAGE);
}
