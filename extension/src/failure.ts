// The failure of a tool: a code by which programs distinguish failures, and a sentence for the person.

export class Failure extends Error {
  /**
   * `code` is the sidecar's (`INDEX_NOT_FOUND`, ...), or `NOT_RUNNING`, `NOT_TRUSTED`, `NO_FOLDER`; `message` is all that
   * somebody is told: what went wrong, with what, and what to do.
   */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = "Failure";
  }
}

interface ErrorData {
  code?: unknown;
  userMessage?: unknown;
  detail?: unknown;
}

const CANCELLED_NUMBER = -32800;

/** Any error of a request, as a `Failure`. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { message, code, data } = error as { message?: unknown; code?: unknown; data?: ErrorData };
  const facts = data ?? {};
  const known = typeof facts.code === "string" ? facts.code : code === CANCELLED_NUMBER ? "CANCELLED" : "INTERNAL";
  const said = [facts.userMessage, message, String(error)].find((text) => typeof text === "string" && text !== "");
  const detail = typeof facts.detail === "string" ? facts.detail : "";
  return new Failure(known, withDetail(said as string, detail));
}

/** The specification fixes the sentence of a code, so a path or a limit is only in the detail. */
function withDetail(sentence: string, detail: string): string {
  return detail === "" || sentence.includes(detail) ? sentence : `${sentence} ${detail}`;
}
