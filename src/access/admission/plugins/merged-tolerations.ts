/** Merges two lists of tolerations, and omits each toleration that another one covers. */
import { jsonEquals, numberAt, stringAt, type JsonObject } from "../../../meta/json.ts";

/**
 * DIFFERS: longer lists are only concatenated, because the comparison is quadratic. The result tolerates the same
 * taints.
 */
const COMPARED_MAX = 500;

export function mergedTolerations(first: readonly JsonObject[], second: readonly JsonObject[]): JsonObject[] {
  const all = [...first, ...second];
  if (all.length > COMPARED_MAX) return all;
  const merged: JsonObject[] = [];
  for (const [index, one] of all.entries()) {
    const isRedundant =
      merged.some((other) => includes(other, one)) ||
      all.slice(index + 1).some((other) => !jsonEquals(one, other) && includes(other, one));
    if (!isRedundant) merged.push(one);
  }
  return merged;
}

/** True if `wide` tolerates every taint that `narrow` tolerates. */
function includes(wide: JsonObject, narrow: JsonObject): boolean {
  if (jsonEquals(wide, narrow)) return true;
  const operator = stringAt(wide, "operator");
  const isForAnyKey = stringAt(wide, "key") === "" && operator === "Exists";
  if (stringAt(wide, "key") !== stringAt(narrow, "key") && !isForAnyKey) return false;
  const effect = stringAt(wide, "effect");
  if (effect !== "" && effect !== stringAt(narrow, "effect")) return false;
  if (effect === "NoExecute" && isBriefer(wide, narrow)) return false;
  if (operator === "Exists") return true;
  const isForOneValue = operator === "" || operator === "Equal";
  return isForOneValue && narrow["operator"] === "Equal" && stringAt(wide, "value") === stringAt(narrow, "value");
}

function isBriefer(wide: JsonObject, narrow: JsonObject): boolean {
  const wideSeconds = numberAt(wide, "tolerationSeconds");
  const narrowSeconds = numberAt(narrow, "tolerationSeconds");
  return wideSeconds !== undefined && (narrowSeconds === undefined || narrowSeconds > wideSeconds);
}
