/** The range of node ports for services. */
import { unaskedFrom, type NumberRange } from "./number-range.ts";

/** Parses "30000-32767" or "30000+2768". Throws an error for any other text. */
export function parsePortRange(text: string): NumberRange {
  const match = /^(\d{1,5})([-+])(\d{1,5})$/.exec(text.trim());
  const first = Number(match?.[1]);
  const last = match?.[2] === "+" ? first + Number(match[3]) - 1 : Number(match?.[3]);
  if (match === null || first < 1 || last > 65_535 || last < first) {
    throw new Error(
      `the service node port range (--service-node-port-range) must look like 30000-32767, not ${JSON.stringify(text)}`,
    );
  }
  const size = last - first + 1;
  return {
    text: `${first}-${last}`,
    size,
    unaskedFrom: unaskedFrom(size, { min: 16, max: 128, step: 32 }),
    nameAt: (index) => String(first + index),
    indexOf: (name) =>
      /^\d{1,5}$/.test(name) && Number(name) >= first && Number(name) <= last ? Number(name) - first : undefined,
  };
}
