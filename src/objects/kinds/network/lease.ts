/** Validation of Leases and LeaseCandidates. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { immutableErrors, nonNegativeErrors, positiveErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { compareVersions, versionOf } from "../../../meta/semantic-version.ts";

export const LEASE: Kind = {
  setDefaults(lease) {
    lease["spec"] = objectAt(lease, "spec");
  },
  prepareCreate: (lease) => dropCoordination(lease, {}),
  prepareUpdate: dropCoordination,
  createErrors: leaseErrors,
  updateErrors: leaseErrors,
};

/**
 * As kubernetes without the feature CoordinatedLeaderElection: only an object that already has these fields keeps them.
 */
function dropCoordination(lease: JsonObject, existing: JsonObject): void {
  const spec: JsonObject = { ...objectAt(lease, "spec") };
  for (const key of ["strategy", "preferredHolder"])
    if (objectAt(existing, "spec")[key] === undefined) delete spec[key];
  lease["spec"] = spec;
}

function* leaseErrors(lease: JsonObject): Generator<FieldError> {
  const spec = objectAt(lease, "spec");
  yield* positiveErrors(numberAt(spec, "leaseDurationSeconds"), "spec.leaseDurationSeconds");
  yield* nonNegativeErrors(numberAt(spec, "leaseTransitions"), "spec.leaseTransitions");
  const strategy = stringAt(spec, "strategy");
  if (spec["strategy"] !== undefined) yield* strategyErrors(strategy, "spec.strategy");
  if (stringAt(spec, "preferredHolder") !== "" && strategy === "")
    yield forbiddenField("spec.preferredHolder", "may only be specified if `strategy` is defined");
}

const OLDEST = "OldestEmulationVersion";

/** As kubernetes: the path repeats the name of the field. */
function* strategyErrors(strategy: string, field: string): Generator<FieldError> {
  if (!strategy.includes("/")) {
    if (strategy !== OLDEST) yield unsupportedValue(`${field}.strategy`, strategy, [OLDEST]);
    return;
  }
  for (const sentence of qualifiedNameErrors(strategy)) yield invalidValue(`${field}.strategy`, strategy, sentence);
}

export const LEASE_CANDIDATE: Kind = {
  createErrors: candidateErrors,
  *updateErrors(candidate, existing) {
    yield* candidateErrors(candidate);
    const name = stringAt(objectAt(candidate, "spec"), "leaseName");
    yield* immutableErrors(name, stringAt(objectAt(existing, "spec"), "leaseName"), "spec.leaseName");
  },
};

const NO_VERSION = "must be a valid semantic version";

function* candidateErrors(candidate: JsonObject): Generator<FieldError> {
  const spec = objectAt(candidate, "spec");
  if (stringAt(spec, "leaseName") === "") yield required("spec.leaseName");
  const emulation = stringAt(spec, "emulationVersion");
  const binary = stringAt(spec, "binaryVersion");
  const emulated = versionOf(emulation);
  const own = versionOf(binary);
  if (emulation !== "" && emulated === undefined) yield invalidValue("spec.emulationVersion", emulation, NO_VERSION);
  if (binary === "") yield required("spec.binaryVersion");
  else if (own === undefined) yield invalidValue("spec.binaryVersion", binary, NO_VERSION);
  if (binary !== "" && emulation !== "" && compareVersions(own, emulated) < 0)
    yield invalidValue("spec.binaryVersion", binary, "must be greater than or equal to `emulationVersion`");
  const strategy = stringAt(spec, "strategy");
  if (strategy === "") {
    yield required("spec.strategy");
    return;
  }
  if (strategy === OLDEST && compareVersions(emulated, undefined) === 0)
    yield required("spec.emulationVersion", "must be specified when `strategy` is 'OldestEmulationVersion'");
  yield* strategyErrors(strategy, "spec.strategy");
}
