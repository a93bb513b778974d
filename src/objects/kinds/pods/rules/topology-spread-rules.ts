/** Validation of topology spread constraints. */
import { duplicateValue, invalidValue, required, unsupportedValue } from "../../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { labelSelectorErrors } from "../../checks.ts";
import { labelKeysErrors, plainLabelKeysErrors } from "./label-keys-rules.ts";
import type { SpecContext } from "./spec-context.ts";

const ACTIONS: readonly string[] = ["DoNotSchedule", "ScheduleAnyway"];
const POLICIES: readonly string[] = ["Honor", "Ignore"];

export function* topologySpreadErrors(spec: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  const constraints = objectsAt(spec, "topologySpreadConstraints");
  const last = new Map(constraints.map((constraint, index) => [pairOf(constraint), index]));
  for (const [index, constraint] of constraints.entries()) {
    const at = `${field}[${index}]`;
    yield* positiveErrors(numberAt(constraint, "maxSkew") ?? 0, `${at}.maxSkew`);
    if (stringAt(constraint, "topologyKey") === "") yield required(`${at}.topologyKey`, "can not be empty");
    const action = stringAt(constraint, "whenUnsatisfiable");
    if (!ACTIONS.includes(action)) yield unsupportedValue(`${at}.whenUnsatisfiable`, action, ACTIONS);
    if (last.get(pairOf(constraint)) !== index)
      yield duplicateValue(`${at}.{topologyKey, whenUnsatisfiable}`, pairOf(constraint));
    yield* minDomainsErrors(constraint, `${at}.minDomains`);
    for (const member of ["nodeAffinityPolicy", "nodeTaintsPolicy"]) {
      const policy = constraint[member];
      if (policy !== undefined && !POLICIES.includes(String(policy)))
        yield unsupportedValue(`${at}.${member}`, policy, POLICIES);
    }
    if (context.gates.isOn("MatchLabelKeysInPodTopologySpreadSelectorMerge")) yield* labelKeysErrors(constraint, at);
    else yield* plainLabelKeysErrors(constraint, `${at}.matchLabelKeys`);
    const selector = constraint["labelSelector"];
    if (isJsonObject(selector)) yield* labelSelectorErrors(selector, `${at}.labelSelector`);
  }
}

function pairOf(constraint: JsonObject): string {
  return `{${stringAt(constraint, "topologyKey")}, ${stringAt(constraint, "whenUnsatisfiable")}}`;
}

function* positiveErrors(value: number, field: string): Generator<FieldError> {
  if (value <= 0) yield invalidValue(field, value, "must be greater than zero");
}

function* minDomainsErrors(constraint: JsonObject, field: string): Generator<FieldError> {
  const domains = numberAt(constraint, "minDomains");
  if (domains === undefined) return;
  yield* positiveErrors(domains, field);
  const action = stringAt(constraint, "whenUnsatisfiable");
  if (action !== "DoNotSchedule")
    yield invalidValue(field, domains, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`);
}
