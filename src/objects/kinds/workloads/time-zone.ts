/** Validation of time zone names, with Go's errors. */

/** DIFFERS: the valid zones are those of the JavaScript runtime; kubernetes reads the files of its host. */
export function timeZoneError(name: string): string | undefined {
  if (name === "" || name === "UTC" || name === "Local") return undefined;
  if (name.includes("..") || name.startsWith("/") || name.startsWith("\\")) return "time: invalid location name";
  return isZone(name) ? undefined : `unknown time zone ${name}`;
}

/** Time zones keyed by lowercase name, because `Intl` ignores case, but Go's file names do not. */
const ZONES: ReadonlyMap<string, string> = new Map(
  Intl.supportedValuesOf("timeZone").map((zone) => [zone.toLowerCase(), zone]),
);

/** Abbreviations that only `Intl` accepts. */
const ABBREVIATIONS: ReadonlySet<string> = new Set(
  "ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT IET IST JST MIT NET NST PLT PNT PRT PST SST VST".split(" "),
);

function isZone(name: string): boolean {
  const zone = ZONES.get(name.toLowerCase());
  if (zone !== undefined) return zone === name;
  // `Intl` also accepts offsets, such as +01:00, and other names that are not time zones in Go.
  if (ABBREVIATIONS.has(name) || !name.split("/").every((part) => /^[A-Z]/.test(part))) return false;
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
