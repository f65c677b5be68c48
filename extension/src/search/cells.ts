// Which cell of a notebook a passage is from. A hit has the lines of the file, which an open notebook does not.

/** The index of the cell with this text; else of the one with its first line; undefined if no cell has it. */
export function cellOf(cells: readonly string[], passage: string): number | undefined {
  const whole = passage.trim();
  const [first = ""] = whole.split("\n");
  if (first === "") return undefined;
  const having = (text: string) => cells.findIndex((cell) => cell.replaceAll("\r\n", "\n").includes(text));
  return [having(whole), having(first)].find((at) => at >= 0);
}
