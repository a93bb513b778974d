/** A list of names for a message that must stay short, however many servers or objects there are: "a, b and 3 more". */
export function someOf(names: readonly string[], max: number): string {
  const shown = names.slice(0, max).join(", ");
  return names.length > max ? `${shown} and ${names.length - max} more` : shown;
}
