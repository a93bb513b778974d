/**
 * Enforces the Pod Security Standards that the labels of a namespace select: rejects pods that violate them, and warns
 * about workloads whose pod template does.
 */
import { aggregateText } from "../../../../meta/aggregate-text.ts";
import { goQuote } from "../../../../meta/go-quote.ts";
import { formatGroupResource, type GroupResource } from "../../../../meta/group-version.ts";
import { isJsonObject, jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { ObjectReader } from "../../../../meta/object-table.ts";
import { forbidden, invalid, StatusError } from "../../../../meta/status-error.ts";
import type { AdmissionPlugin, Attributes } from "../../admission.ts";
import type { PodLike } from "./check.ts";
import { detailsText, violations } from "./evaluate.ts";
import { namespaceWarnings } from "./namespace-warnings.ts";
import type { PodSecurityConfiguration } from "./configuration.ts";
import {
  formatLevelVersion,
  isFullyPrivileged,
  isSameLevelVersion,
  isStricter,
  labelledModes,
  policyOf,
  type LevelVersion,
} from "./policy.ts";

interface PodSecurityPorts {
  readonly reader: ObjectReader;
  /** The minor version of the release. */
  readonly minor: number;
  readonly configuration: PodSecurityConfiguration;
}

const NAMESPACES: GroupResource = { group: "", resource: "namespaces" };
const PODS: GroupResource = { group: "", resource: "pods" };
const ANNOTATION_PREFIX = "pod-security.kubernetes.io/";
/** The path of the pod template in each workload resource. */
const TEMPLATES: ReadonlyMap<string, readonly string[]> = new Map([
  ["podtemplates", ["template"]],
  ["replicationcontrollers", ["spec", "template"]],
  ["replicasets.apps", ["spec", "template"]],
  ["deployments.apps", ["spec", "template"]],
  ["statefulsets.apps", ["spec", "template"]],
  ["daemonsets.apps", ["spec", "template"]],
  ["jobs.batch", ["spec", "template"]],
  ["cronjobs.batch", ["spec", "jobTemplate", "spec", "template"]],
]);
const IGNORED_SUBRESOURCES: ReadonlySet<string> = new Set([
  "exec",
  "attach",
  "binding",
  "eviction",
  "log",
  "portforward",
  "proxy",
  "status",
]);

export function podSecurity(ports: PodSecurityPorts): AdmissionPlugin {
  return {
    name: "PodSecurity",
    handles(operation, { groupVersion, resource, subresource }) {
      if (operation !== "CREATE" && operation !== "UPDATE") return false;
      const name = formatGroupResource({ group: groupVersion.group, resource });
      if (name === "pods") return !IGNORED_SUBRESOURCES.has(subresource);
      return subresource === "" && (name === "namespaces" || TEMPLATES.has(name));
    },
    async validate(attributes) {
      const { groupVersion, resource, object } = attributes;
      if (object === undefined) return;
      const name = formatGroupResource({ group: groupVersion.group, resource });
      if (name === "namespaces") checkNamespace(ports, attributes, object);
      else if (name === "pods") await checkPod(ports, attributes, object);
      else await checkTemplate(ports, attributes, templateAt(object, TEMPLATES.get(name) ?? []));
    },
  };
}

function templateAt(object: JsonObject, path: readonly string[]): JsonObject | undefined {
  let at: unknown = object;
  for (const member of path) at = isJsonObject(at) ? at[member] : undefined;
  return isJsonObject(at) ? at : undefined;
}

function labelsOf(object: JsonObject): JsonObject {
  return objectAt(objectAt(object, "metadata"), "labels");
}

function checkNamespace(ports: PodSecurityPorts, attributes: Attributes, namespace: JsonObject): void {
  const { reader, minor, configuration } = ports;
  const { defaults, exemptions } = configuration;
  const { policy, errors } = policyOf(labelsOf(namespace), defaults);
  const before =
    attributes.operation === "UPDATE" ? policyOf(labelsOf(attributes.existing ?? {}), defaults) : undefined;
  if (errors.length > 0 && !jsonEquals(errors, before?.errors))
    throw invalid({ group: "", kind: "Namespace" }, attributes.name, errors);
  const isExempt = exemptions.namespaces.has(attributes.namespace);
  const warnOfExemption = (): void => warnOfIgnoredPolicy(ports, attributes, namespace);
  if (before === undefined) return isExempt ? warnOfExemption() : undefined;
  const [now, then] = [policy.enforce, before.policy.enforce];
  if (isSameLevelVersion(now, then) || now.level === "privileged") return;
  if (now.minor === then.minor && !isStricter(now.level, then.level)) return;
  if (isExempt) return warnOfExemption();
  const name = stringAt(objectAt(namespace, "metadata"), "name");
  try {
    for (const warning of namespaceWarnings(name, now, reader.list(PODS, name), minor)) attributes.warn(warning);
  } catch (thrown) {
    if (!(thrown instanceof StatusError)) throw thrown;
    attributes.warn("failed to list pods while checking new PodSecurity enforce level");
  }
}

/** As kubernetes: a policy in the labels of an exempt namespace has no effect. */
function warnOfIgnoredPolicy({ configuration }: PodSecurityPorts, attributes: Attributes, namespace: JsonObject): void {
  const labels = labelsOf(namespace);
  const { policy } = policyOf(labels, configuration.defaults);
  const isDefault = (["enforce", "audit", "warn"] as const).every((mode) =>
    isSameLevelVersion(policy[mode], configuration.defaults[mode]),
  );
  if (isDefault || isFullyPrivileged(policy)) return;
  const name = goQuote(stringAt(objectAt(namespace, "metadata"), "name"));
  const modes = labelledModes(labels, policy);
  attributes.warn(`namespace ${name} is exempt from Pod Security, and the policy (${modes}) will be ignored`);
}

/** Whether the configuration exempts the request. The audit event then names the reason. */
function isRequestExempt({ configuration }: PodSecurityPorts, attributes: Attributes): boolean {
  const { namespaces, usernames } = configuration.exemptions;
  const reason = namespaces.has(attributes.namespace)
    ? "namespace"
    : usernames.has(attributes.user.name)
      ? "user"
      : undefined;
  if (reason !== undefined) annotate(attributes, "exempt", reason);
  return reason !== undefined;
}

function isRuntimeClassExempt({ configuration }: PodSecurityPorts, attributes: Attributes, { spec }: PodLike): boolean {
  const isExempt = configuration.exemptions.runtimeClasses.has(stringAt(spec, "runtimeClassName"));
  if (isExempt) annotate(attributes, "exempt", "runtimeClass");
  return isExempt;
}

async function checkPod(ports: PodSecurityPorts, attributes: Attributes, pod: JsonObject): Promise<void> {
  if (isRequestExempt(ports, attributes)) return;
  const namespace = await namespaceOf(ports, attributes);
  if (namespace === undefined) {
    const why = `failed to lookup namespace ${goQuote(attributes.namespace)}`;
    throw new StatusError("InternalError", `Internal error occurred: ${why}`, {
      details: { causes: [{ message: why }] },
    });
  }
  const { policy, errors } = policyOf(labelsOf(namespace), ports.configuration.defaults);
  if (errors.length === 0 && isFullyPrivileged(policy))
    return annotate(attributes, "enforce-policy", "privileged:latest");
  if (attributes.operation === "UPDATE" && !hasNewImages(pod, attributes.existing ?? {})) return;
  const like = { metadata: objectAt(pod, "metadata"), spec: objectAt(pod, "spec") };
  if (isRuntimeClassExempt(ports, attributes, like)) return;
  annotateErrors(attributes, errors);
  annotate(attributes, "enforce-policy", formatLevelVersion(policy.enforce));
  const rejection = violationText(like, policy.enforce, ports);
  annotateViolations(attributes, violationText(like, policy.audit, ports));
  if (rejection !== undefined) throw forbidden(PODS, attributes.name, `violates ${rejection}`);
  warnOfViolations(attributes, violationText(like, policy.warn, ports));
}

/**
 * Adds a warning and an audit annotation to a workload that violates the policy. It is not rejected; its pods will be.
 */
async function checkTemplate(
  ports: PodSecurityPorts,
  attributes: Attributes,
  template: JsonObject | undefined,
): Promise<void> {
  if (isRequestExempt(ports, attributes)) return;
  const namespace = await namespaceOf(ports, attributes);
  if (namespace === undefined || template === undefined) return;
  const { policy, errors } = policyOf(labelsOf(namespace), ports.configuration.defaults);
  if (errors.length === 0 && policy.warn.level === "privileged" && policy.audit.level === "privileged") return;
  const like = { metadata: objectAt(template, "metadata"), spec: objectAt(template, "spec") };
  if (isRuntimeClassExempt(ports, attributes, like)) return;
  annotateErrors(attributes, errors);
  annotateViolations(attributes, violationText(like, policy.audit, ports));
  warnOfViolations(attributes, violationText(like, policy.warn, ports));
}

async function namespaceOf({ reader }: PodSecurityPorts, { namespace }: Attributes): Promise<JsonObject | undefined> {
  return reader.get(NAMESPACES, "", namespace) ?? (await reader.newest(NAMESPACES, "", namespace));
}

function violationText(pod: PodLike, wanted: LevelVersion, { minor }: PodSecurityPorts): string | undefined {
  const found = violations(pod, wanted, minor);
  return found.length === 0 ? undefined : `PodSecurity ${goQuote(formatLevelVersion(wanted))}: ${detailsText(found)}`;
}

function annotate(attributes: Attributes, key: string, value: string): void {
  attributes.annotate(ANNOTATION_PREFIX + key, value);
}

function annotateErrors(attributes: Attributes, errors: readonly { field: string; message: string }[]): void {
  if (errors.length === 0) return;
  const text = aggregateText(errors.map(({ field, message }) => `${field}: ${message}`));
  annotate(attributes, "error", `Failed to parse policy: ${text}`);
}

function annotateViolations(attributes: Attributes, text: string | undefined): void {
  if (text !== undefined) annotate(attributes, "audit-violations", `would violate ${text}`);
}

function warnOfViolations(attributes: Attributes, text: string | undefined): void {
  if (text !== undefined) attributes.warn(`would violate ${text}`);
}

/**
 * Whether an update changes an image or adds a container. Other changes are not checked, because they do not affect the
 * security of a pod.
 */
function hasNewImages(pod: JsonObject, existing: JsonObject): boolean {
  const [spec, before] = [objectAt(pod, "spec"), objectAt(existing, "spec")];
  const images = (of: JsonObject, list: string): unknown[] => objectsAt(of, list).map(({ image }) => image);
  if (["containers", "initContainers"].some((list) => !jsonEquals(images(spec, list), images(before, list))))
    return true;
  const known = new Map(objectsAt(before, "ephemeralContainers").map(({ name, image }) => [name, image]));
  return objectsAt(spec, "ephemeralContainers").some(
    ({ name, image }) => !known.has(name) || known.get(name) !== image,
  );
}
