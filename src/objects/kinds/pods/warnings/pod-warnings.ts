/** Warnings about valid, but deprecated or probably unintended, pod settings. */
import {
  isJsonObject,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
  type JsonObject,
} from "../../../../meta/json.ts";
import { dnsLabelErrors, labelValueErrors } from "../../../../meta/names.ts";
import type { KindContext } from "../../kind.ts";
import { appArmorWarnings } from "../app-armor.ts";
import { SECCOMP_POD } from "../rules/annotation-rules.ts";
import { containerWarnings, fractionalWarnings } from "./container-warnings.ts";
import { deprecatedNodeLabel } from "./deprecated-node-labels.ts";
import { podIpWarnings } from "./ip-warnings.ts";
import { portWarnings } from "./port-warnings.ts";
import { overlappingPathWarnings, volumeWarnings } from "./volume-warnings.ts";

const WARNINGS_MAX = 100;
const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";
const DEPRECATED_ANNOTATIONS: ReadonlyMap<string, string> = new Map([
  ["scheduler.alpha.kubernetes.io/critical-pod", 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ["security.alpha.kubernetes.io/sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
  ["security.alpha.kubernetes.io/unsafe-sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
]);

export function podWarnings(pod: JsonObject, context: KindContext): Iterable<string> {
  return Iterator.from(newPodWarnings(pod, context)).take(WARNINGS_MAX);
}

function* newPodWarnings(pod: JsonObject, context: KindContext): Generator<string> {
  const metadata = objectAt(pod, "metadata");
  yield* appArmorWarnings(objectAt(pod, "spec"), objectAt(metadata, "annotations"), "metadata.annotations");
  const sentences = dnsLabelErrors(stringAt(metadata, "name"));
  if (sentences.length > 0)
    yield `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${sentences.join(" ")}]`;
  yield* specWarnings({ spec: objectAt(pod, "spec"), metadata, field: "" }, context);
}

/** Warnings about the template of a workload at `field`, such as "spec.template". */
export function podTemplateWarnings(template: JsonObject, field: string, context: KindContext): Iterable<string> {
  const spec = objectAt(template, "spec");
  const metadata = objectAt(template, "metadata");
  return Iterator.from(specWarnings({ spec, metadata, field: `${field}.` }, context)).take(WARNINGS_MAX);
}

interface Subject {
  readonly spec: JsonObject;
  readonly metadata: JsonObject;
  /** Path prefix: empty, or ending with a dot. */
  readonly field: string;
}

function* specWarnings({ spec, metadata, field }: Subject, context: KindContext): Generator<string> {
  const at = `${field}spec`;
  const annotations = objectAt(metadata, "annotations");
  yield* nodeLabelWarnings(spec, at);
  yield* spreadWarnings(spec, at);
  for (const [key, message] of DEPRECATED_ANNOTATIONS)
    if (annotations[key] !== undefined) yield `${field}metadata.annotations[${key}]: ${message}`;
  yield* volumeWarnings(spec, at, context);
  yield* overlappingPathWarnings(spec);
  yield* duplicateWarnings(spec, { at, list: "hostAliases", member: "ip" });
  yield* duplicateWarnings(spec, { at, list: "imagePullSecrets", member: "name" });
  for (const [index, secret] of objectsAt(spec, "imagePullSecrets").entries())
    if (stringAt(secret, "name") === "") yield `${at}.imagePullSecrets[${index}].name: invalid empty name ""`;
  yield* fractionalWarnings(objectAt(spec, "overhead"), `${at}.overhead`, ["memory", "ephemeral-storage"]);
  if (annotations[SECCOMP_POD] !== undefined && !isJsonObject(objectAt(spec, "securityContext")["seccompProfile"]))
    yield `${field}metadata.annotations[${SECCOMP_POD}]: non-functional in v1.27+; use the "seccompProfile" field instead`;
  if (field !== "") yield* appArmorWarnings(spec, annotations, `${field}metadata.annotations`);
  yield* containerWarnings(spec, { at, annotations, annotationsAt: `${field}metadata.annotations` });
  yield* portWarnings(spec, at);
  if ((numberAt(spec, "terminationGracePeriodSeconds") ?? 0) < 0)
    yield `${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`;
  yield* affinityWarnings(objectAt(spec, "affinity"), `${at}.affinity`);
  for (const [index, ip] of stringsAt(objectAt(spec, "dnsConfig"), "nameservers").entries())
    yield* podIpWarnings(ip, `${at}.dnsConfig.nameservers[${index}]`);
  for (const [index, alias] of objectsAt(spec, "hostAliases").entries())
    yield* podIpWarnings(stringAt(alias, "ip"), `${at}.hostAliases[${index}].ip`);
}

function* nodeLabelWarnings(spec: JsonObject, at: string): Generator<string> {
  for (const key of Object.keys(objectAt(spec, "nodeSelector"))) {
    const message = deprecatedNodeLabel(key);
    if (message !== undefined) yield `${at}.nodeSelector[${key}]: ${message}`;
  }
  const affinity = objectAt(objectAt(spec, "affinity"), "nodeAffinity");
  const field = `${at}.affinity.nodeAffinity`;
  for (const [index, term] of objectsAt(objectAt(affinity, REQUIRED), "nodeSelectorTerms").entries())
    yield* nodeTermWarnings(term, `${field}.${REQUIRED}.nodeSelectorTerms[${index}]`, false);
  for (const [index, preferred] of objectsAt(affinity, PREFERRED).entries())
    yield* nodeTermWarnings(objectAt(preferred, "preference"), `${field}.${PREFERRED}[${index}].preference`, true);
}

function* nodeTermWarnings(term: JsonObject, field: string, isValueChecked: boolean): Generator<string> {
  for (const [index, expression] of objectsAt(term, "matchExpressions").entries()) {
    const key = stringAt(expression, "key");
    const message = deprecatedNodeLabel(key);
    if (message !== undefined) yield `${field}.matchExpressions[${index}].key: ${key} is ${message}`;
    if (!isValueChecked) continue;
    for (const [at, value] of stringsAt(expression, "values").entries())
      for (const sentence of labelValueErrors(value))
        yield `${field}.matchExpressions[${index}].values[${at}]: ${value} is invalid, ${sentence}`;
  }
}

function* spreadWarnings(spec: JsonObject, at: string): Generator<string> {
  for (const [index, constraint] of objectsAt(spec, "topologySpreadConstraints").entries()) {
    const field = `${at}.topologySpreadConstraints[${index}]`;
    const key = stringAt(constraint, "topologyKey");
    const message = deprecatedNodeLabel(key);
    if (message !== undefined) yield `${field}.topologyKey: ${key} is ${message}`;
    if (constraint["labelSelector"] === undefined)
      yield `${field}.labelSelector: a null labelSelector results in matching no pod`;
  }
}

function* duplicateWarnings(
  spec: JsonObject,
  { at, list, member }: { at: string; list: string; member: string },
): Generator<string> {
  const seen = new Set<string>();
  for (const [index, item] of objectsAt(spec, list).entries()) {
    const value = stringAt(item, member);
    if (seen.has(value)) yield `${at}.${list}[${index}].${member}: duplicate ${member} ${JSON.stringify(value)}`;
    seen.add(value);
  }
}

function* affinityWarnings(affinity: JsonObject, at: string): Generator<string> {
  const why = "a null labelSelector results in matching no pod";
  for (const member of ["podAffinity", "podAntiAffinity"]) {
    const pods = objectAt(affinity, member);
    for (const [index, term] of objectsAt(pods, REQUIRED).entries())
      if (term["labelSelector"] === undefined) yield `${at}.${member}.${REQUIRED}[${index}].labelSelector: ${why}`;
    for (const [index, weighted] of objectsAt(pods, PREFERRED).entries())
      if (objectAt(weighted, "podAffinityTerm")["labelSelector"] === undefined)
        yield `${at}.${member}.${PREFERRED}[${index}].podAffinityTerm.labelSelector: ${why}`;
  }
}
