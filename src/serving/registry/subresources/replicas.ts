/** Reads and writes the desired replicas of a workload, its current replicas and its selector. */
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { splitFieldPath } from "../../../objects/json/json-path.ts";
import { nestedInteger, nestedText, withNestedValue, type NestedField } from "../../../objects/json/nested-field.ts";
import type { ReplicasPaths, ServedResource } from "../resource.ts";
import { scaleSelectorText, scaleLabelsText } from "./label-selector-text.ts";

interface Replicas {
  /** The desired replicas; undefined if the workload does not set them. */
  readonly wanted: number | undefined;
  readonly observed: number;
  readonly selector: string;
}

interface ReplicasPlace {
  /** Throws a StatusError if one of the fields has a wrong type. */
  read(workload: JsonObject): Replicas;
  /** Returns a copy of the workload with this number of desired replicas. */
  write(workload: JsonObject, wanted: unknown): JsonObject;
}

export function replicasPlaceOf({ scale }: ServedResource): ReplicasPlace {
  return scale === undefined ? BUILT_IN : customPlace(scale);
}

/** The desired replicas of a workload that does not set them. */
const REPLICAS_DEFAULT = 1;

const BUILT_IN: ReplicasPlace = {
  read: (workload) => ({
    wanted: integerOr(objectAt(workload, "spec")["replicas"], REPLICAS_DEFAULT),
    observed: integerOr(objectAt(workload, "status")["replicas"], 0),
    selector: selectorText(workload),
  }),
  write: (workload, replicas) => ({ ...workload, spec: { ...objectAt(workload, "spec"), replicas } }),
};

function selectorText(workload: JsonObject): string {
  const selector = objectAt(objectAt(workload, "spec"), "selector");
  return workload["kind"] === "ReplicationController" ? scaleLabelsText(selector) : scaleSelectorText(selector);
}

export function integerOr(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function customPlace({ specReplicasPath, statusReplicasPath, labelSelectorPath }: ReplicasPaths): ReplicasPlace {
  const spec = splitFieldPath(specReplicasPath);
  const status = splitFieldPath(statusReplicasPath);
  return {
    read(workload) {
      const wanted = found(nestedInteger(workload, spec));
      return {
        wanted: wanted === undefined ? undefined : toInt32(wanted),
        observed: toInt32(found(nestedInteger(workload, status)) ?? 0),
        selector:
          labelSelectorPath === "" ? "" : (found(nestedText(workload, splitFieldPath(labelSelectorPath))) ?? ""),
      };
    },
    write(workload, wanted) {
      const written = withNestedValue(workload, spec, wanted);
      if ("problem" in written) throw new StatusError("", written.problem);
      return written.object;
    },
  };
}

function found<T>({ value, problem }: NestedField<T>): T | undefined {
  if (problem !== undefined) throw new StatusError("", problem);
  return value;
}

/** As kubernetes: a number that is too large for int32 wraps around. */
function toInt32(value: number): number {
  return value | 0;
}
