/** Fills a template with values; HTML in values is escaped. */
export function render(template: string, values: Record<string, string>): string {
  return template.replace(/{{(\w+)}}/g, (_, name) => escapeHtml(values[name] ?? ""));
}

export function escapeHtml(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}
