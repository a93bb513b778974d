/** Joins several error messages as Go's utilerrors.Aggregate does: each distinct message once. */
export function aggregateText(sentences: Iterable<string>): string {
  const distinct = [...new Set(sentences)];
  return distinct.length === 1 ? distinct.join() : `[${distinct.join(", ")}]`;
}
