/** How many replicas a workload is to have, in the one form that all scalable kinds share. */
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { invalid } from "../../meta/status-error.ts";
import type { RegistryContext } from "../context.ts";
import { invalidValue } from "../../meta/field-errors.ts";
import { metadataErrors } from "../metadata-validation.ts";
import { objectIn } from "../representation.ts";
import type { ServedResource } from "../resource.ts";
import { updateThrough, type DoorRequest, type SubresourceDoor } from "./door-update.ts";
import { labelSelectorText, labelsText } from "./label-selector-text.ts";
import { refuseMisplaced } from "../preconditions.ts";

export const SCALE_API_VERSION = "autoscaling/v1";
export const SCALE_KIND = "Scale";

/** The workload has one replica unless it says otherwise. */
const REPLICAS_DEFAULT = 1;

export function scaleOf(workload: JsonObject): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = objectAt(workload, "metadata");
  const spec = objectAt(workload, "spec");
  const selector = selectorText(workload);
  const replicas = integer(spec["replicas"], REPLICAS_DEFAULT);
  return {
    kind: SCALE_KIND,
    apiVersion: SCALE_API_VERSION,
    metadata: {
      name,
      namespace,
      uid,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      creationTimestamp,
    },
    // As kubernetes writes a Scale: no replicas wanted is not said, none observed is.
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: integer(objectAt(workload, "status")["replicas"], 0),
      ...(selector === "" ? {} : { selector }),
    },
  };
}

function selectorText(workload: JsonObject): string {
  const selector = objectAt(objectAt(workload, "spec"), "selector");
  return workload["kind"] === "ReplicationController" ? labelsText(selector) : labelSelectorText(selector);
}

function integer(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

const SCALE_DOOR: SubresourceDoor = {
  subresource: "scale",
  isTimed: false,
  pass: (wish, existing) => ({
    ...existing,
    spec: { ...objectAt(existing, "spec"), replicas: objectAt(wish, "spec")["replicas"] },
  }),
  errors: () => [],
};

export interface ScaleRequest extends Omit<DoorRequest, "next"> {
  /** The wish, made from the current Scale. */
  readonly next: (scale: JsonObject) => JsonObject;
}

/** Writes the replicas; answers the Scale as it is now. */
export async function updateScale(
  context: RegistryContext,
  served: ServedResource,
  request: ScaleRequest,
): Promise<JsonObject> {
  const next = (workload: JsonObject): JsonObject => {
    const scale = request.next(scaleOf(workload));
    refuseMisplaced(scale, request);
    refuseInvalid(scale, request.name);
    const { uid, resourceVersion } = objectAt(scale, "metadata");
    const replicas = integer(objectAt(scale, "spec")["replicas"], 0);
    return {
      ...workload,
      metadata: { ...objectAt(workload, "metadata"), uid, resourceVersion },
      spec: { ...objectAt(workload, "spec"), replicas },
    };
  };
  const written = await updateThrough(context, served, SCALE_DOOR, { ...request, next });
  return scaleOf("entry" in written ? objectIn(written.entry, served) : written.object);
}

function refuseInvalid(scale: JsonObject, name: string): void {
  const replicas = integer(objectAt(scale, "spec")["replicas"], 0);
  const errors = metadataErrors(
    { ...objectAt(scale, "metadata"), namespace: "given" },
    { nameRule: () => [], namespaced: true },
  );
  if (replicas < 0) errors.push(invalidValue("spec.replicas", replicas, "must be greater than or equal to 0"));
  if (errors.length > 0) throw invalid({ group: "autoscaling", kind: SCALE_KIND }, name, errors);
}
