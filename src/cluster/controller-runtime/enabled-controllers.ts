/**
 * Parses --controllers as kube-controller-manager does: "*" enables all controllers that are on by default, "name"
 * enables a controller, "-name" disables it. The flag takes a comma-separated list and may be repeated. The first entry
 * that names a controller decides. A controller that no entry names is on only if "*" or "auto" is listed and the
 * controller is on by default.
 */
export function enabledControllers(
  flags: readonly string[],
  known: readonly string[],
  offByDefault: ReadonlySet<string> = new Set(),
): ReadonlySet<string> {
  const items = flags.flatMap(itemsOf);
  const unknown = items.find((item) => !ALL.has(item) && !known.includes(item.replace(/^-/, "")));
  if (unknown !== undefined)
    throw new Error(
      `${JSON.stringify(unknown.replace(/^-/, ""))} is not a known controller: use one of ${known.toSorted().join(", ")}`,
    );
  return new Set(known.filter((name) => isEnabled(name, items, offByDefault)));
}

/**
 * The enabled controllers that stand back while another program runs them: with "auto", those that no entry names. A
 * controller that is named, or enabled by "*" alone, always runs. `others` are the controllers of the other program.
 */
export function standingBack(
  flags: readonly string[],
  others: readonly string[],
  enabled: ReadonlySet<string>,
): ReadonlySet<string> {
  const items = flags.flatMap(itemsOf);
  if (!items.includes(AUTO)) return new Set();
  return new Set(others.filter((name) => enabled.has(name) && !items.includes(name)));
}

const AUTO = "auto";
const ALL: ReadonlySet<string> = new Set(["*", AUTO]);

function itemsOf(flag: string): string[] {
  return flag
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function isEnabled(name: string, items: readonly string[], offByDefault: ReadonlySet<string>): boolean {
  const first = items.find((item) => item === name || item === `-${name}`);
  if (first !== undefined) return first === name;
  return items.some((item) => ALL.has(item)) && !offByDefault.has(name);
}
