/** Defaults and validation of FlowSchemas and PriorityLevelConfigurations. */
import { duplicateValue, forbiddenField, invalidValue, required } from "../../../meta/field-errors.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { Kind } from "../kind.ts";
import { ownPointer, ownStruct, setEmpty, setMissing, setMissingInItems } from "../defaults.ts";
import { MANDATORY_FLOW_SCHEMAS, MANDATORY_PRIORITY_LEVELS } from "./flow-control-fixed.ts";
import { flowSchemaSpecErrors } from "./flow-schema-rules.ts";
import { priorityLevelSpecErrors, type SharesField } from "./priority-level-rules.ts";
import { internalValue, isSameInternal } from "../internal-version/internal-value.ts";

const PRESERVED_ZERO_ANNOTATION = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
const DEFAULT_SHARES = 30;

export const FLOW_SCHEMA: Kind = {
  setDefaults(schema) {
    const spec = ownStruct(schema, "spec");
    ownStruct(spec, "priorityLevelConfiguration");
    setEmpty(spec, { matchingPrecedence: 1000 });
    setRuleDefaults(spec);
    setStatusDefaults(schema);
  },
  prepareCreate: clearStatus,
  createErrors: flowSchemaErrors,
  updateErrors: flowSchemaErrors,
  statusUpdateErrors: conditionErrors,
  keepsMetadataInStatus: true,
};

function setStatusDefaults(object: JsonObject): void {
  setMissingInItems(ownStruct(object, "status"), "conditions", { lastTransitionTime: null });
}

/** Sets absent lists that Go always writes to null. */
function setRuleDefaults(spec: JsonObject): void {
  if (!Array.isArray(spec["rules"])) return;
  const verbs = { verbs: null };
  spec["rules"] = objectsAt(spec, "rules").map((rule) => {
    const own = { subjects: null, ...rule };
    setMissingInItems(own, "resourceRules", { ...verbs, apiGroups: null, resources: null, namespaces: null });
    setMissingInItems(own, "nonResourceRules", { ...verbs, nonResourceURLs: null });
    return own;
  });
}

interface LevelVersion {
  readonly sharesField: SharesField;
  /** True for versions in which zero shares count as absent, unless an annotation preserves them. */
  readonly isZeroAbsent: boolean;
}

export const PRIORITY_LEVEL_CONFIGURATION: Kind = priorityLevelOf({
  sharesField: "nominalConcurrencyShares",
  isZeroAbsent: false,
});
export const BETA_PRIORITY_LEVEL_CONFIGURATION: Kind = priorityLevelOf({
  sharesField: "nominalConcurrencyShares",
  isZeroAbsent: true,
});
/** In v1beta2 the field is named assuredConcurrencyShares. */
export const ASSURED_PRIORITY_LEVEL_CONFIGURATION: Kind = priorityLevelOf({
  sharesField: "assuredConcurrencyShares",
  isZeroAbsent: true,
});

function priorityLevelOf(version: LevelVersion): Kind {
  const errors = (level: JsonObject): Iterable<FieldError> => priorityLevelErrors(level, version);
  return {
    setDefaults(level) {
      const spec = ownStruct(level, "spec");
      const limited = ownPointer(spec, "limited");
      if (limited !== undefined) setLimitedDefaults(limited, objectAt(level, "metadata"), version);
      const exempt = ownPointer(spec, "exempt");
      if (exempt !== undefined) setMissing(exempt, { nominalConcurrencyShares: 0, lendablePercent: 0 });
      setStatusDefaults(level);
    },
    prepareCreate: clearStatus,
    createErrors: errors,
    updateErrors: errors,
    statusUpdateErrors: conditionErrors,
    keepsMetadataInStatus: true,
  };
}

function setLimitedDefaults(
  limited: JsonObject,
  metadata: JsonObject,
  { sharesField, isZeroAbsent }: LevelVersion,
): void {
  const shares = { [sharesField]: DEFAULT_SHARES };
  if (isZeroAbsent && !preservesZero(metadata)) setEmpty(limited, shares);
  else setMissing(limited, shares);
  setMissing(limited, { lendablePercent: 0 });
  const queuing = ownPointer(ownStruct(limited, "limitResponse"), "queuing");
  if (queuing !== undefined) setEmpty(queuing, { handSize: 8, queues: 64, queueLengthLimit: 50 });
}

function clearStatus(object: JsonObject): void {
  object["status"] = {};
}

function* flowSchemaErrors(schema: JsonObject): Generator<FieldError> {
  const name = stringAt(objectAt(schema, "metadata"), "name");
  const spec = objectAt(schema, "spec");
  yield* flowSchemaSpecErrors(spec, name);
  const fixed = MANDATORY_FLOW_SCHEMAS.get(name);
  if (fixed !== undefined && !isSameInternal(spec, fixed, "FlowSchemaSpec"))
    yield invalidValue("spec", internalValue(spec, "FlowSchemaSpec"), `spec of '${name}' must equal the fixed value`);
  yield* conditionErrors(schema);
}

function* priorityLevelErrors(level: JsonObject, { sharesField, isZeroAbsent }: LevelVersion): Generator<FieldError> {
  const metadata = objectAt(level, "metadata");
  const name = stringAt(metadata, "name");
  if (!isZeroAbsent && preservesZero(metadata))
    yield forbiddenField("metadata.annotations", `annotation '${PRESERVED_ZERO_ANNOTATION}' is forbidden`);
  const spec = objectAt(level, "spec");
  yield* priorityLevelSpecErrors(spec, name, sharesField);
  yield* fixedLevelErrors(withNominalShares(spec, sharesField), name);
  yield* conditionErrors(level);
}

function preservesZero(metadata: JsonObject): boolean {
  return Object.hasOwn(objectAt(metadata, "annotations"), PRESERVED_ZERO_ANNOTATION);
}

function withNominalShares(spec: JsonObject, sharesField: SharesField): JsonObject {
  if (sharesField === "nominalConcurrencyShares" || spec["limited"] === undefined) return spec;
  const limited = objectAt(spec, "limited");
  return { ...spec, limited: { ...limited, nominalConcurrencyShares: limited[sharesField] } };
}

function* fixedLevelErrors(spec: JsonObject, name: string): Generator<FieldError> {
  const fixed = MANDATORY_PRIORITY_LEVELS.get(name);
  if (fixed === undefined) return;
  const isExempt = name === "exempt";
  const compared = isExempt ? { ...spec, exempt: fixed["exempt"] } : spec;
  const besides = isExempt ? " except the 'spec.exempt' field" : "";
  if (!isSameInternal(compared, fixed, "PriorityLevelConfigurationSpec"))
    yield invalidValue(
      "spec",
      internalValue(spec, "PriorityLevelConfigurationSpec"),
      `spec of '${name}'${besides} must equal the fixed value`,
    );
}

function* conditionErrors(object: JsonObject): Generator<FieldError> {
  const seen = new Set<string>();
  for (const [index, condition] of objectsAt(objectAt(object, "status"), "conditions").entries()) {
    const field = `status.conditions[${index}].type`;
    const type = stringAt(condition, "type");
    if (seen.has(type)) yield duplicateValue(field, type);
    seen.add(type);
    if (type === "") yield required(field);
  }
}
