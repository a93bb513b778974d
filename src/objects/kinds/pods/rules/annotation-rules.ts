/** Validation of the pod annotations that Kubernetes interprets. */
import { forbiddenField, invalidValue, tooLong } from "../../../../meta/field-errors.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { containersWithFields } from "./container-visit.ts";
import { descendingPathErrors } from "./formats.ts";

const ANNOTATIONS_BYTES_MAX = 262_144;
const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
const INT32_MAX = 2_147_483_647;
const LOCALHOST = "localhost/";
const UNCONFINED = "unconfined";
const RUNTIME_DEFAULT = "runtime/default";
const DOCKER_DEFAULT = "docker/default";

export const MIRROR_POD = "kubernetes.io/config.mirror";
export const SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod";
export const SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR_CONTAINER = "container.apparmor.security.beta.kubernetes.io/";

/** Validates the annotations of any object at `field`. */
export function* annotationsErrors(annotations: JsonObject, field: string): Generator<FieldError> {
  let bytes = 0;
  for (const key of Object.keys(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(annotations[key]));
    for (const sentence of qualifiedNameErrors(key.toLowerCase())) yield invalidValue(field, key, sentence);
  }
  if (bytes > ANNOTATIONS_BYTES_MAX) yield tooLong(field, ANNOTATIONS_BYTES_MAX);
}

export function* podAnnotationErrors(annotations: JsonObject, spec: JsonObject, field: string): Generator<FieldError> {
  const mirror = annotations[MIRROR_POD];
  if (mirror !== undefined && stringAt(spec, "nodeName") === "")
    yield invalidValue(`${field}[${MIRROR_POD}]`, mirror, "must set spec.nodeName if mirror pod annotation is set");
  const cost = annotations[DELETION_COST];
  if (cost !== undefined && !isDeletionCost(String(cost)))
    yield invalidValue(`${field}[${DELETION_COST}]`, cost, "must be a 32bit integer");
  if (annotations[SECCOMP_POD] !== undefined)
    yield* seccompProfileErrors(String(annotations[SECCOMP_POD]), `${field}.${SECCOMP_POD}`);
  for (const [key, profile] of Object.entries(annotations))
    if (key.startsWith(SECCOMP_CONTAINER)) yield* seccompProfileErrors(String(profile), `${field}.${key}`);
  yield* appArmorAnnotationErrors(annotations, spec, field);
}

function isDeletionCost(text: string): boolean {
  return (
    /^(0|-?[0-9]+)$/.test(text) && !/^0[0-9]/.test(text) && Number(text) >= -INT32_MAX - 1 && Number(text) <= INT32_MAX
  );
}

function* seccompProfileErrors(profile: string, field: string): Generator<FieldError> {
  if ([RUNTIME_DEFAULT, DOCKER_DEFAULT, UNCONFINED].includes(profile)) return;
  if (profile.startsWith(LOCALHOST)) yield* descendingPathErrors(profile.slice(LOCALHOST.length), field);
  else yield invalidValue(field, profile, "must be a valid seccomp profile");
}

function* appArmorAnnotationErrors(annotations: JsonObject, spec: JsonObject, field: string): Generator<FieldError> {
  const keys = Object.keys(annotations).filter((key) => key.startsWith(APP_ARMOR_CONTAINER));
  if (keys.length === 0) return;
  const names = new Set(containersWithFields(spec, "").map(({ container }) => stringAt(container, "name")));
  for (const key of keys) {
    const name = key.slice(APP_ARMOR_CONTAINER.length);
    const profile = String(annotations[key]);
    if (!names.has(name)) yield invalidValue(`${field}[${key}]`, name, "container not found");
    if (!["", RUNTIME_DEFAULT, UNCONFINED].includes(profile) && !profile.startsWith(LOCALHOST))
      yield invalidValue(`${field}[${key}]`, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`);
  }
}

/** Rejects an annotation that contradicts the field which replaced it. `field`: the path of the spec. */
export function* profileMatchErrors(annotations: JsonObject, spec: JsonObject, field: string): Generator<FieldError> {
  const ofPod = objectAt(spec, "securityContext");
  yield* matchErrors(annotations[SECCOMP_POD], ofPod["seccompProfile"], {
    field: `${field}.securityContext.seccompProfile`,
    what: "seccomp",
  });
  for (const { container, field: at } of containersWithFields(spec, field))
    yield* matchErrors(
      annotations[SECCOMP_CONTAINER + stringAt(container, "name")],
      objectAt(container, "securityContext")["seccompProfile"],
      { field: `${at}.securityContext.seccompProfile`, what: "seccomp" },
    );
  if (stringAt(objectAt(spec, "os"), "name") === "windows") return;
  for (const { container, field: at } of containersWithFields(spec, field))
    yield* matchErrors(
      annotations[APP_ARMOR_CONTAINER + stringAt(container, "name")],
      objectAt(container, "securityContext")["appArmorProfile"] ?? ofPod["appArmorProfile"],
      { field: `${at}.securityContext.appArmorProfile`, what: "apparmor" },
    );
}

function* matchErrors(
  annotation: unknown,
  profile: unknown,
  { field, what }: { field: string; what: "seccomp" | "apparmor" },
): Generator<FieldError> {
  if (typeof annotation !== "string" || !isJsonObject(profile)) return;
  const type = stringAt(profile, "type");
  const isOfType =
    type === "Unconfined"
      ? annotation === UNCONFINED
      : type === "RuntimeDefault"
        ? annotation === RUNTIME_DEFAULT || (what === "seccomp" && annotation === DOCKER_DEFAULT)
        : type !== "Localhost" || annotation.startsWith(LOCALHOST);
  if (!isOfType) yield forbiddenField(`${field}.type`, `${what} type in annotation and field must match`);
  else if (type === "Localhost" && annotation.slice(LOCALHOST.length) !== profile["localhostProfile"])
    yield forbiddenField(`${field}.localhostProfile`, `${what} profile in annotation and field must match`);
}

/** Rejects changes of immutable annotations. `field`: the path of the annotations. */
export function* annotationUpdateErrors(next: JsonObject, before: JsonObject, field: string): Generator<FieldError> {
  for (const key of Object.keys(before))
    if (next[key] !== before[key]) {
      if (key.startsWith(APP_ARMOR_CONTAINER))
        yield forbiddenField(`${field}[${key}]`, "may not remove or update AppArmor annotations");
      if (key === MIRROR_POD)
        yield forbiddenField(`${field}[${key}]`, "may not remove or update mirror pod annotation");
    }
  for (const key of Object.keys(next))
    if (before[key] === undefined) {
      if (key.startsWith(APP_ARMOR_CONTAINER))
        yield forbiddenField(`${field}[${key}]`, "may not add AppArmor annotations");
      if (key === MIRROR_POD) yield forbiddenField(`${field}[${key}]`, "may not add mirror pod annotation");
    }
}
