// The sidecar's rules for leaving files out, in words for people.

export interface RuleText {
  /** For a list of counts. */
  title: string;
  /** For one file; says where it can be changed. */
  sentence: string;
}

const SECRET = "so it is never read into the index. A line in .sidecarignore that begins with ! lets a file in.";

const RULES: Readonly<Record<string, RuleText>> = {
  indexed: { title: "Indexed", sentence: "Nothing keeps it out." },
  "deny-list": {
    title: "Dependencies, build output and the like",
    sentence: "It is on the built-in list of what is never worth searching.",
  },
  "config-exclude": { title: "Setting “Exclude”", sentence: "The setting “Exclude” names it." },
  "wrong-glob": {
    title: "Wrong glob in “Include” or “Exclude”",
    sentence: "A wrong glob in a setting may mean it, so it is not added.",
  },
  "not-in-config-include": { title: "Setting “Include”", sentence: "The setting “Include” does not name it." },
  "not-in-patterns": {
    title: "Outside the patterns",
    sentence: "The index is limited to patterns that do not name it. “Create Index” indexes the whole workspace.",
  },
  gitignore: {
    title: "Ignored by git",
    sentence: "Git ignores it. The setting “Respect Gitignore” can be turned off.",
  },
  sidecarignore: { title: "A .sidecarignore file", sentence: "A .sidecarignore file names it." },
  "secret-by-name": {
    title: "Named like a secret",
    sentence: `Its name is one that files with secrets have, ${SECRET}`,
  },
  "secret-by-content": { title: "Looks like a secret", sentence: `Something in it looks like a secret, ${SECRET}` },
  binary: { title: "Not text", sentence: "It is not text." },
  "unknown-encoding": { title: "Unknown encoding", sentence: "It is text in an encoding that cannot be told." },
  minified: { title: "Minified", sentence: "It is minified: no person wrote it this way." },
  generated: { title: "Generated", sentence: "It was generated." },
  vendored: { title: "Vendored", sentence: "It is third-party code that was copied in." },
  "too-large": { title: "Too large", sentence: "It is larger than the setting “Max File Size” allows." },
  "too-many-files": { title: "Too many files", sentence: "The setting “Max Files” was reached before it." },
  "symlink-out-of-workspace": { title: "Links to other places", sentence: "It is a link that leaves the folder." },
  symlink: { title: "Links", sentence: "It is a link; its target is indexed under its own path." },
  folder: { title: "Folders", sentence: "It is a folder. The files in it are judged one by one." },
  "not-a-regular-file": { title: "Not regular files", sentence: "It is not a regular file." },
  "no-such-file": { title: "Missing", sentence: "There is no such file." },
  unreadable: { title: "Unreadable", sentence: "It cannot be read." },
  "not-read-now": {
    title: "Could not be read",
    sentence: "It could not be read just now. What is known of it is kept, and sidecar will try again.",
  },
  "too-many-rules": {
    title: "Too many rules",
    sentence: "A file with rules for it is too large to be applied, so it is left out completely.",
  },
  "documentation-not-indexed": { title: "Documentation", sentence: "The setting “Index Docs” is off." },
};

export function ruleText(rule: string): RuleText {
  return RULES[rule] ?? { title: rule, sentence: `Rule: ${rule}.` };
}
