// Times and durations for people.

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** `just now`, `5 min ago`, `3 h ago`, `2 days ago`. Both in milliseconds. */
export function ago(then: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - then) / 1000));
  if (seconds < MINUTE_S) return "just now";
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min ago`;
  if (seconds < DAY_S) return `${Math.floor(seconds / HOUR_S)} h ago`;
  const days = Math.floor(seconds / DAY_S);
  return days === 1 ? "yesterday" : `${days} days ago`;
}

/** `8 s`, `2 min`, `1 h 20 min`: rounded up, as remaining times should be. */
export function duration(seconds: number): string {
  if (seconds < MINUTE_S) return `${Math.max(1, Math.ceil(seconds))} s`;
  const minutes = Math.ceil(seconds / MINUTE_S);
  if (minutes < 60) return `${minutes} min`;
  const rest = minutes % 60;
  return rest === 0 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 60)} h ${rest} min`;
}
