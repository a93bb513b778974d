/** The text of several errors, as Go's aggregate writes it: a single one as it is, several in brackets. */
export function aggregateMessage(messages: readonly string[]): string {
  const [first, ...others] = messages;
  return first !== undefined && others.length === 0 ? first : `[${messages.join(", ")}]`;
}
