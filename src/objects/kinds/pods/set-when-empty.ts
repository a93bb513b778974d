/** Defaults of members that are no pointers in Go: there, empty and absent are the same. */
import type { JsonObject } from "../../../meta/json.ts";

export function setWhenEmpty(parent: JsonObject, key: string, value: string | number): void {
  const given = parent[key];
  if (given === undefined || given === "" || given === 0) parent[key] = value;
}
