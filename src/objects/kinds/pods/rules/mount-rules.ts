/** Validation of volume mounts and volume devices of a container. */
import {
  forbiddenField,
  invalidValue,
  notFoundValue,
  required,
  unsupportedValue,
} from "../../../../meta/field-errors.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { descendingPathErrors } from "./formats.ts";

const PROPAGATIONS: readonly string[] = ["Bidirectional", "HostToContainer", "None"];
const RECURSIONS: readonly string[] = ["Disabled", "Enabled", "IfPossible"];

/** The valid volumes of the pod, keyed by name. */
export type Volumes = ReadonlyMap<string, JsonObject>;

export function* mountErrors(container: JsonObject, field: string, volumes: Volumes): Generator<FieldError> {
  const devices = objectsAt(container, "volumeDevices");
  const mounts = objectsAt(container, "volumeMounts");
  yield* volumeMountErrors(container, `${field}.volumeMounts`, { volumes, devices });
  yield* volumeDeviceErrors(devices, `${field}.volumeDevices`, { volumes, mounts });
}

function* volumeMountErrors(
  container: JsonObject,
  field: string,
  { volumes, devices }: { volumes: Volumes; devices: readonly JsonObject[] },
): Generator<FieldError> {
  const deviceNames = new Set(devices.map((device) => stringAt(device, "name")));
  const devicePaths = new Set(devices.map((device) => stringAt(device, "devicePath")));
  const paths = new Set<string>();
  for (const [index, mount] of objectsAt(container, "volumeMounts").entries()) {
    const at = `${field}[${index}]`;
    const name = stringAt(mount, "name");
    const path = stringAt(mount, "mountPath");
    if (name === "") yield required(`${at}.name`);
    if (!volumes.has(name)) yield notFoundValue(`${at}.name`, name);
    if (path === "") yield required(`${at}.mountPath`);
    if (paths.has(path)) yield invalidValue(`${at}.mountPath`, path, "must be unique");
    paths.add(path);
    if (deviceNames.has(name)) yield invalidValue(`${at}.name`, name, "must not already exist in volumeDevices");
    if (devicePaths.has(path))
      yield invalidValue(`${at}.mountPath`, path, "must not already exist as a path in volumeDevices");
    yield* oneMountErrors(mount, { field, at, container });
  }
}

/** As kubernetes: some of these errors name the list instead of the mount. */
function* oneMountErrors(
  mount: JsonObject,
  { field, at, container }: { field: string; at: string; container: JsonObject },
): Generator<FieldError> {
  const subPath = stringAt(mount, "subPath");
  const expression = stringAt(mount, "subPathExpr");
  if (subPath !== "") yield* descendingPathErrors(subPath, `${field}.subPath`);
  if (expression !== "") {
    if (subPath !== "")
      yield invalidValue(`${at}.subPathExpr`, expression, "subPathExpr and subPath are mutually exclusive");
    yield* descendingPathErrors(expression, `${field}.subPathExpr`);
  }
  const propagation = mount["mountPropagation"];
  if (propagation !== undefined && !PROPAGATIONS.includes(String(propagation)))
    yield unsupportedValue(`${field}.mountPropagation`, propagation, PROPAGATIONS);
  if (propagation === "Bidirectional" && objectAt(container, "securityContext")["privileged"] !== true)
    yield forbiddenField(
      `${field}.mountPropagation`,
      "Bidirectional mount propagation is available only to privileged containers",
    );
  yield* recursionErrors(mount, `${field}.recursiveReadOnly`);
}

function* recursionErrors(mount: JsonObject, field: string): Generator<FieldError> {
  const recursion = mount["recursiveReadOnly"];
  if (recursion === undefined || recursion === "Disabled") return;
  if (!RECURSIONS.includes(String(recursion))) {
    yield unsupportedValue(field, recursion, RECURSIONS);
    return;
  }
  if (mount["readOnly"] !== true) yield forbiddenField(field, "may only be specified when readOnly is true");
  const propagation = mount["mountPropagation"];
  if (propagation !== undefined && propagation !== "None")
    yield forbiddenField(field, "may only be specified when mountPropagation is None or not specified");
}

function* volumeDeviceErrors(
  devices: readonly JsonObject[],
  field: string,
  { volumes, mounts }: { volumes: Volumes; mounts: readonly JsonObject[] },
): Generator<FieldError> {
  const mountNames = new Set(mounts.map((mount) => stringAt(mount, "name")));
  const mountPaths = new Set(mounts.map((mount) => stringAt(mount, "mountPath")));
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [index, device] of devices.entries()) {
    const at = `${field}[${index}]`;
    const name = stringAt(device, "name");
    const path = stringAt(device, "devicePath");
    yield* deviceNameErrors(name, `${at}.name`, { isTaken: names.has(name), volume: volumes.get(name) });
    if (path === "") yield required(`${at}.devicePath`);
    if (paths.has(path)) yield invalidValue(`${at}.devicePath`, path, "must be unique");
    if (path.split("/").includes(".."))
      yield invalidValue(`${at}.devicePath`, path, "can not contain backsteps ('..')");
    else paths.add(path);
    if (mountNames.has(name)) yield invalidValue(`${at}.name`, name, "must not already exist in volumeMounts");
    if (mountPaths.has(path))
      yield invalidValue(`${at}.devicePath`, path, "must not already exist as a path in volumeMounts");
    if (name !== "") names.add(name);
  }
}

function* deviceNameErrors(
  name: string,
  field: string,
  { isTaken, volume }: { isTaken: boolean; volume: JsonObject | undefined },
): Generator<FieldError> {
  if (name === "") yield required(field);
  if (isTaken) yield invalidValue(field, name, "must be unique");
  if (volume === undefined) yield notFoundValue(field, name);
  else if (volume["persistentVolumeClaim"] === undefined && volume["ephemeral"] === undefined)
    yield invalidValue(
      field,
      name,
      "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
    );
}
