/** Parses a duration as Go formats it: "1h0m0s", "500ms", "0". Undefined if the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  if (text === "0") return 0;
  const parts = [...text.matchAll(/([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) return undefined;
  const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
  return parts.reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (units[unit] ?? 0), 0);
}
