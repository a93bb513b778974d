/** Parses an APIService object: whether its group version is local, or which Service serves it. */
import type { KubernetesObject, ResourceType } from "../../client/objects.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject, objectsAt } from "../../meta/json.ts";
import type { ServiceReference } from "../../access/webhook-client/service-resolver.ts";

export const API_SERVICES: ResourceType = {
  group: "apiregistration.k8s.io",
  version: "v1",
  resource: "apiservices",
  namespaced: false,
};

export type ApiServiceObject = KubernetesObject & { readonly spec?: JsonObject; readonly status?: JsonObject };

/**
 * Index of an informer on APIServices by the NAMESPACE/NAME of their Service. The key "" has all APIServices that
 * `remoteApiService` accepts.
 */
export const BY_SERVICE = "service";

export function serviceKeys(object: ApiServiceObject): readonly string[] {
  const { service } = remoteApiService(object) ?? {};
  return service === undefined ? [] : ["", `${service.namespace}/${service.name}`];
}

/** An APIService whose group version an aggregated server serves. */
export interface RemoteApiService {
  /** Name of the APIService: VERSION.GROUP */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
  readonly service: ServiceReference;
  /** CA bundle in PEM; if it is undefined, the CAs that the system trusts are used. */
  readonly caBundle: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
}

export interface ApiServiceCondition {
  readonly type: "Available";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

export const LOCAL_CONDITION: ApiServiceCondition = {
  type: "Available",
  status: "True",
  reason: "Local",
  message: "Local APIServices are always available",
};

const DEFAULT_PORT = 443;

/**
 * Undefined for local APIServices, and for the core group and apiregistration.k8s.io, which this server always serves
 * itself. DIFFERS: kube-apiserver lets an APIService take over the core group.
 */
export function remoteApiService(object: ApiServiceObject): RemoteApiService | undefined {
  const spec = objectAt({ spec: object.spec }, "spec");
  const service = spec["service"];
  const [group, version] = [stringAt(spec, "group"), stringAt(spec, "version")];
  if (!isJsonObject(service) || group === "" || group === API_SERVICES.group || version === "") return undefined;
  return {
    name: `${version}.${group}`,
    group,
    version,
    groupPriorityMinimum: integerAt(spec, "groupPriorityMinimum", 0),
    versionPriority: integerAt(spec, "versionPriority", 0),
    service: {
      namespace: stringAt(service, "namespace"),
      name: stringAt(service, "name"),
      port: integerAt(service, "port", DEFAULT_PORT),
    },
    caBundle: decodedBundle(stringAt(spec, "caBundle")),
    insecureSkipTlsVerify: spec["insecureSkipTLSVerify"] === true,
  };
}

export function isLocalApiService(object: ApiServiceObject): boolean {
  return !isJsonObject(objectAt({ spec: object.spec }, "spec")["service"]);
}

/** The Available condition in the object's status. */
export function availableCondition(object: ApiServiceObject): ApiServiceCondition | undefined {
  const found = conditionsOf(object).find((condition) => stringAt(condition, "type") === "Available");
  if (found === undefined) return undefined;
  const status = stringAt(found, "status");
  return {
    type: "Available",
    status: status === "True" || status === "False" ? status : "Unknown",
    reason: stringAt(found, "reason"),
    message: stringAt(found, "message"),
  };
}

/** Returns the object's status with the condition; undefined if the status already contains it. */
export function statusWith(
  object: ApiServiceObject,
  condition: ApiServiceCondition,
  time: string,
): JsonObject | undefined {
  const before = availableCondition(object);
  const isSame =
    before?.status === condition.status && before.reason === condition.reason && before.message === condition.message;
  if (isSame) return undefined;
  const conditions = conditionsOf(object);
  const index = conditions.findIndex((known) => stringAt(known, "type") === "Available");
  const known = conditions[index];
  const lastTransitionTime = before?.status === condition.status ? known?.["lastTransitionTime"] : time;
  const next: JsonObject = { ...condition, lastTransitionTime };
  const all = index < 0 ? [...conditions, next] : conditions.with(index, next);
  return { ...objectAt({ status: object.status }, "status"), conditions: all };
}

function conditionsOf(object: ApiServiceObject): readonly JsonObject[] {
  return objectsAt(objectAt({ status: object.status }, "status"), "conditions");
}

function integerAt(parent: JsonObject, key: string, otherwise: number): number {
  const value = parent[key];
  return typeof value === "number" && Number.isInteger(value) ? value : otherwise;
}

function decodedBundle(base64: string): string | undefined {
  return base64 === "" ? undefined : Buffer.from(base64, "base64").toString("utf8");
}
