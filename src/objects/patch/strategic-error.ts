/** Errors of strategic merge patches, with Kubernetes' messages. */
import type { JsonObject } from "../../meta/json.ts";
import { goStringText, goType, goValueText, type TextOptions } from "../../meta/go-fmt.ts";

const PRINTED: TextOptions = { charactersMax: 8 * 1024 };

/** A part of a patch as messages quote it. */
export function printed(value: unknown): string {
  return goValueText(value, PRINTED);
}

/** How the server reports the error: as a bad request, as unprocessable, or (mostly) as an internal error. */
type StrategicPatchProblem = "bad-request" | "unprocessable" | "internal";

export class StrategicPatchError extends Error {
  override readonly name = "StrategicPatchError";
  readonly problem: StrategicPatchProblem;

  constructor(problem: StrategicPatchProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

export function internal(message: string): StrategicPatchError {
  return new StrategicPatchError("internal", message);
}

export function badFormat(of: "primitive list" | "retainKeys" | "setElementOrder list"): StrategicPatchError {
  return new StrategicPatchError("bad-request", `invalid patch format of ${of}`);
}

export function noListOfLists(): StrategicPatchError {
  return new StrategicPatchError("unprocessable", "lists of lists are not supported");
}

export function noMergeKey(item: JsonObject, mergeKey: string): StrategicPatchError {
  return internal(`map: ${printed(item)} does not contain declared merge key: ${mergeKey}`);
}

export function badArgType(
  expected: "[]interface {}" | "map[string]interface {}",
  actual: unknown,
): StrategicPatchError {
  return internal(`expected a ${expected}, but received a ${actual === null ? "%!s(<nil>)" : goType(actual)}`);
}

export function badPatchType(directive: unknown, map: JsonObject): StrategicPatchError {
  return internal(`unknown patch type: ${goStringText(directive, PRINTED)} in map: ${printed(map)}`);
}
