/** RFC 3339, UTC, seconds: the resolution of every time the API sets. */
export function timestampAt(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
