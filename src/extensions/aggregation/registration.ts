/**
 * Decides which local group versions have an APIService, as kube-apiserver's autoregistration does. Pure. APIServices
 * of built-in group versions are reconciled once at start, those of custom group versions always. A user takes over an
 * APIService by removing its automanaged label.
 */
import { jsonEquals, objectAt, type JsonObject } from "../../meta/json.ts";
import type { ApiServiceObject } from "./api-service.ts";

export interface LocalGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
  /** Whether a CRD defines the group version. Its APIService is then deleted when the CRD is deleted. */
  readonly isCustom: boolean;
}

export const AUTOMANAGED_LABEL = "kube-aggregator.kubernetes.io/automanaged";
type Automanaged = "onstart" | "true";

export interface RegistrationFacts {
  readonly desired: LocalGroupVersion | undefined;
  readonly current: ApiServiceObject | undefined;
  /** Whether an APIService of this name existed when this server started. */
  readonly existedAtStart: boolean;
  /** Whether this server has already reconciled the APIService. */
  readonly isSettled: boolean;
}

export type RegistrationStep =
  | { readonly kind: "none" }
  | { readonly kind: "create" | "update"; readonly object: ApiServiceObject }
  | { readonly kind: "delete"; readonly object: ApiServiceObject };

const NONE: RegistrationStep = { kind: "none" };

export function apiServiceName({ group, version }: Pick<LocalGroupVersion, "group" | "version">): string {
  return `${version}.${group}`;
}

export function decideRegistration({ desired, current, ...seen }: RegistrationFacts): RegistrationStep {
  if (desired !== undefined && !desired.isCustom && seen.isSettled) return NONE;
  if (current === undefined) return desired === undefined ? NONE : { kind: "create", object: objectOf(desired) };
  const managed = automanaged(current);
  if (managed === undefined) return NONE;
  if (managed === "onstart" && (!seen.existedAtStart || seen.isSettled)) return NONE;
  if (desired === undefined) return { kind: "delete", object: current };
  const spec = specOf(desired);
  return jsonEquals(objectAt({ spec: current.spec }, "spec"), spec)
    ? NONE
    : { kind: "update", object: { ...current, spec } };
}

function objectOf(desired: LocalGroupVersion): ApiServiceObject {
  const label: Automanaged = desired.isCustom ? "true" : "onstart";
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: apiServiceName(desired), labels: { [AUTOMANAGED_LABEL]: label } },
    spec: specOf(desired),
  };
}

function specOf({ group, version, groupPriorityMinimum, versionPriority }: LocalGroupVersion): JsonObject {
  // As kubernetes: `group` is omitted for the core group.
  return { ...(group === "" ? {} : { group }), version, groupPriorityMinimum, versionPriority };
}

function automanaged({ metadata }: ApiServiceObject): Automanaged | undefined {
  const label = metadata?.labels?.[AUTOMANAGED_LABEL];
  return label === "onstart" || label === "true" ? label : undefined;
}
