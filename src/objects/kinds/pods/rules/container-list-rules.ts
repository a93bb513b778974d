/** Validation of the container lists of a pod. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  notFoundValue,
  required,
  unsupportedValue,
} from "../../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import {
  containerErrors,
  imageWhitespaceErrors,
  restartPolicyErrors,
  type ContainerContext,
} from "./container-rules.ts";
import { handlersErrors, noHandlersErrors, type HandlerContext } from "./probe-rules.ts";
import { internalValue } from "../../internal-version/internal-value.ts";

type ListContext = ContainerContext & HandlerContext;

const NOT_FOR_EPHEMERAL: readonly string[] = [
  "ports",
  "resources",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
];

export function* containersErrors(spec: JsonObject, field: string, context: ListContext): Generator<FieldError> {
  const containers = objectsAt(spec, "containers");
  if (containers.length === 0) yield required(field);
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const at = `${field}[${index}]`;
    yield* containerErrors(container, at, context);
    const name = stringAt(container, "name");
    if (names.has(name)) yield duplicateValue(`${at}.name`, name);
    names.add(name);
    yield* handlersErrors(container, at, context);
    if (context.gates.isOn("ContainerRestartRules")) yield* restartPolicyErrors(container, at, context);
    else if (container["restartPolicy"] !== undefined)
      yield forbiddenField(`${at}.restartPolicy`, "may not be set for non-init containers");
  }
  yield* hostPortConflicts(containers, field);
}

export function* initContainersErrors(spec: JsonObject, field: string, context: ListContext): Generator<FieldError> {
  const names = new Set(objectsAt(spec, "containers").map((container) => stringAt(container, "name")));
  for (const [index, container] of objectsAt(spec, "initContainers").entries()) {
    const at = `${field}[${index}]`;
    yield* containerErrors(container, at, context);
    yield* initRestartPolicyErrors(container, at, context);
    const name = stringAt(container, "name");
    if (names.has(name)) yield duplicateValue(`${at}.name`, name);
    if (name !== "") names.add(name);
    // As kubernetes: each init container is checked alone, so that the index is always 0.
    yield* hostPortConflicts([container], field);
    const isSidecar = container["restartPolicy"] === "Always";
    yield* isSidecar ? handlersErrors(container, at, context) : noHandlersErrors(container, at);
    yield* initResizeErrors(container, at, { isSidecar, context });
  }
}

function* initRestartPolicyErrors(container: JsonObject, field: string, context: ListContext): Generator<FieldError> {
  const policy = container["restartPolicy"];
  const rules = objectsAt(container, "restartPolicyRules");
  if (policy === undefined) {
    if (rules.length > 0)
      yield required(`${field}.restartPolicy`, "must specify restartPolicy when restart rules are used");
  } else if (!context.gates.isOn("ContainerRestartRules")) {
    if (policy !== "Always") yield unsupportedValue(`${field}.restartPolicy`, policy, ["Always"]);
  } else if (policy !== "Always" || context.gates.isOn("RestartAllContainersOnContainerExits"))
    yield* restartPolicyErrors(container, field, context);
  else if (rules.length > 0)
    yield forbiddenField(
      `${field}.restartPolicyRules`,
      "restartPolicyRules are not allowed for init containers with restart policy Always",
    );
}

function* initResizeErrors(
  container: JsonObject,
  field: string,
  { isSidecar, context }: { isSidecar: boolean; context: ListContext },
): Generator<FieldError> {
  const policies = objectsAt(container, "resizePolicy");
  if (policies.length > 0 && !context.gates.isOn("InPlacePodVerticalScaling"))
    yield invalidValue(
      `${field}.resizePolicy`,
      policies.map((policy) => internalValue(policy, "ContainerResizePolicy", context)),
      "must not be set for init containers",
    );
  if (isSidecar || !context.gates.isOn("InPlacePodVerticalScalingInitContainers")) return;
  for (const [index, policy] of policies.entries())
    if (policy["restartPolicy"] === "RestartContainer")
      yield invalidValue(
        `${field}.resizePolicy[${index}].restartPolicy`,
        "RestartContainer",
        "must not be set to 'RestartContainer' for non-sidecar initContainers",
      );
}

export function* ephemeralContainersErrors(
  spec: JsonObject,
  field: string,
  context: ContainerContext,
): Generator<FieldError> {
  const others = new Set(
    [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")].map((other) => stringAt(other, "name")),
  );
  const names = new Set(others);
  for (const [index, container] of objectsAt(spec, "ephemeralContainers").entries()) {
    const at = `${field}[${index}]`;
    yield* containerErrors(container, at, context);
    yield* imageWhitespaceErrors(container, at);
    const name = stringAt(container, "name");
    if (names.has(name)) yield duplicateValue(`${at}.name`, name);
    names.add(name);
    const target = stringAt(container, "targetContainerName");
    if (target !== "" && !others.has(target)) yield notFoundValue(`${at}.targetContainerName`, target);
    yield* onlyForOthersErrors(container, at);
  }
}

function* onlyForOthersErrors(container: JsonObject, field: string): Generator<FieldError> {
  const why = "cannot be set for an Ephemeral Container";
  for (const member of NOT_FOR_EPHEMERAL)
    if (!isNothing(container[member])) yield forbiddenField(`${field}.${member}`, why);
  for (const [index, mount] of objectsAt(container, "volumeMounts").entries())
    for (const member of ["subPath", "subPathExpr"])
      if (stringAt(mount, member) !== "") yield forbiddenField(`${field}.volumeMounts[${index}].${member}`, why);
}

function isNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === undefined || value === "" || (isJsonObject(value) && Object.keys(value).length === 0);
}

function* hostPortConflicts(containers: readonly JsonObject[], field: string): Generator<FieldError> {
  const taken = new Set<string>();
  for (const [index, container] of containers.entries())
    for (const [at, port] of objectsAt(container, "ports").entries()) {
      const number = numberAt(port, "hostPort") ?? 0;
      const key = `${stringAt(port, "protocol")}/${stringAt(port, "hostIP")}/${number}`;
      if (number !== 0 && taken.has(key)) yield duplicateValue(`${field}[${index}].ports[${at}].hostPort`, key);
      taken.add(key);
    }
}
