/** Names of time zones: undefined, or what Go says about those it cannot find. */

/** DIFFERS: the zones are those this program knows; kubernetes' are files of its host. */
export function timeZoneError(name: string): string | undefined {
  if (name === "" || name === "UTC" || name === "Local") return undefined;
  if (name.includes("..") || name.startsWith("/") || name.startsWith("\\")) return "time: invalid location name";
  return isZone(name) ? undefined : `unknown time zone ${name}`;
}

/** By their names in small letters: whoever formats times does not care about case, files do. */
const ZONES: ReadonlyMap<string, string> = new Map(
  Intl.supportedValuesOf("timeZone").map((zone) => [zone.toLowerCase(), zone]),
);

/** Abbreviations that only formatters of times know. */
const ABBREVIATIONS: ReadonlySet<string> = new Set(
  "ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT IET IST JST MIT NET NST PLT PNT PRT PST SST VST".split(" "),
);

function isZone(name: string): boolean {
  const zone = ZONES.get(name.toLowerCase());
  if (zone !== undefined) return zone === name;
  // What starts with a sign is an offset and no name.
  if (ABBREVIATIONS.has(name) || !name.split("/").every((part) => /^[A-Z]/.test(part))) return false;
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
