/** Names of time zones: undefined, or what Go says about those it cannot find. */

/** DIFFERS: the zones are those this program knows, whatever the case of their letters; kubernetes' are files of its host. */
export function timeZoneError(name: string): string | undefined {
  if (name === "" || name === "UTC" || name === "Local") return undefined;
  if (name.includes("..") || name.startsWith("/") || name.startsWith("\\")) return "time: invalid location name";
  return isZone(name) ? undefined : `unknown time zone ${name}`;
}

function isZone(name: string): boolean {
  // What starts with a sign is an offset and no name.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
