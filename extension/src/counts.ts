// Numbers of things, for people.

/** `12,300`, as the sidecar's own sentences have it, whatever the editor's language. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 file`, `12,300 files`: the only place where a count becomes words. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}
