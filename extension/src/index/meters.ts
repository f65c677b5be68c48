// Numbers with bars beside them, for our pages.
import { grouped } from "../counts";
import { type Html, html } from "../html";

/** Bars are relative to the largest value; the numbers are beside them. */
export function countTable(rows: readonly (readonly [string, number])[], kind: string): Html {
  const most = Math.max(1, ...rows.map(([, count]) => count));
  const sum = Math.max(
    1,
    rows.reduce((total, [, count]) => total + count, 0),
  );
  return html`<table class="${kind}">
    <tbody>
      ${rows.map(
        ([name, count]) =>
          html`<tr>
            <th scope="row">${name}</th>
            <td class="bar">${bar((100 * count) / most, "fill")}</td>
            <td class="number">${grouped(count)}</td>
            <td class="number percent">${shareText(count, sum)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** Nothing that is there has 0 %, and nothing has 100 % that is not all. */
function shareText(count: number, sum: number): string {
  const percent = Math.round((100 * count) / sum);
  if (percent === 0 && count > 0) return "< 1 %";
  return percent === 100 && count < sum ? "> 99 %" : `${percent} %`;
}

/** Drawn by attributes, since the page allows no inline style. */
export function bar(percent: number, look: string): Html {
  const width = Math.max(0, Math.min(100, percent)).toFixed(1);
  return html`<svg class="meter" aria-hidden="true" width="100%" height="6" preserveAspectRatio="none">
    <rect class="track" width="100%" height="6" rx="3"></rect>
    <rect class="${look}" width="${width}%" height="6" rx="3"></rect>
  </svg>`;
}
