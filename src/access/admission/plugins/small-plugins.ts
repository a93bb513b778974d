/** Small plugins that are disabled by default. */
import { aggregateText } from "../../../meta/aggregate-text.ts";
import { unsupportedValue } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../meta/names.ts";
import { forbidden } from "../../../meta/status-error.ts";
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { CREATE_AND_UPDATE, handlesOnly } from "./handled-writes.ts";
import { bareFailure, admissionForbidden } from "./plugin-errors.ts";

const HOSTNAME = "kubernetes.io/hostname";

export function alwaysAdmit(): AdmissionPlugin {
  return { name: "AlwaysAdmit", handles: () => false };
}

export function alwaysDeny(): AdmissionPlugin {
  const deny = (attributes: Attributes): never => {
    throw admissionForbidden(attributes, "admission control is denying all modifications");
  };
  return { name: "AlwaysDeny", handles: () => true, mutate: deny, validate: deny };
}

/**
 * Denies new external IPs, because a Service with an external IP can intercept traffic to this address. An update may
 * keep existing external IPs.
 */
export function denyServiceExternalIps(): AdmissionPlugin {
  return {
    name: "DenyServiceExternalIPs",
    handles: handlesOnly({ group: "", resource: "services", operations: CREATE_AND_UPDATE }),
    validate(attributes) {
      const { object, existing } = attributes;
      const before = new Set(stringsAt(objectAt(existing ?? {}, "spec"), "externalIPs"));
      if (stringsAt(objectAt(object ?? {}, "spec"), "externalIPs").every((address) => before.has(address))) return;
      throw admissionForbidden(attributes, "Use of external IPs is denied by admission control");
    },
  };
}

/** Allows required anti-affinity only per node, so that a pod cannot keep other pods out of a whole zone. */
export function limitPodHardAntiAffinityTopology(): AdmissionPlugin {
  return {
    name: "LimitPodHardAntiAffinityTopology",
    handles: handlesOnly({ group: "", resource: "pods", operations: CREATE_AND_UPDATE }),
    validate({ object }) {
      const antiAffinity = objectAt(objectAt(objectAt(object ?? {}, "spec"), "affinity"), "podAntiAffinity");
      for (const term of objectsAt(antiAffinity, "requiredDuringSchedulingIgnoredDuringExecution")) {
        const key = stringAt(term, "topologyKey");
        if (key === HOSTNAME) continue;
        const why = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${key} but only key ${HOSTNAME} is allowed`;
        const name = stringAt(objectAt(object ?? {}, "metadata"), "name");
        throw forbidden({ group: "", resource: "pods" }, name, why);
      }
    },
  };
}

const CONTAINER_LISTS: readonly string[] = ["initContainers", "containers", "ephemeralContainers"];
const REPORTED_ERRORS_MAX = 100;

/** Forces each pod to pull its images, so that a pod cannot use a private image only because its node has cached it. */
export function alwaysPullImages(): AdmissionPlugin {
  return {
    name: "AlwaysPullImages",
    handles: handlesOnly({ group: "", resource: "pods", operations: CREATE_AND_UPDATE }),
    mutate(attributes) {
      return hasNewImages(attributes) ? withPullAlways(attributes.object) : undefined;
    },
    validate(attributes) {
      if (attributes.object === undefined || !hasNewImages(attributes)) return;
      const errors = [...unpulled(attributes.object).take(REPORTED_ERRORS_MAX)];
      // As kubernetes: the 403 errors, even a single one, are joined to a 500 without a reason.
      if (errors.length > 0)
        throw bareFailure(aggregateText(errors.map((why) => admissionForbidden(attributes, why).message)));
    },
  };
}

function hasNewImages({ operation, object, existing }: Attributes): boolean {
  if (operation !== "UPDATE") return true;
  const known = new Set(imagesOf(existing ?? {}));
  return imagesOf(object ?? {}).some((image) => !known.has(image));
}

function imagesOf(pod: JsonObject): string[] {
  const spec = objectAt(pod, "spec");
  return CONTAINER_LISTS.flatMap((list) => objectsAt(spec, list).map((container) => stringAt(container, "image")));
}

function withPullAlways(pod: JsonObject): JsonObject {
  const spec = { ...objectAt(pod, "spec") };
  for (const list of CONTAINER_LISTS)
    if (Array.isArray(spec[list]))
      spec[list] = objectsAt(spec, list).map((container) => ({ ...container, imagePullPolicy: "Always" }));
  if (Array.isArray(spec["volumes"]))
    spec["volumes"] = objectsAt(spec, "volumes").map((volume) =>
      isJsonObject(volume["image"]) ? { ...volume, image: { ...volume["image"], pullPolicy: "Always" } } : volume,
    );
  return { ...pod, spec };
}

function* unpulled(pod: JsonObject): Generator<string> {
  const spec = objectAt(pod, "spec");
  for (const list of CONTAINER_LISTS)
    for (const [index, container] of objectsAt(spec, list).entries())
      yield* notAlways(container["imagePullPolicy"], `spec.${list}[${index}].imagePullPolicy`);
  for (const [index, { image }] of objectsAt(spec, "volumes").entries())
    if (isJsonObject(image)) yield* notAlways(image["pullPolicy"], `spec.volumes[${index}].image.pullPolicy`);
}

function* notAlways(policy: unknown, field: string): Generator<string> {
  if (policy !== "Always") yield `${field}: ${unsupportedValue(field, policy ?? "", ["Always"]).message}`;
}

/** Lets a pod that requests an extended resource tolerate the taint of the nodes that provide it. */
export function extendedResourceToleration(): AdmissionPlugin {
  return {
    name: "ExtendedResourceToleration",
    handles: handlesOnly({ group: "", resource: "pods", operations: CREATE_AND_UPDATE }),
    mutate({ object: pod }) {
      const spec = objectAt(pod, "spec");
      const names = extendedResources(spec);
      if (names.size === 0) return undefined;
      const kept = objectsAt(spec, "tolerations").map((known) =>
        isSameToleration(known, names) ? tolerationOf(stringAt(known, "key")) : known,
      );
      const tolerated = new Set(kept.filter((known) => isSameToleration(known, names)).map(({ key }) => key));
      const added = [...names].filter((name) => !tolerated.has(name)).sort();
      return { ...pod, spec: { ...spec, tolerations: [...kept, ...added.map(tolerationOf)] } };
    },
  };
}

function tolerationOf(key: string): JsonObject {
  return { key, operator: "Exists", effect: "NoSchedule" };
}

function isSameToleration(known: JsonObject, names: ReadonlySet<string>): boolean {
  return (
    names.has(stringAt(known, "key")) &&
    known["operator"] === "Exists" &&
    known["effect"] === "NoSchedule" &&
    stringAt(known, "value") === ""
  );
}

function extendedResources(spec: JsonObject): ReadonlySet<string> {
  const names = new Set<string>();
  for (const container of [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")])
    for (const name of Object.keys(objectAt(objectAt(container, "resources"), "requests")))
      if (isExtendedResource(name)) names.add(name);
  return names;
}

function isExtendedResource(name: string): boolean {
  if (!name.includes("/") || name.includes("kubernetes.io/") || name.startsWith("requests.")) return false;
  return qualifiedNameErrors(`requests.${name}`).length === 0;
}
