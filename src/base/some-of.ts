/** Lists names in a message that must stay short, even if there are many servers or objects: "a, b and 3 more". */
export function someOf(names: readonly string[], max: number): string {
  const shown = names.slice(0, max).join(", ");
  return names.length > max ? `${shown} and ${names.length - max} more` : shown;
}
