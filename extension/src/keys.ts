// Keys as the person's own keyboard names them.

/** What is written as `Ctrl+Enter` in a text of ours, for this platform. */
export function keyName(key: string, platform: NodeJS.Platform = process.platform): string {
  return platform === "darwin" ? key.replaceAll("Ctrl", "Cmd").replaceAll("Alt", "Option") : key;
}
