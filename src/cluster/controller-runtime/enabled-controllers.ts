/**
 * As kube-controller-manager's `--controllers`: "*" means all that are on by default, "name" enables this one, "-name"
 * disables it. A flag may list several, separated by commas, and may be repeated; the first entry that matches a
 * controller decides. A controller without a match is off.
 */
export function enabledControllers(
  flags: readonly string[],
  known: readonly string[],
  offByDefault: ReadonlySet<string> = new Set(),
): ReadonlySet<string> {
  const items = flags.flatMap(itemsOf);
  const unknown = items.find((item) => item !== "*" && !known.includes(item.replace(/^-/, "")));
  if (unknown !== undefined)
    throw new Error(
      `${JSON.stringify(unknown.replace(/^-/, ""))} is not a known controller: use one of ${known.toSorted().join(", ")}`,
    );
  return new Set(known.filter((name) => isEnabled(name, items, offByDefault)));
}

function itemsOf(flag: string): string[] {
  return flag
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function isEnabled(name: string, items: readonly string[], offByDefault: ReadonlySet<string>): boolean {
  const first = items.find((item) => item === name || item === `-${name}`);
  if (first !== undefined) return first === name;
  return items.includes("*") && !offByDefault.has(name);
}
