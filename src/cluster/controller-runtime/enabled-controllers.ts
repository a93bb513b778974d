/**
 * Parses --controllers as kube-controller-manager does: "*" enables all controllers that are on by default, "name"
 * enables a controller, "-name" disables it. The flag takes a comma-separated list and may be repeated. The first entry
 * that names a controller decides. A controller that no entry names is on only if "*" is listed and the controller is
 * on by default.
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
