/** Writes times as RFC 3339 in UTC with whole seconds, the resolution of every time that the API sets. */
export function timestampAt(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
