// Functions that run inside the editor's page. They are sent there as text, so they use nothing from outside themselves.

interface Recording {
  statusBarTexts?: string[];
}

/** Records every text that the status bar shows, because some are visible only briefly. */
export function recordStatusBar(): void {
  if (window !== window.top) return;
  const texts: string[] = [];
  (window as Recording).statusBarTexts = texts;
  const note = (bar: Element) => {
    for (const item of bar.querySelectorAll(".statusbar-item")) {
      const text = (item.textContent ?? "").replace(/\s+/g, " ");
      if (!texts.includes(text)) texts.push(text);
    }
  };
  const changes = { childList: true, subtree: true, characterData: true };
  const waiting = new MutationObserver(() => {
    const bar = document.querySelector(".part.statusbar");
    if (bar === null) return;
    waiting.disconnect();
    note(bar);
    new MutationObserver(() => note(bar)).observe(bar, changes);
  });
  waiting.observe(document, changes);
}

export function statusBarTexts(): string[] {
  return (window as Recording).statusBarTexts ?? [];
}

export function clearStatusBarTexts(): void {
  (window as Recording).statusBarTexts?.splice(0);
}

/**
 * Presses Enter in the open list if the selected row has this text. Both happen in one task of the page, so the list can
 * neither change nor close in between, which would give Enter another meaning.
 */
export function acceptActiveRow(text: string): boolean {
  const input = document.activeElement;
  const row = document.querySelector(".quick-input-list .monaco-list-row.focused");
  if (input?.closest(".quick-input-widget") === null || row === null) return false;
  if (!(row.textContent ?? "").replace(/\s+/g, " ").includes(text)) return false;
  const enter = {
    key: "Enter",
    code: "Enter",
    keyCode: 13,
    which: 13,
    bubbles: true,
    cancelable: true,
    composed: true,
  };
  input?.dispatchEvent(new KeyboardEvent("keydown", enter));
  return true;
}

/** Settles when the page has been drawn twice, and so shows what has happened before. */
export function drawn(): Promise<void> {
  return new Promise((settle) => requestAnimationFrame(() => requestAnimationFrame(() => settle())));
}

/**
 * Whether every line of these words, which are in one piece of an element's text, is on screen and not covered. False if
 * they are not there.
 */
export function wordsInSight(element: Element, words: string): boolean {
  const pieces = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let piece = pieces.nextNode(); piece !== null; piece = pieces.nextNode()) {
    const at = (piece.textContent ?? "").indexOf(words);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(piece, at);
    range.setEnd(piece, at + words.length);
    return [...range.getClientRects()].every(({ left, width, top, height }) =>
      element.contains(document.elementFromPoint(left + width / 2, top + height / 2)),
    );
  }
  return false;
}
