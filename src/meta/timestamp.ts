/** Writes times as RFC 3339 in UTC with whole seconds, as Kubernetes' metav1.Time. */
export function timestampAt(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** Writes times with microseconds, as Kubernetes' metav1.MicroTime. */
export function microTimestampAt(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}
