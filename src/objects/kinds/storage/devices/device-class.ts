/** Defaults and validation of DeviceClasses. */
import { invalidValue } from "../../../../meta/field-errors.ts";
import { objectAt, objectsAt, type JsonObject } from "../../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { Kind } from "../../kind.ts";
import { ownStruct } from "../../defaults.ts";
import { configurationErrors, listErrors, selectorsErrors } from "./device-checks.ts";

const CONFIG_MAX = 32;

export const DEVICE_CLASS: Kind = {
  setDefaults(deviceClass) {
    ownStruct(deviceClass, "spec");
  },
  prepareCreate(deviceClass, { gates }) {
    if (!gates.isOn("DRAExtendedResource")) delete objectAt(deviceClass, "spec")["extendedResourceName"];
  },
  prepareUpdate(deviceClass, existing, { gates }) {
    const before = objectAt(existing, "spec")["extendedResourceName"];
    if (!gates.isOn("DRAExtendedResource") && before === undefined)
      delete objectAt(deviceClass, "spec")["extendedResourceName"];
  },
  createErrors: deviceClassErrors,
  updateErrors: deviceClassErrors,
};

function* deviceClassErrors(deviceClass: JsonObject): Generator<FieldError> {
  const spec = objectAt(deviceClass, "spec");
  yield* selectorsErrors(spec, "spec");
  yield* listErrors(objectsAt(spec, "config"), "spec.config", { max: CONFIG_MAX, errors: configurationErrors });
  const name = spec["extendedResourceName"];
  if (typeof name === "string" && !isExtendedResourceName(name))
    yield invalidValue("spec.extendedResourceName", name, "must be a valid extended resource name");
}

function isExtendedResourceName(name: string): boolean {
  const isNative = !name.includes("/") || name.includes("kubernetes.io/");
  return !isNative && !name.startsWith("requests.") && qualifiedNameErrors(`requests.${name}`).length === 0;
}
