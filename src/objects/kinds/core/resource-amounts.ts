/**
 * Helpers for maps of resource names to amounts, as in quotas and capacities: kinds of names, canonical text and
 * validation.
 */
import { invalidValue } from "../../../meta/field-errors.ts";
import { qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { canonicalQuantity, isWholeAmount, nanosOf } from "../../../meta/quantity.ts";

const OBJECT_COUNTS: readonly string[] = [
  "configmaps",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
  "services.loadbalancers",
  "services.nodeports",
];
const COMPUTE: readonly string[] = ["cpu", "memory", "ephemeral-storage"];

const QUOTA_RESOURCES: ReadonlySet<string> = new Set([
  ...OBJECT_COUNTS,
  ...COMPUTE.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  "requests.storage",
]);
const STANDARD_RESOURCES: ReadonlySet<string> = new Set([...QUOTA_RESOURCES, "storage"]);
const CONTAINER_RESOURCES: ReadonlySet<string> = new Set(COMPUTE);
const INTEGER_RESOURCES: ReadonlySet<string> = new Set(OBJECT_COUNTS);

const HUGE_PAGES = "hugepages-";
const REQUESTS = "requests.";

export function isHugePages(name: string): boolean {
  return name.startsWith(HUGE_PAGES);
}

export function isQuotaResource(name: string): boolean {
  return QUOTA_RESOURCES.has(name) || isHugePages(name) || name.startsWith(REQUESTS + HUGE_PAGES);
}

/** True for a resource of Kubernetes itself: its name has no prefix, or a prefix that ends with kubernetes.io. */
export function isNativeResource(name: string): boolean {
  return !name.includes("/") || name.includes("kubernetes.io/");
}

function isExtendedResource(name: string): boolean {
  return (
    !isNativeResource(name) && !name.startsWith(REQUESTS) && qualifiedNameErrors(`${REQUESTS}${name}`).length === 0
  );
}

export function* resourceNameErrors(name: string, field: string): Generator<FieldError> {
  const sentences = qualifiedNameErrors(name);
  for (const sentence of sentences) yield invalidValue(field, name, sentence);
  if (sentences.length > 0 || name.includes("/")) return;
  if (!STANDARD_RESOURCES.has(name) && !isQuotaResource(name))
    yield invalidValue(field, name, "must be a standard resource type or fully qualified");
}

export function* containerResourceNameErrors(name: string, field: string): Generator<FieldError> {
  yield* resourceNameErrors(name, field);
  if (!name.includes("/")) {
    if (!CONTAINER_RESOURCES.has(name) && !isHugePages(name))
      yield invalidValue(field, name, "must be a standard resource for containers");
  } else if (!isNativeResource(name) && !isExtendedResource(name))
    yield invalidValue(field, name, "doesn't follow extended resource name standard");
}

export function* quotaResourceNameErrors(name: string, field: string): Generator<FieldError> {
  yield* resourceNameErrors(name, field);
  if (!name.includes("/") && !isQuotaResource(name))
    yield invalidValue(field, name, "must be a standard resource for quota");
}

export function* amountErrors(name: string, value: unknown, field: string): Generator<FieldError> {
  const nanos = nanosOf(value);
  const shown = amountText(value);
  if (nanos < 0n) yield invalidValue(field, shown, "must be greater than or equal to 0");
  if ((INTEGER_RESOURCES.has(name) || isExtendedResource(name)) && !isWholeAmount(value))
    yield invalidValue(field, shown, "must be an integer");
}

/** The canonical text of an amount. */
export function amountText(value: unknown): string {
  return canonicalQuantity(String(value));
}
