/** Defaults, validation and warnings of CSIDrivers, CSINodes and CSIStorageCapacities. */
import { duplicateValue, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { jsonEquals, numberAt, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dnsSubdomainErrors, qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { canonicalQuantity, nanosOf } from "../../../meta/quantity.ts";
import { immutableErrors, labelSelectorErrors, nameErrors, nonNegativeErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { driverNameErrors } from "../pods/rules/formats.ts";
import { ownStruct, setMissing, setMissingInItems, setNullIfEmpty } from "../defaults.ts";
import { deprecatedNodeLabel } from "../pods/warnings/deprecated-node-labels.ts";
import { deprecatedExpressionWarnings } from "./node-selector.ts";
import type { ReleaseGates } from "../../release-gates.ts";
import { internalValue, isSameInternal } from "../internal-version/internal-value.ts";

const FS_GROUP_POLICIES: readonly string[] = ["File", "None", "ReadWriteOnceWithFSType"];
/** Sorted in the order in which kubernetes lists the supported values. */
const LIFECYCLE_MODES: readonly string[] = ["Persistent", "Ephemeral"];
const EXPIRATION_SECONDS_MIN = 600;
const EXPIRATION_SECONDS_MAX = 2 ** 32;
const UPDATE_PERIOD_SECONDS_MIN = 10;
const NODE_ID_BYTES_MAX = 256;
const TOKEN_IN_SECRETS_RECOMMENDED =
  "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";

export const CSI_DRIVER: Kind = {
  setDefaults(driver, { gates }) {
    const spec = ownStruct(driver, "spec");
    const defaults = {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: "ReadWriteOnceWithFSType",
      requiresRepublish: false,
      seLinuxMount: false,
      ...(gates.isOn("VolumeLimitScaling") && { preventPodSchedulingIfMissing: false }),
    };
    setMissing(spec, defaults);
    setMissingInItems(spec, "tokenRequests", { audience: "" });
    if (stringsAt(spec, "volumeLifecycleModes").length === 0) spec["volumeLifecycleModes"] = ["Persistent"];
  },
  prepareCreate: (driver, { gates }) => dropUnknown(objectAt(driver, "spec"), undefined, gates),
  prepareUpdate(driver, existing, { gates }) {
    dropUnknown(objectAt(driver, "spec"), objectAt(existing, "spec"), gates);
    // As kubernetes: the generation counts changes, and is absent after the create.
    if (jsonEquals(driver["spec"], existing["spec"])) return;
    const metadata = objectAt(driver, "metadata");
    driver["metadata"] = { ...metadata, generation: (numberAt(metadata, "generation") ?? 0) + 1 };
  },
  createErrors: driverErrors,
  *updateErrors(driver, existing) {
    yield* driverErrors(driver);
    const [spec, before] = [objectAt(driver, "spec"), objectAt(existing, "spec")];
    // As kubernetes: the path of attachRequired is misspelled.
    yield* immutableErrors(spec["attachRequired"], before["attachRequired"], "spec.attachedRequired");
    yield* immutableErrors(spec["volumeLifecycleModes"], before["volumeLifecycleModes"], "spec.volumeLifecycleModes");
  },
  *warnings(driver, existing, { gates }) {
    const spec = objectAt(driver, "spec");
    const before = objectAt(existing ?? {}, "spec");
    if (!gates.isOn("CSIServiceAccountTokenSecrets") || spec["serviceAccountTokenInSecrets"] !== undefined) return;
    const requests = objectsAt(spec, "tokenRequests");
    if (requests.length > 0 && !jsonEquals(requests, objectsAt(before, "tokenRequests")))
      yield TOKEN_IN_SECRETS_RECOMMENDED;
  },
};

function dropUnknown(spec: JsonObject, before: JsonObject | undefined, gates: ReleaseGates): void {
  const known: readonly (readonly [key: string, isKnown: boolean])[] = [
    ["nodeAllocatableUpdatePeriodSeconds", gates.isOn("MutableCSINodeAllocatableCount")],
    ["serviceAccountTokenInSecrets", gates.isOn("CSIServiceAccountTokenSecrets")],
    ["preventPodSchedulingIfMissing", gates.isOn("VolumeLimitScaling")],
  ];
  for (const [key, isKnown] of known) if (!isKnown && before?.[key] === undefined) delete spec[key];
}

function* driverErrors(driver: JsonObject): Generator<FieldError> {
  const spec = objectAt(driver, "spec");
  const policy = stringAt(spec, "fsGroupPolicy");
  if (!FS_GROUP_POLICIES.includes(policy)) yield unsupportedValue("spec.fsGroupPolicy", policy, FS_GROUP_POLICIES);
  yield* tokenRequestErrors(spec);
  for (const mode of stringsAt(spec, "volumeLifecycleModes"))
    if (!LIFECYCLE_MODES.includes(mode)) yield unsupportedValue("spec.volumeLifecycleModes", mode, LIFECYCLE_MODES);
  const period = numberAt(spec, "nodeAllocatableUpdatePeriodSeconds");
  if (period !== undefined && period < UPDATE_PERIOD_SECONDS_MIN)
    yield invalidValue(
      "spec.nodeAllocatableUpdatePeriodSeconds",
      period,
      "must be greater than or equal to 10 seconds",
    );
  const inSecrets = spec["serviceAccountTokenInSecrets"];
  if (inSecrets !== undefined && objectsAt(spec, "tokenRequests").length === 0)
    yield invalidValue(
      "spec.serviceAccountTokenInSecrets",
      inSecrets,
      "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
    );
}

function* tokenRequestErrors(spec: JsonObject): Generator<FieldError> {
  const audiences = new Set<string>();
  for (const [index, request] of objectsAt(spec, "tokenRequests").entries()) {
    const audience = stringAt(request, "audience");
    if (audiences.has(audience)) {
      yield duplicateValue(`spec.tokenRequests[${index}].audience`, audience);
      continue;
    }
    audiences.add(audience);
    const seconds = numberAt(request, "expirationSeconds");
    const field = `spec.tokenRequests[${index}].expirationSeconds`;
    if (seconds !== undefined && seconds < EXPIRATION_SECONDS_MIN)
      yield invalidValue(field, seconds, "may not specify a duration less than 10 minutes");
    if (seconds !== undefined && seconds > EXPIRATION_SECONDS_MAX)
      yield invalidValue(field, seconds, "may not specify a duration larger than 2^32 seconds");
  }
}

export const CSI_NODE: Kind = {
  setDefaults(node, { gates }) {
    if (gates.isOn("CSINodeStatus")) ownStruct(node, "status");
    const spec = ownStruct(node, "spec");
    setNullIfEmpty(spec, "drivers");
    setMissingInItems(spec, "drivers", { name: "", nodeID: "" });
    for (const driver of objectsAt(spec, "drivers")) setNullIfEmpty(driver, "topologyKeys");
  },
  prepareCreate(node, { gates }) {
    if (gates.isOn("CSINodeStatus")) node["status"] = {};
  },
  createErrors: nodeErrors,
  *updateErrors(node, existing, { gates }) {
    yield* nodeErrors(node);
    const drivers = objectsAt(objectAt(node, "spec"), "drivers");
    const byName = Map.groupBy(drivers, (driver) => stringAt(driver, "name"));
    for (const before of objectsAt(objectAt(existing, "spec"), "drivers"))
      for (const driver of byName.get(stringAt(before, "name")) ?? [])
        yield* driverChangeErrors(driver, before, gates.isOn("MutableCSINodeAllocatableCount"));
  },
};

function* driverChangeErrors(
  driver: JsonObject,
  before: JsonObject,
  isAllocatableMutable: boolean,
): Generator<FieldError> {
  const [now, old] = isAllocatableMutable ? [withoutAllocatable(driver), withoutAllocatable(before)] : [driver, before];
  if (!isSameInternal(now, old, "CSINodeDriver"))
    yield invalidValue("spec.drivers", internalValue(now, "CSINodeDriver"), "field is immutable");
}

function withoutAllocatable({ allocatable: _count, ...driver }: JsonObject): JsonObject {
  return driver;
}

function* nodeErrors(node: JsonObject): Generator<FieldError> {
  const names = new Set<string>();
  for (const [index, driver] of objectsAt(objectAt(node, "spec"), "drivers").entries()) {
    const field = `spec.drivers[${index}]`;
    const name = stringAt(driver, "name");
    yield* driverNameErrors(name, `${field}.name`);
    const nodeId = stringAt(driver, "nodeID");
    if (nodeId === "") yield required(`${field}.nodeID`);
    if (Buffer.byteLength(nodeId) > NODE_ID_BYTES_MAX)
      yield invalidValue(`${field}.nodeID`, nodeId, "must be 256 characters or less");
    yield* nonNegativeErrors(numberAt(objectAt(driver, "allocatable"), "count"), `${field}.allocatable.count`);
    if (names.has(name)) yield duplicateValue(`${field}.name`, name);
    names.add(name);
    yield* topologyKeyErrors(driver, field);
  }
}

function* topologyKeyErrors(driver: JsonObject, field: string): Generator<FieldError> {
  const keys = new Set<string>();
  for (const key of stringsAt(driver, "topologyKeys")) {
    if (key === "") yield required(field);
    if (keys.has(key)) yield duplicateValue(field, key);
    keys.add(key);
    for (const sentence of qualifiedNameErrors(key)) yield invalidValue(field, key, sentence);
  }
}

export const CSI_STORAGE_CAPACITY: Kind = {
  createErrors: (capacity) => capacityErrors(capacity, false),
  *updateErrors(capacity, existing) {
    const hadInvalidValues = labelSelectorErrors(objectAt(existing, "nodeTopology"), "").next().done !== true;
    yield* capacityErrors(capacity, hadInvalidValues);
    if (!isSameInternal(capacity["nodeTopology"], existing["nodeTopology"], "L"))
      yield invalidValue("nodeTopology", internalValue(capacity["nodeTopology"], "L"), "field is immutable");
    yield* immutableErrors(
      stringAt(capacity, "storageClassName"),
      stringAt(existing, "storageClassName"),
      "storageClassName",
    );
  },
  *warnings(capacity) {
    const topology = objectAt(capacity, "nodeTopology");
    yield* deprecatedExpressionWarnings(topology, "nodeTopology");
    for (const label of Object.keys(objectAt(topology, "matchLabels")).sort()) {
      const why = deprecatedNodeLabel(label);
      if (why !== undefined) yield `nodeTopology.matchLabels.${label}: ${why}`;
    }
  },
};

function* capacityErrors(capacity: JsonObject, allowsInvalidValues: boolean): Generator<FieldError> {
  for (const error of labelSelectorErrors(objectAt(capacity, "nodeTopology"), "nodeTopology"))
    if (!allowsInvalidValues || !/\.values\[\d+\]$/.test(error.field)) yield error;
  yield* nameErrors(stringAt(capacity, "storageClassName"), "storageClassName", dnsSubdomainErrors);
  const amount = capacity["capacity"];
  if (amount !== undefined && nanosOf(amount) < 0n)
    yield invalidValue("capacity", canonicalQuantity(String(amount)), "must be greater than or equal to 0");
}
