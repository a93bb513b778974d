/** Validation of a container: a regular, init or ephemeral container. */
import { duplicateValue, invalidValue, required, tooMany, unsupportedValue } from "../../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { enumErrors, nameErrors, portNumberErrors } from "../../checks.ts";
import { envErrors } from "./env-rules.ts";
import { dnsLabelFieldErrors } from "./formats.ts";
import { mountErrors, type Volumes } from "./mount-rules.ts";
import { containerResourcesErrors } from "./resource-rules.ts";
import { containerSecurityErrors } from "./security-rules.ts";
import type { SpecContext } from "./spec-context.ts";
import { portNameErrors } from "../../core/name-checks.ts";

const TERMINATION_POLICIES: readonly string[] = ["File", "FallbackToLogsOnError"];
const PROTOCOLS: readonly string[] = ["SCTP", "TCP", "UDP"];
const PULL_POLICIES: readonly string[] = ["Always", "IfNotPresent", "Never"];
const RESIZED: readonly string[] = ["cpu", "memory"];
const RESIZE_POLICIES: readonly string[] = ["NotRequired", "RestartContainer"];
const RESTART_POLICIES: readonly string[] = ["Always", "Never", "OnFailure"];
const OPERATORS: readonly string[] = ["In", "NotIn"];
const RULES_MAX = 20;
const EXIT_CODES_MAX = 255;

/** Values that all containers of one pod share. */
export interface ContainerContext extends SpecContext {
  readonly volumes: Volumes;
  readonly claimNames: ReadonlySet<string>;
  readonly restartPolicy: string;
  readonly hasHostUsers: boolean;
}

export function* containerErrors(
  container: JsonObject,
  field: string,
  context: ContainerContext,
): Generator<FieldError> {
  const name = stringAt(container, "name");
  if (name === "") yield required(`${field}.name`);
  else yield* dnsLabelFieldErrors(name, `${field}.name`);
  if (stringAt(container, "image") === "") yield required(`${field}.image`);
  yield* enumErrors(
    stringAt(container, "terminationMessagePolicy"),
    `${field}.terminationMessagePolicy`,
    TERMINATION_POLICIES,
  );
  yield* portsErrors(objectsAt(container, "ports"), `${field}.ports`);
  yield* envErrors(container, field, context);
  yield* mountErrors(container, field, context.volumes);
  yield* pullPolicyErrors(stringAt(container, "imagePullPolicy"), `${field}.imagePullPolicy`);
  yield* containerResourcesErrors(objectAt(container, "resources"), `${field}.resources`, context.claimNames);
  yield* resizePolicyErrors(container, `${field}.resizePolicy`, context.restartPolicy);
  yield* containerSecurityErrors(container, `${field}.securityContext`, context);
}

export function* pullPolicyErrors(policy: string, field: string): Generator<FieldError> {
  yield* enumErrors(policy, field, PULL_POLICIES);
}

function* portsErrors(ports: readonly JsonObject[], field: string): Generator<FieldError> {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `${field}[${index}]`;
    const name = stringAt(port, "name");
    if (name !== "") {
      const errors = [...nameErrors(name, `${at}.name`, portNameErrors)];
      yield* errors;
      if (errors.length === 0 && names.has(name)) yield duplicateValue(`${at}.name`, name);
      if (errors.length === 0) names.add(name);
    }
    const number = numberAt(port, "containerPort") ?? 0;
    if (number === 0) yield required(`${at}.containerPort`);
    else yield* portNumberErrors(number, `${at}.containerPort`);
    const hostPort = numberAt(port, "hostPort") ?? 0;
    if (hostPort !== 0) yield* portNumberErrors(hostPort, `${at}.hostPort`);
    yield* enumErrors(stringAt(port, "protocol"), `${at}.protocol`, PROTOCOLS);
  }
}

/** As kubernetes: errors name the whole list, except for a duplicate. */
function* resizePolicyErrors(container: JsonObject, field: string, restartPolicy: string): Generator<FieldError> {
  const names = new Set<string>();
  for (const [index, policy] of objectsAt(container, "resizePolicy").entries()) {
    const name = stringAt(policy, "resourceName");
    const restart = stringAt(policy, "restartPolicy");
    if (names.has(name)) yield duplicateValue(`${field}[${index}]`, name);
    names.add(name);
    yield* enumErrors(name, field, RESIZED);
    yield* enumErrors(restart, field, RESIZE_POLICIES);
    if (restartPolicy === "Never" && restart !== "NotRequired")
      yield invalidValue(field, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
  }
}

/** Validates the container's own restart policy and its exit code rules. */
export function* restartPolicyErrors(
  container: JsonObject,
  field: string,
  context: SpecContext,
): Generator<FieldError> {
  const policy = container["restartPolicy"];
  const rules = objectsAt(container, "restartPolicyRules");
  if (policy === undefined && rules.length === 0) return;
  if (policy === undefined)
    yield required(`${field}.restartPolicy`, "must specify restartPolicy when restart rules are used");
  else if (!RESTART_POLICIES.includes(String(policy)))
    yield unsupportedValue(`${field}.restartPolicy`, policy, RESTART_POLICIES);
  if (rules.length > RULES_MAX) yield tooMany(`${field}.restartPolicyRules`, rules.length, RULES_MAX);
  const actions = context.gates.isOn("RestartAllContainersOnContainerExits")
    ? ["Restart", "RestartAllContainers"]
    : ["Restart"];
  for (const [index, rule] of rules.entries())
    yield* restartRuleErrors(rule, `${field}.restartPolicyRules[${index}]`, actions);
}

function* restartRuleErrors(rule: JsonObject, field: string, actions: readonly string[]): Generator<FieldError> {
  const action = stringAt(rule, "action");
  if (!actions.includes(action)) yield unsupportedValue(`${field}.action`, action, actions);
  const codes = rule["exitCodes"];
  if (!isJsonObject(codes)) {
    yield required(`${field}.exitCodes`, "must be specified");
    return;
  }
  const operator = stringAt(codes, "operator");
  if (!OPERATORS.includes(operator)) yield unsupportedValue(`${field}.exitCodes.operator`, operator, OPERATORS);
  const { values } = codes;
  if (Array.isArray(values) && values.length > EXIT_CODES_MAX)
    yield tooMany(`${field}.exitCodes.values`, values.length, EXIT_CODES_MAX);
}

/** Rejects image names with surrounding whitespace. Called only for pods, because templates may have such images. */
export function* imageWhitespaceErrors(container: JsonObject, field: string): Generator<FieldError> {
  const image = stringAt(container, "image");
  if (image.trim() !== image)
    yield invalidValue(`${field}.image`, image, "must not have leading or trailing whitespace");
}
