/** Defaults and validation of PriorityClasses. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { Kind } from "../kind.ts";

const SYSTEM_PREFIX = "system-";
const USER_PRIORITY_MAX = 1_000_000_000;
const SYSTEM_CRITICAL_PRIORITY = 2 * USER_PRIORITY_MAX;
const SYSTEM_PRIORITIES: ReadonlyMap<string, number> = new Map([
  ["system-node-critical", SYSTEM_CRITICAL_PRIORITY + 1000],
  ["system-cluster-critical", SYSTEM_CRITICAL_PRIORITY],
]);

export function isSystemPriorityClass(name: string): boolean {
  return SYSTEM_PRIORITIES.has(name);
}

export const PRIORITY_CLASS: Kind = {
  setDefaults(priorityClass) {
    priorityClass["value"] ??= 0;
    priorityClass["preemptionPolicy"] ??= "PreemptLowerPriority";
  },
  // As kubernetes: the generation is 1 and does not change.
  prepareCreate(priorityClass) {
    objectAt(priorityClass, "metadata")["generation"] = 1;
  },
  createErrors,
  updateErrors,
};

function* createErrors(priorityClass: JsonObject): Generator<FieldError> {
  const name = stringAt(objectAt(priorityClass, "metadata"), "name");
  if (name.startsWith(SYSTEM_PREFIX)) {
    const why = whyNoSystemClass(priorityClass, name);
    if (why !== undefined)
      yield forbiddenField(
        "metadata.name",
        `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: ${why}`,
      );
  } else if (valueOf(priorityClass) > USER_PRIORITY_MAX) {
    yield forbiddenField("value", `maximum allowed value of a user defined priority is ${USER_PRIORITY_MAX}`);
  }
  const policy = priorityClass["preemptionPolicy"];
  if (policy === "") yield required("preemptionPolicy");
  else if (policy !== "PreemptLowerPriority" && policy !== "Never")
    yield unsupportedValue("preemptionPolicy", policy, ["PreemptLowerPriority", "Never"]);
}

function whyNoSystemClass(priorityClass: JsonObject, name: string): string | undefined {
  const value = SYSTEM_PRIORITIES.get(name);
  if (value === undefined) return `${name} is not a known system priority class`;
  if (value !== valueOf(priorityClass)) return `value of ${name} PriorityClass must be ${value}`;
  return priorityClass["globalDefault"] === true ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

function* updateErrors(priorityClass: JsonObject, existing: JsonObject): Generator<FieldError> {
  if (valueOf(priorityClass) !== valueOf(existing)) yield forbiddenField("value", "may not be changed in an update.");
  const policy = priorityClass["preemptionPolicy"];
  if (policy !== existing["preemptionPolicy"]) yield invalidValue("preemptionPolicy", policy, "field is immutable");
}

function valueOf(priorityClass: JsonObject): number {
  return numberAt(priorityClass, "value") ?? 0;
}
