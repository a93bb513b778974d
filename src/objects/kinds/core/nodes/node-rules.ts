/** Validation of Nodes, with Kubernetes' messages. */
import { duplicateValue, forbiddenField, invalidValue } from "../../../../meta/field-errors.ts";
import { parseLooseCidr } from "../../../../meta/ip-address.ts";
import { numberAt, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { KindContext } from "../../kind.ts";
import { legacyCidrErrors } from "../../network/ip-checks.ts";
import { amountErrors } from "../resource-amounts.ts";
import { configSourceErrors, configStatusErrors } from "./node-config.ts";
import { taintErrors } from "./taints.ts";

export function* nodeErrors(node: JsonObject, context: KindContext): Generator<FieldError> {
  const spec = objectAt(node, "spec");
  const status = objectAt(node, "status");
  // As kubernetes: errors about taints and swap name paths in the metadata.
  yield* taintErrors(objectsAt(spec, "taints"), "metadata.taints");
  yield* resourceErrors(status);
  const swap = numberAt(objectAt(objectAt(status, "nodeInfo"), "swap"), "capacity");
  if (swap !== undefined && swap <= 0)
    yield invalidValue("metadata.nodeSwapStatus.capacity", swap, "must be greater than zero");
  yield* declaredFeatureErrors(stringsAt(status, "declaredFeatures"));
  yield* podCidrErrors(stringsAt(spec, "podCIDRs"), context);
}

export function* nodeUpdateErrors(node: JsonObject, existing: JsonObject): Generator<FieldError> {
  const spec = objectAt(node, "spec");
  const status = objectAt(node, "status");
  yield* resourceErrors(status);
  yield* declaredFeatureErrors(stringsAt(status, "declaredFeatures"));
  yield* addressErrors(objectsAt(status, "addresses"));
  yield* fixedSpecErrors(spec, objectAt(existing, "spec"));
  if (spec["configSource"] !== undefined)
    yield* configSourceErrors(objectAt(spec, "configSource"), "spec.configSource", "spec");
  yield* configStatusErrors(objectAt(status, "config"), "status.config");
  yield* taintErrors(objectsAt(spec, "taints"), "metadata.taints");
  if (stringAt(spec, "externalID") !== stringAt(objectAt(existing, "spec"), "externalID"))
    yield forbiddenField("spec.externalID", "may not be updated");
}

function* resourceErrors(status: JsonObject): Generator<FieldError> {
  for (const key of ["capacity", "allocatable"]) {
    const list = objectAt(status, key);
    for (const name of Object.keys(list).sort()) yield* amountErrors(name, list[name], `status.${key}.${name}`);
  }
}

const FEATURE = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;
const FEATURE_LENGTH_MAX = 253;

function* declaredFeatureErrors(features: readonly string[]): Generator<FieldError> {
  const field = (index: number): string => `status.declaredFeatures[${index}]`;
  for (const [index, feature] of features.entries()) {
    const shown = `invalid feature name ${JSON.stringify(feature)}`;
    if (feature.length > FEATURE_LENGTH_MAX)
      yield invalidValue(field(index), feature, `${shown}: must be no more than ${FEATURE_LENGTH_MAX} characters`);
    else if (!FEATURE.test(feature)) {
      const why = `${shown}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`;
      yield invalidValue(field(index), feature, why);
    }
    const next = features[index + 1];
    if (next === feature) yield duplicateValue(field(index + 1), next);
    else if (next !== undefined && feature > next)
      yield invalidValue(field(index + 1), next, "list must be sorted alphabetically");
  }
}

function* podCidrErrors(cidrs: readonly string[], context: KindContext): Generator<FieldError> {
  for (const [index, cidr] of cidrs.entries())
    yield* legacyCidrErrors(cidr, { field: `spec.podCIDRs[${index}]` }, context);
  const families = new Set(cidrs.map((cidr) => parseLooseCidr(cidr)?.family));
  if (cidrs.length > 2 || (cidrs.length === 2 && families.size < 2))
    yield invalidValue("spec.podCIDRs", cidrs, "may specify no more than one CIDR for each IP family");
}

function* addressErrors(addresses: readonly JsonObject[]): Generator<FieldError> {
  const seen = new Set<string>();
  for (const [index, address] of addresses.entries()) {
    const shown = { Type: stringAt(address, "type"), Address: stringAt(address, "address") };
    const key = JSON.stringify(shown);
    if (seen.has(key)) yield duplicateValue(`status.addresses[${index}]`, shown);
    seen.add(key);
  }
}

/** podCIDRs and providerID cannot change once they are set. */
function* fixedSpecErrors(spec: JsonObject, before: JsonObject): Generator<FieldError> {
  const had = stringsAt(before, "podCIDRs");
  const cidrs = stringsAt(spec, "podCIDRs");
  const changed = had.length === cidrs.length ? had.filter((cidr, index) => cidr !== cidrs[index]) : had.slice(0, 1);
  yield* changed.map(() =>
    forbiddenField("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'),
  );
  const provider = stringAt(before, "providerID");
  if (provider !== "" && provider !== stringAt(spec, "providerID"))
    yield forbiddenField("spec.providerID", 'node updates may not change providerID except from "" to valid');
}
