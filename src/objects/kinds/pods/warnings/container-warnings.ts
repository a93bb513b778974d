/** Warnings about valid, but probably unintended, container settings. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { isWholeAmount } from "../../../../meta/quantity.ts";
import { SECCOMP_CONTAINER } from "../rules/annotation-rules.ts";
import { containersWithFields } from "../rules/container-visit.ts";

export function* containerWarnings(
  spec: JsonObject,
  { at, annotations, annotationsAt }: { at: string; annotations: JsonObject; annotationsAt: string },
): Generator<string> {
  for (const { container, field } of containersWithFields(spec, at)) {
    const key = SECCOMP_CONTAINER + stringAt(container, "name");
    const hasField = isJsonObject(objectAt(container, "securityContext")["seccompProfile"]);
    if (!hasField && annotations[key] !== undefined)
      yield `${annotationsAt}[${key}]: non-functional in v1.27+; use the "seccompProfile" field instead`;
    const resources = objectAt(container, "resources");
    for (const name of ["memory", "ephemeral-storage"])
      for (const amounts of ["limits", "requests"])
        yield* fractionalWarnings(objectAt(resources, amounts), `${field}.resources.${amounts}`, [name]);
    yield* hiddenVariableWarnings(container, field);
  }
}

/** Warns about fractional amounts of bytes. */
export function* fractionalWarnings(list: JsonObject, field: string, names: readonly string[]): Generator<string> {
  for (const name of names) {
    const amount = list[name];
    if (amount !== undefined && !isWholeAmount(amount))
      yield `${field}[${name}]: fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`;
  }
}

/** Warns about duplicate environment variables. A duplicate is intended if its value refers to the earlier variable. */
function* hiddenVariableWarnings(container: JsonObject, field: string): Generator<string> {
  const seen = new Set<string>();
  for (const [index, variable] of objectsAt(container, "env").entries()) {
    const name = stringAt(variable, "name");
    const value = stringAt(variable, "value");
    const reference = `$(${name})`;
    const isBuiltUpon = variable["valueFrom"] === undefined && value !== reference && value.includes(reference);
    if (seen.has(name) && !isBuiltUpon)
      yield `${field}.env[${index}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`;
    seen.add(name);
  }
}
