// Keys as the person's own keyboard names them.

/** A key that our texts write as `Ctrl+Enter`, as this platform names it. */
export function keyName(key: string, platform: NodeJS.Platform = process.platform): string {
  return platform === "darwin" ? key.replaceAll("Ctrl", "Cmd").replaceAll("Alt", "Option") : key;
}
