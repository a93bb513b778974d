/** Copies the AppArmor profiles of a new pod from the deprecated annotations to the fields that replaced them. */
import { jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { KindContext } from "../kind.ts";
import { containersWithFields } from "./rules/container-visit.ts";

const APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/";
const LOCALHOST = "localhost/";
const PROFILE_LENGTH_MAX = 4095;

export function withAppArmorFields(spec: JsonObject, annotations: JsonObject, context: KindContext): JsonObject {
  const isAnnotated = Object.keys(annotations).some((key) => key.startsWith(APP_ARMOR_ANNOTATION));
  if (!isAnnotated || !context.gates.isOn("AppArmorFields") || stringAt(objectAt(spec, "os"), "name") === "windows")
    return spec;
  const ofPod = objectAt(spec, "securityContext")["appArmorProfile"];
  const next = { ...spec };
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const)
    if (spec[list] !== undefined)
      next[list] = objectsAt(spec, list).map((container) => withProfile(container, annotations, ofPod));
  return next;
}

function withProfile(container: JsonObject, annotations: JsonObject, ofPod: unknown): JsonObject {
  const annotation = annotations[APP_ARMOR_ANNOTATION + stringAt(container, "name")];
  const security = objectAt(container, "securityContext");
  if (annotation === undefined || security["appArmorProfile"] !== undefined) return container;
  const profile = profileOf(String(annotation));
  if (profile === undefined || jsonEquals(profile, ofPod)) return container;
  return { ...container, securityContext: { ...security, appArmorProfile: profile } };
}

/** The profile of an annotation; undefined for an annotation that has no equivalent field value. */
function profileOf(annotation: string): JsonObject | undefined {
  if (annotation === "unconfined") return { type: "Unconfined" };
  if (annotation === "runtime/default") return { type: "RuntimeDefault" };
  const name = annotation.startsWith(LOCALHOST) ? annotation.slice(LOCALHOST.length) : "";
  const isProfile = name !== "" && name.trim() === name && name.length <= PROFILE_LENGTH_MAX;
  return isProfile ? { type: "Localhost", localhostProfile: name } : undefined;
}

/**
 * Warns about each AppArmor annotation, unless the container has a field with another profile or the pod has a field
 * with the same profile. A container field with the same profile does not count, because the server may have copied it
 * from the annotation. `field`: the path of the annotations.
 */
export function* appArmorWarnings(spec: JsonObject, annotations: JsonObject, field: string): Generator<string> {
  const ofPod = objectAt(spec, "securityContext")["appArmorProfile"];
  for (const { container } of containersWithFields(spec, "")) {
    const key = APP_ARMOR_ANNOTATION + stringAt(container, "name");
    const annotation = annotations[key];
    if (annotation === undefined) continue;
    const profile = profileOf(String(annotation));
    const own = objectAt(container, "securityContext")["appArmorProfile"];
    const isOwn = own !== undefined && !jsonEquals(own, profile);
    if (!isOwn && (profile === undefined || !jsonEquals(profile, ofPod)))
      yield `${field}[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`;
  }
}
