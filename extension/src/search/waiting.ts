// A question that is asked before the sidecar runs: what is said until it is answered.
import { withToken } from "../cancellation";
import type { Sidecar } from "../sidecar";
import { type Advice, adviceWhileStarting } from "./advice";
import { find, type Asked, type Found } from "./find";

interface Starting extends Pick<Sidecar, "state" | "step"> {
  onDidChangeState(listener: () => void): { dispose(): void };
}

/** Like `find`; says so while the sidecar is starting. */
export function findOrTell(
  sidecar: Sidecar,
  asked: Asked,
  signal: AbortSignal,
  tell: (advice: Advice) => void,
): Promise<Found> {
  const work = (): Promise<Found> => withToken(signal, (token) => find(sidecar, asked, token));
  return whileStarting(sidecar, signal, tell, work);
}

/** Does `work`. While the sidecar is starting, says so, and again at each step of its set-up. */
export async function whileStarting<T>(
  sidecar: Starting,
  signal: AbortSignal,
  tell: (advice: Advice) => void,
  work: () => Promise<T>,
): Promise<T> {
  const tellIfStarting = (): void => {
    if (sidecar.state === "starting" && !signal.aborted) tell(adviceWhileStarting(sidecar.step));
  };
  const listener = sidecar.onDidChangeState(tellIfStarting);
  tellIfStarting();
  try {
    return await work();
  } finally {
    listener.dispose();
  }
}
