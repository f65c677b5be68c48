// The document around a page of ours: a strict policy, its style, and the one script that puts new content in.
import { Html, html } from "../html";

/** `nonce` is new for every page; only scripts and styles with it are accepted. */
export function documentOf(title: string, nonce: string, content: string): string {
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <style nonce="${nonce}">
          ${new Html(STYLE)}
        </style>
      </head>
      <body>
        <main id="content">${new Html(content)}</main>
        <script nonce="${nonce}">
          ${new Html(SCRIPT)};
        </script>
      </body>
    </html>`.text;
}

/** The focus returns to the element with the same `data-key`. */
const SCRIPT = `
  addEventListener("message", ({ data }) => {
    if (typeof data !== "string") return;
    const key = document.activeElement?.dataset?.key;
    const content = document.getElementById("content");
    content.innerHTML = data;
    if (key !== undefined) content.querySelector('[data-key="' + CSS.escape(key) + '"]')?.focus();
  });
`;

const STYLE = `
  body { padding: 0 32px 32px; max-width: 1080px; line-height: 1.5; font-size: var(--vscode-font-size); color: var(--vscode-foreground); }
  h1 { font-size: 1.7em; font-weight: 600; margin: 0; display: flex; align-items: center; gap: 12px; flex-wrap: wrap; }
  h2 { font-size: 1em; font-weight: 600; margin: 0 0 8px; }
  p { margin: 0; }
  a { color: var(--vscode-textLink-foreground); text-decoration: none; }
  a:hover { color: var(--vscode-textLink-activeForeground); text-decoration: underline; }
  a:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 2px; }
  header { display: flex; justify-content: space-between; align-items: flex-start; gap: 24px; flex-wrap: wrap; padding: 28px 0 20px; }
  nav { display: flex; gap: 8px; flex-wrap: wrap; padding-top: 4px; }
  .lead { margin-top: 6px; color: var(--vscode-descriptionForeground); max-width: 62ch; }
  .badge { font-size: 0.5em; font-weight: 600; padding: 3px 10px; border-radius: 10px; border: 1px solid currentColor; line-height: 1.4; }
  .good { color: var(--vscode-charts-green); }
  .warn { color: var(--vscode-charts-yellow); }
  .bad { color: var(--vscode-charts-red); }
  .busy { color: var(--vscode-charts-blue); }
  .quiet { color: var(--vscode-descriptionForeground); }
  .button { padding: 5px 13px; border-radius: 3px; color: var(--vscode-button-secondaryForeground); background: var(--vscode-button-secondaryBackground); border: 1px solid var(--vscode-button-border, var(--vscode-contrastBorder, transparent)); }
  .button:hover { color: var(--vscode-button-secondaryForeground); background: var(--vscode-button-secondaryHoverBackground); text-decoration: none; }
  .button.primary { color: var(--vscode-button-foreground); background: var(--vscode-button-background); }
  .button.primary:hover { color: var(--vscode-button-foreground); background: var(--vscode-button-hoverBackground); }
  .progress { padding-bottom: 20px; }
  .progress p { margin-top: 6px; }
  .cards { display: grid; grid-template-columns: repeat(3, 1fr); gap: 12px; margin-bottom: 32px; }
  @media (max-width: 560px) { body { padding: 0 16px 16px; } .cards { grid-template-columns: repeat(auto-fill, minmax(min(100%, 120px), 1fr)); } }
  .card { padding: 14px 16px; border-radius: 6px; background: var(--vscode-editorWidget-background); border: 1px solid var(--vscode-widget-border, var(--vscode-contrastBorder, transparent)); }
  .card h2 { font-weight: 400; color: var(--vscode-descriptionForeground); margin-bottom: 2px; }
  .value { font-size: 1.5em; font-weight: 600; overflow-wrap: anywhere; line-height: 1.3; }
  .note, .nothing { color: var(--vscode-descriptionForeground); font-size: 0.92em; }
  .columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 360px), 1fr)); gap: 0 40px; }
  .columns section { margin-bottom: 28px; }
  .columns section > .note { margin-bottom: 8px; }
  table { width: 100%; border-collapse: collapse; }
  th { overflow-wrap: anywhere; font-weight: 400; text-align: left; padding: 3px 12px 3px 0; width: 38%; }
  .rule th { width: 52%; }
  td { padding: 3px 0; }
  .number { text-align: right; padding-left: 12px; white-space: nowrap; font-variant-numeric: tabular-nums; }
  .percent { color: var(--vscode-descriptionForeground); min-width: 3.5em; }
  .meter { display: block; }
  .track { fill: var(--vscode-editorWidget-border, var(--vscode-contrastBorder, transparent)); opacity: 0.45; }
  .fill { fill: var(--vscode-charts-blue); }
  .rule .fill { fill: var(--vscode-charts-purple); }
  .paths { list-style: none; margin: 0; padding: 0; }
  .paths li { padding: 4px 0; }
  .paths a { font-family: var(--vscode-editor-font-family); font-size: 0.95em; overflow-wrap: anywhere; }
  .paths .note { display: block; }
  footer { border-top: 1px solid var(--vscode-widget-border, var(--vscode-contrastBorder, transparent)); padding-top: 12px; color: var(--vscode-descriptionForeground); font-size: 0.92em; }
  code { font-family: var(--vscode-editor-font-family); overflow-wrap: anywhere; color: inherit; background: none; }
`;
