// As much of the editor as the unit tests touch.

export class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => void>();
  readonly event = (listener: (value: T) => void) => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };
  fire(value: T): void {
    for (const listener of this.listeners) listener(value);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class CancellationTokenSource {
  readonly token = { isCancellationRequested: false };
  cancel(): void {
    this.token.isCancellationRequested = true;
  }
  dispose(): void {
    // Nothing is held.
  }
}

interface Folder {
  name: string;
  uri: { scheme: string; fsPath: string; toString: () => string };
}

export const Uri = {
  joinPath: ({ fsPath }: { fsPath: string }, ...parts: string[]) => ({ fsPath: [fsPath, ...parts].join("/") }),
};

export class RelativePattern {
  constructor(
    readonly base: unknown,
    readonly pattern: string,
  ) {}
}

const nothing = () => new EventEmitter<unknown>().event(() => undefined);

export const workspace = {
  workspaceFolders: undefined as Folder[] | undefined,
  onDidChangeWorkspaceFolders: nothing,
  createFileSystemWatcher: () => ({
    onDidCreate: nothing,
    onDidChange: nothing,
    onDidDelete: nothing,
    dispose: () => undefined,
  }),
};

/** Every message is noted, and closed without an answer. */
export const window = {
  messages: [] as { text: string; detail: string }[],
  showInformationMessage(text: string, options?: string | { detail?: string }): Promise<undefined> {
    const detail = typeof options === "object" ? (options.detail ?? "") : "";
    window.messages.push({ text, detail });
    return Promise.resolve(undefined);
  },
};

export const commands = {
  contexts: new Map<unknown, unknown>(),
  registered: new Map<string, (...given: unknown[]) => Promise<void>>(),
  registerCommand(name: string, run: (...given: unknown[]) => Promise<void>) {
    commands.registered.set(name, run);
    return { dispose: () => commands.registered.delete(name) };
  },
  executeCommand(name: string, ...given: unknown[]): Promise<void> {
    if (name === "setContext") commands.contexts.set(given[0], given[1]);
    return Promise.resolve();
  },
};

export const UIKind = { Desktop: 1, Web: 2 };
export const env = { remoteName: undefined, uiKind: UIKind.Desktop };

export class ThemeIcon {
  static readonly File = new ThemeIcon("file");
  constructor(readonly id: string) {}
}

export const QuickPickItemKind = { Separator: -1 };
