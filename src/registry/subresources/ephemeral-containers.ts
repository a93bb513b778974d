/** Containers added to a running pod to look into it: they can only be added. */
import { isJsonObject, jsonEquals, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { CauseReason, FieldError } from "../../meta/status-error.ts";
import { forbiddenField, required } from "../../meta/field-errors.ts";
import type { SubresourceDoor } from "./door-update.ts";

const FIELD = "spec.ephemeralContainers";
const MIRROR_POD = "kubernetes.io/config.mirror";
const NOT_FOR_EPHEMERAL: readonly string[] = [
  "ports",
  "resources",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
  "restartPolicy",
  "resizePolicy",
];
/** Not among the reasons that other rules use. */
const NOT_FOUND = "FieldValueNotFound" satisfies CauseReason;

export const EPHEMERAL_CONTAINERS_DOOR: SubresourceDoor = {
  subresource: "ephemeralcontainers",
  isTimed: true,
  pass(wish, existing) {
    const { ephemeralContainers: _before, ...spec } = objectAt(existing, "spec");
    const { ephemeralContainers } = objectAt(wish, "spec");
    return { ...existing, spec: ephemeralContainers === undefined ? spec : { ...spec, ephemeralContainers } };
  },
  errors(pod, existing) {
    if (objectAt(objectAt(existing, "metadata"), "annotations")[MIRROR_POD] !== undefined) {
      return [forbiddenField("", "static pods do not support ephemeral containers")];
    }
    return [
      ...containerErrors(pod),
      ...changeErrors(containersAt(pod, "ephemeralContainers"), containersAt(existing, "ephemeralContainers")),
    ];
  },
};

export function containersAt(
  pod: JsonObject,
  field: "containers" | "initContainers" | "ephemeralContainers",
): JsonObject[] {
  const value = objectAt(pod, "spec")[field];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function containerErrors(pod: JsonObject): FieldError[] {
  const others = new Set(
    [...containersAt(pod, "containers"), ...containersAt(pod, "initContainers")].map((container) =>
      stringAt(container, "name"),
    ),
  );
  const names = new Set(others);
  return containersAt(pod, "ephemeralContainers").flatMap((container, index) => {
    const field = `${FIELD}[${index}]`;
    const name = stringAt(container, "name");
    const errors = oneContainerErrors(container, field, others);
    if (names.has(name))
      errors.push({
        field: `${field}.name`,
        reason: "FieldValueDuplicate",
        message: `Duplicate value: ${JSON.stringify(name)}`,
      });
    names.add(name);
    return errors;
  });
}

function oneContainerErrors(container: JsonObject, field: string, others: ReadonlySet<string>): FieldError[] {
  const errors: FieldError[] = [];
  if (stringAt(container, "name") === "") errors.push(required(`${field}.name`));
  if (stringAt(container, "image") === "") errors.push(required(`${field}.image`));
  const target = stringAt(container, "targetContainerName");
  if (target !== "" && !others.has(target)) {
    errors.push({
      field: `${field}.targetContainerName`,
      reason: NOT_FOUND,
      message: `Not found: ${JSON.stringify(target)}`,
    });
  }
  for (const member of NOT_FOR_EPHEMERAL) {
    if (!isEmpty(container[member]))
      errors.push(forbiddenField(`${field}.${member}`, "cannot be set for an Ephemeral Container"));
  }
  return errors;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** The order does not matter: patches do not keep it. */
function changeErrors(next: readonly JsonObject[], before: readonly JsonObject[]): FieldError[] {
  return before.flatMap((container) => {
    const name = stringAt(container, "name");
    const found = next.find((candidate) => stringAt(candidate, "name") === name);
    if (found === undefined)
      return [forbiddenField(FIELD, `existing ephemeral containers ${JSON.stringify(name)} may not be removed\n`)];
    return jsonEquals(found, container)
      ? []
      : [forbiddenField(FIELD, `existing ephemeral containers ${JSON.stringify(name)} may not be changed\n`)];
  });
}
