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

export const workspace = {};
export const window = {};
export const commands = {};
export const UIKind = { Desktop: 1, Web: 2 };
export const env = { remoteName: undefined, uiKind: UIKind.Desktop };

export class ThemeIcon {
  static readonly File = new ThemeIcon("file");
  constructor(readonly id: string) {}
}

export const QuickPickItemKind = { Separator: -1 };
