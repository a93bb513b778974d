/** Validation of the resources of containers and pods. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  notFoundValue,
  required,
  unsupportedValue,
} from "../../../../meta/field-errors.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nanosOf, NANOS_PER_UNIT } from "../../../../meta/quantity.ts";
import { aggregatedResources } from "../resource-lists.ts";
import { dnsLabelFieldErrors } from "./formats.ts";
import {
  amountErrors,
  containerResourceNameErrors,
  isHugePages,
  isNativeResource,
  resourceNameErrors,
} from "../../core/resource-amounts.ts";

const HUGE_PAGES = "hugepages-";
const POD_RESOURCES: readonly string[] = ["cpu", "memory"];

type ResourceNameRule = (name: string, field: string) => Iterable<FieldError>;

/** `claimNames`: the resource claims in the pod's spec. */
export function* containerResourcesErrors(
  resources: JsonObject,
  field: string,
  claimNames: ReadonlySet<string>,
): Generator<FieldError> {
  yield* requirementsErrors(resources, field, containerResourceNameErrors);
  yield* claimErrors(objectsAt(resources, "claims"), `${field}.claims`, claimNames);
}

export function* overheadErrors(overhead: JsonObject, field: string): Generator<FieldError> {
  yield* requirementsErrors({ limits: overhead }, field, containerResourceNameErrors);
}

/** `spec`: a spec with pod-level resources. `field`: the path of the spec. */
export function* podResourcesErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const resources = objectAt(spec, "resources");
  const at = `${field}.resources`;
  if (stringAt(objectAt(spec, "os"), "name") === "windows") {
    yield forbiddenField(at, "may not be set for a windows pod");
    return;
  }
  if (resources["claims"] !== undefined)
    yield forbiddenField(`${at}.claims`, "claims may not be set for Resources at pod-level");
  yield* requirementsErrors(resources, at, podResourceNameErrors);
  yield* consistencyErrors(spec, at);
}

function* requirementsErrors(resources: JsonObject, field: string, rule: ResourceNameRule): Generator<FieldError> {
  const limits = objectAt(resources, "limits");
  const requests = objectAt(resources, "requests");
  for (const [name, amount] of Object.entries(limits))
    yield* resourceErrors(name, amount, `${field}.limits[${name}]`, rule);
  for (const [name, amount] of Object.entries(requests)) {
    yield* resourceErrors(name, amount, `${field}.requests[${name}]`, rule);
    yield* requestErrors(name, { amount, limits }, field);
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.some((name) => POD_RESOURCES.includes(name)))
    yield forbiddenField(field, "HugePages require cpu or memory");
}

function* resourceErrors(name: string, amount: unknown, field: string, rule: ResourceNameRule): Generator<FieldError> {
  yield* rule(name, field);
  yield* amountErrors(name, amount, field);
  if (isHugePages(name) && !isWholePages(name, amount))
    yield invalidValue(field, amount, `${String(amount)} is not positive integer multiple of ${name}`);
}

function* requestErrors(
  name: string,
  { amount, limits }: { amount: unknown; limits: JsonObject },
  field: string,
): Generator<FieldError> {
  const isOvercommitted = isNativeResource(name) && !isHugePages(name);
  const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
  if (limit === undefined) {
    if (!isOvercommitted) yield required(`${field}.limits`, "Limit must be set for non overcommitable resources");
    return;
  }
  const difference = nanosOf(amount) - nanosOf(limit);
  if (difference !== 0n && !isOvercommitted)
    yield invalidValue(`${field}.requests`, amount, `must be equal to ${name} limit of ${String(limit)}`);
  else if (difference > 0n)
    yield invalidValue(`${field}.requests`, amount, `must be less than or equal to ${name} limit of ${String(limit)}`);
}

function isWholePages(name: string, amount: unknown): boolean {
  const size = nanosOf(name.slice(HUGE_PAGES.length));
  return size > 0n && size % NANOS_PER_UNIT === 0n && nanosOf(amount) % size === 0n;
}

function* podResourceNameErrors(name: string, field: string): Generator<FieldError> {
  const errors = [...resourceNameErrors(name, field)];
  yield* errors;
  if (errors.length === 0 && !POD_RESOURCES.includes(name) && !isHugePages(name))
    yield unsupportedValue(field, name, ["cpu", HUGE_PAGES, "memory"]);
}

function* consistencyErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const { requests, limits } = amountsOf(objectAt(spec, "resources"));
  for (const [name, total] of aggregatedResources(spec, "requests"))
    if (Object.hasOwn(requests, name) && total.nanos > nanosOf(requests[name]))
      yield invalidValue(
        `${field}.requests[${name}]`,
        requests[name],
        `must be greater than or equal to aggregate container requests of ${total.text}`,
      );
  for (const [name, total] of aggregatedResources(spec, "limits"))
    if (isHugePages(name) && Object.hasOwn(limits, name) && total.nanos > nanosOf(limits[name]))
      yield invalidValue(
        `${field}.limits[${name}]`,
        limits[name],
        `must be greater than or equal to aggregate container limits of ${total.text}`,
      );
  for (const [index, container] of objectsAt(spec, "containers").entries())
    for (const [name, limit] of Object.entries(amountsOf(objectAt(container, "resources")).limits))
      if (Object.hasOwn(limits, name) && nanosOf(limit) > nanosOf(limits[name]))
        yield invalidValue(
          `${field}.containers[${index}][${name}].limits`,
          limit,
          `must be less than or equal to pod limits of ${String(limits[name])}`,
        );
}

function amountsOf(resources: JsonObject): { readonly requests: JsonObject; readonly limits: JsonObject } {
  return { requests: objectAt(resources, "requests"), limits: objectAt(resources, "limits") };
}

function* claimErrors(
  claims: readonly JsonObject[],
  field: string,
  claimNames: ReadonlySet<string>,
): Generator<FieldError> {
  const seen = new Set<string>();
  const withRequests = new Set<string>();
  for (const [index, claim] of claims.entries()) {
    const at = `${field}[${index}]`;
    const name = stringAt(claim, "name");
    const request = stringAt(claim, "request");
    if (name === "") {
      yield required(at);
      continue;
    }
    if (seen.has(name)) yield duplicateValue(at, name);
    else {
      if (request !== "") yield* dnsLabelFieldErrors(request, `${at}.request`);
      const key = request === "" ? name : `${name}/${request}`;
      if (seen.has(key) || (request === "" && withRequests.has(name))) yield duplicateValue(at, key);
      seen.add(key);
      if (request !== "") withRequests.add(name);
    }
    if (!claimNames.has(name)) yield unknownClaim(at, name, claimNames);
  }
}

function unknownClaim(field: string, name: string, claimNames: ReadonlySet<string>): FieldError {
  const names = [...claimNames].sort().join(", ");
  const why = `must be one of the names in pod.spec.resourceClaims${names === "" ? " which is empty" : `: ${names}`}`;
  const { message, ...error } = notFoundValue(field, name);
  return { ...error, message: `${message}: ${why}` };
}
