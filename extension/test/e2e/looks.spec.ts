// The look in each kind of theme and in narrow windows, and the texts for screen readers.
import type { Locator } from "@playwright/test";
import { expect, test, type Window } from "./test";

const QUESTION = "compress the response body";
const THEMES = ["Dark Modern", "Light Modern", "Dark High Contrast", "Light High Contrast"];

test.afterEach(async ({ window }) => {
  await window.page.setViewportSize({ width: 1280, height: 850 });
  await window.theme("Dark Modern");
});

/** Returns the difference between the brightest and the darkest point of a part of the screen, 0 to 255. */
async function contrast(window: Window, part: Locator): Promise<number> {
  const picture = (await part.screenshot()).toString("base64");
  return window.page.evaluate(async (encoded) => {
    const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    if (canvas === null) throw new Error("this browser cannot draw");
    canvas.drawImage(image, 0, 0);
    const { data } = canvas.getImageData(0, 0, image.width, image.height);
    const bright = [];
    for (let at = 0; at < data.length; at += 4)
      bright.push(0.3 * (data[at] ?? 0) + 0.6 * (data[at + 1] ?? 0) + 0.1 * (data[at + 2] ?? 0));
    return Math.max(...bright) - Math.min(...bright);
  }, picture);
}

for (const theme of THEMES)
  test(`the tab's icon and the lines of a previewed hit can be seen in ${theme}`, async ({ window }) => {
    await window.theme(theme);
    await window.command("Sidecar: Show Index Status");
    const tab = window.page.locator(".tabs-container .tab.active");
    await expect(tab).toContainText("Sidecar Index");
    const icon = tab.locator(".monaco-icon-label-iconpath");
    await expect.poll(() => contrast(window, icon)).toBeGreaterThan(90);
    await window.command("View: Close All Editors");

    await window.openFile("starlette/config.py");
    await window.search(QUESTION);
    await window.page.keyboard.press("ArrowDown");
    const { file } = await window.placeOf(1);
    await expect(window.tab(file)).toHaveAttribute("aria-selected", "true");
    const marked = window.page.locator(".part.editor .view-overlays div[class*='ced-']").first();
    await expect(marked).toBeAttached();
    const [filled, border] = await marked.evaluate((element) => {
      const { backgroundColor, borderTopColor, borderTopWidth } = getComputedStyle(element);
      return [backgroundColor, borderTopWidth === "0px" ? "rgba(0, 0, 0, 0)" : borderTopColor];
    });
    const seen = [filled, border].filter((color) => color !== undefined && !/, 0\)$/.test(color));
    expect(seen).not.toEqual([]);
    await window.picture(`preview-${theme.toLowerCase().replaceAll(" ", "-")}`);
  });

test("the status page fits into 320 pixels: nothing is clipped and nothing scrolls sideways", async ({ window }) => {
  await window.command("Sidecar: Show Index Status");
  const page = window.webview();
  await expect(page.getByText("ready", { exact: true })).toBeVisible();
  await window.command("View: Close Primary Side Bar");
  const body = page.locator("body");
  const width = () => body.evaluate(() => innerWidth);
  const around = (await window.page.evaluate(() => innerWidth)) - (await width());
  await window.page.setViewportSize({ width: 320 + around, height: 850 });
  await expect.poll(width).toBeLessThanOrEqual(330);
  await window.picture("status-page-narrow");
  expect(await body.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  const clipped = await page
    .locator(".card, .card *, th, td, h1, .button")
    .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0).length);
  expect(clipped).toBe(0);
});

test("in a side bar of 200 pixels the words that matched are in sight", async ({ window }) => {
  await window.keep(QUESTION);
  const sash = window.page.locator(".monaco-sash.vertical").filter({ visible: true });
  const side = window.page.locator(".part.sidebar");
  const edge = await side.evaluate((element) => element.getBoundingClientRect().right);
  const boxes = await sash.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().left + 2));
  expect(boxes.some((x) => Math.abs(x - edge) < 6)).toBe(true);
  await window.page.mouse.move(edge, 300);
  await window.page.mouse.down();
  const left = await side.evaluate((element) => element.getBoundingClientRect().left);
  await window.page.mouse.move(left + 200, 300, { steps: 5 });
  await window.page.mouse.up();
  await expect.poll(() => side.evaluate((element) => element.clientWidth)).toBeLessThanOrEqual(210);
  await window.picture("results-narrow");
  const rows = window.page.locator(".part.sidebar").getByRole("treeitem", { name: /score \d/ });
  await expect(rows.first().locator(".highlight").first()).toBeVisible();
  const inSight = await rows.evaluateAll((all) =>
    all
      .map((row) => row.querySelector(".highlight"))
      .filter((mark) => mark !== null)
      .map((mark) => {
        const end = mark.closest(".part")?.getBoundingClientRect().right ?? 0;
        return mark.getBoundingClientRect().left + 12 < end;
      }),
  );
  expect(inSight.length).toBeGreaterThan(2);
  expect(inSight.every((seen) => seen)).toBe(true);
  await window.page.mouse.move(left + 200, 300);
  await window.page.mouse.down();
  await window.page.mouse.move(left + 320, 300, { steps: 5 });
  await window.page.mouse.up();
});
