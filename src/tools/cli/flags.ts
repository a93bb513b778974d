/** Parsers of flag values. An invalid value is reported in one clear sentence. */
import { isIP } from "node:net";
import { InvalidArgumentError, Option } from "commander";
import { parseBoolean } from "../../meta/boolean.ts";
import { parseDurationMs } from "./duration.ts";

export function port(text: string): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || value > 65_535)
    throw new InvalidArgumentError(`${JSON.stringify(text)} is not a port number (0 to 65535).`);
  return value;
}

export function duration(text: string): number {
  const milliseconds = parseDurationMs(text);
  if (milliseconds === undefined)
    throw new InvalidArgumentError(`${JSON.stringify(text)} is not a duration such as 30s, 5m or 1h0m0s.`);
  return milliseconds;
}

export function count(text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text))
    throw new InvalidArgumentError(`${JSON.stringify(text)} is not a number greater than zero.`);
  return Number(text);
}

export function countOrZero(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text))
    throw new InvalidArgumentError(`${JSON.stringify(text)} is not a number, zero or greater.`);
  return Number(text);
}

export function probability(text: string): number {
  if (!/^(0|1)?(\.[0-9]{1,9})?$/.test(text) || text === "")
    throw new InvalidArgumentError(`${JSON.stringify(text)} is not a number such as 0.001.`);
  return Number(text);
}

export function address(text: string): string {
  if (isIP(text) === 0) throw new InvalidArgumentError(`${JSON.stringify(text)} is not an IP address.`);
  return text;
}

/** Parses a flag that may be repeated, and whose values are comma-separated lists. */
export function commaList(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), ...text.split(",").filter((item) => item !== "")];
}

/** A flag that accepts --flag, --flag=true and --flag=false. */
export function booleanOption(flag: string, description: string): Option {
  return new Option(`${flag} [boolean]`, description).argParser(boolean);
}

function boolean(text: string): boolean {
  const value = parseBoolean(text);
  if (value === undefined) throw new InvalidArgumentError(`${JSON.stringify(text)} is not true or false.`);
  return value;
}
