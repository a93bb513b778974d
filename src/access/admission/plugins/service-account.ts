/**
 * Ensures that the service account of a pod exists, and adds the token volume and the image pull secrets of the account
 * to the pod.
 */
import { sleep, type Clock } from "../../../base/clock.ts";
import { randomInteger, type Random } from "../../../base/random.ts";
import type { GroupResource } from "../../../meta/group-version.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { handlesOnly } from "./handled-writes.ts";
import { bareFailure, admissionForbidden } from "./plugin-errors.ts";
import { refersToSecrets, unmountableEphemeralReference, unmountableReference } from "./secret-references.ts";
import { withTokenVolume } from "./token-volume.ts";

interface ServiceAccountPorts {
  readonly reader: ObjectReader;
  readonly random: Random;
  readonly clock: Clock;
}

const SERVICE_ACCOUNTS: GroupResource = { group: "", resource: "serviceaccounts" };
const DEFAULT = "default";
const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";
const ENFORCE_ANNOTATION = "kubernetes.io/enforce-mountable-secrets";
/** The texts that Go parses as true. */
const TRUE_TEXTS: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"]);

export function serviceAccount(ports: ServiceAccountPorts): AdmissionPlugin {
  return {
    name: "ServiceAccount",
    handles: handlesOnly({
      group: "",
      resource: "pods",
      operations: { CREATE: [""], UPDATE: ["ephemeralcontainers"] },
    }),
    async mutate(attributes) {
      if (attributes.operation !== "CREATE") return undefined;
      const { object: pod } = attributes;
      if (isMirror(pod)) {
        rejectMirror(attributes, pod);
        return undefined;
      }
      const account = await accountOf(ports, attributes, accountName(pod) || DEFAULT);
      const admitted = { ...pod, spec: specWith(account, objectAt(pod, "spec"), ports.random) };
      rejectUnmountable(attributes, admitted, account);
      return admitted;
    },
    async validate(attributes) {
      const { object: pod, operation } = attributes;
      if (pod === undefined) return;
      if (operation === "CREATE" && isMirror(pod)) return rejectMirror(attributes, pod);
      if (accountName(pod) === "")
        throw admissionForbidden(attributes, `no service account specified for pod ${placeOf(attributes)}`);
      const account = await accountOf(ports, attributes, accountName(pod));
      if (operation === "CREATE") rejectUnmountable(attributes, pod, account);
      else rejectUnmountableEphemeral(pod, account);
    },
  };
}

function accountName(pod: JsonObject): string {
  return stringAt(objectAt(pod, "spec"), "serviceAccountName");
}

function placeOf({ namespace, object }: Attributes): string {
  return `${namespace}/${stringAt(objectAt(object ?? {}, "metadata"), "name")}`;
}

function isMirror(pod: JsonObject): boolean {
  return Object.hasOwn(objectAt(objectAt(pod, "metadata"), "annotations"), MIRROR_ANNOTATION);
}

/**
 * Rejects a mirror pod that references service accounts or Secrets, because the static pod that it represents cannot
 * use them.
 */
function rejectMirror(attributes: Attributes, pod: JsonObject): void {
  const spec = objectAt(pod, "spec");
  if (accountName(pod) !== "") throw admissionForbidden(attributes, "a mirror pod may not reference service accounts");
  if (refersToSecrets(spec)) throw admissionForbidden(attributes, "a mirror pod may not reference secrets");
  const hasToken = objectsAt(spec, "volumes").some((volume) =>
    objectsAt(objectAt(volume, "projected"), "sources").some(
      (source) => (source["serviceAccountToken"] ?? undefined) !== undefined,
    ),
  );
  if (hasToken) throw admissionForbidden(attributes, "a mirror pod may not use ServiceAccountToken volume projections");
}

/**
 * How many times the default service account is read before the pod is rejected. In a new namespace, its controller may
 * not have created it yet.
 */
const DEFAULT_ATTEMPTS = 10;
const RETRY_MS = 100;

async function accountOf(
  { reader, clock, random }: ServiceAccountPorts,
  attributes: Attributes,
  name: string,
): Promise<JsonObject> {
  const { namespace, signal } = attributes;
  const known = reader.get(SERVICE_ACCOUNTS, namespace, name);
  if (known !== undefined) return known;
  const pauseMs = RETRY_MS + randomInteger(random, RETRY_MS);
  for (let left = name === DEFAULT ? DEFAULT_ATTEMPTS : 1; left > 0; left--) {
    const newest = await reader.newest(SERVICE_ACCOUNTS, namespace, name);
    if (newest !== undefined) return newest;
    if (left > 1 && !(await sleep(clock, pauseMs, signal))) break;
  }
  const why = `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`;
  throw admissionForbidden(attributes, why);
}

function specWith(account: JsonObject, spec: JsonObject, random: Random): JsonObject {
  const name = stringAt(spec, "serviceAccountName") || DEFAULT;
  const owned: JsonObject = { ...spec, serviceAccountName: name, serviceAccount: name };
  const mounted = isAutomounted(account, spec) ? withTokenVolume(owned, random) : owned;
  const pullSecrets = objectsAt(account, "imagePullSecrets");
  if (objectsAt(spec, "imagePullSecrets").length > 0 || pullSecrets.length === 0) return mounted;
  return { ...mounted, imagePullSecrets: pullSecrets.map(referenceOf) };
}

function referenceOf(secret: JsonObject): JsonObject {
  const name = stringAt(secret, "name");
  return name === "" ? {} : { name };
}

function isAutomounted(account: JsonObject, spec: JsonObject): boolean {
  return (spec["automountServiceAccountToken"] ?? account["automountServiceAccountToken"] ?? true) === true;
}

function isEnforced(account: JsonObject): boolean {
  const annotations = objectAt(objectAt(account, "metadata"), "annotations");
  return TRUE_TEXTS.has(stringAt(annotations, ENFORCE_ANNOTATION));
}

function rejectUnmountable(attributes: Attributes, pod: JsonObject, account: JsonObject): void {
  const why = isEnforced(account) ? unmountableReference(objectAt(pod, "spec"), account) : undefined;
  if (why !== undefined) throw admissionForbidden(attributes, why);
}

function rejectUnmountableEphemeral(pod: JsonObject, account: JsonObject): void {
  const why = isEnforced(account) ? unmountableEphemeralReference(objectAt(pod, "spec"), account) : undefined;
  // As kubernetes: this error is a 500 without a reason.
  if (why !== undefined) throw bareFailure(why);
}
