/** Several error sentences as one, as Go's utilerrors.Aggregate joins them: each sentence once. */
export function aggregateText(sentences: Iterable<string>): string {
  const distinct = [...new Set(sentences)];
  return distinct.length === 1 ? distinct.join() : `[${distinct.join(", ")}]`;
}
