// The values with which a palette is opened, and what it needs from its surroundings.
import type { Shelf } from "../results/shelf";
import type { Sidecar } from "../sidecar";
import type { Asked, Found, Spot, Subject } from "./find";
import type { ModeId } from "./modes";

export interface Opening {
  subject: Subject;
  title: string;
  placeholder: string;
  query: string;
  /** The query is a beginning, to which the person adds; otherwise it is selected. */
  begun?: boolean;
  spot?: Spot;
  mode: ModeId;
}

export interface Surroundings {
  sidecar: Sidecar;
  shelf: Shelf;
  remember: (mode: ModeId) => void;
  keep: (asked: Asked, found: Found) => void;
  showAsEditor: (asked: Asked, found: Found) => Promise<void>;
  typed: (typed: string) => void;
  closed: () => void;
  /** Settles when the editor has reported everything that happened before this call. */
  heard: () => Promise<void>;
}
