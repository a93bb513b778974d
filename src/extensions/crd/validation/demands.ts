/**
 * Decides which validation rules apply to a CRD. On an update, a rule applies only if the stored CRD already satisfies
 * it (ratcheting).
 */
import { jsonEquals, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { parseStructural } from "../structural-schema/parse.ts";
import { conditionsOf, isTrue } from "../../../objects/kinds/storage-versions/conditions.ts";
import { hasKnownReviewVersion, hasValidBundle, type ConversionDemands } from "./conversion-rules.ts";
import { hasUnprunedDefaults } from "./default-values.ts";
import { internalSpec, openApiSchema, schemasOf, type InternalSpec } from "./internal-spec.ts";
import { hasNonAtomicSetItems, listItemErrors } from "./list-rules.ts";
import { eachSchema, hasDefault, isTooDeep, someSchema, schemaType, VALIDATIONS, PRESERVES } from "./schema-node.ts";
import { isKnownType } from "./schema-rules.ts";
import { structuralErrors } from "./structural-rules.ts";
import { unreadableReason } from "./unsupported-members.ts";
import type { ValidationDemands } from "./version-schema-rules.ts";
import { SELECTABLE_FIELDS_MAX } from "./version-rules.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

export interface Demands {
  readonly schemas: ValidationDemands;
  readonly conversion: ConversionDemands;
  /** Whether every version must have a schema: true on create, and on update if every stored version has one. */
  readonly hasSchemas: boolean;
  /** Whether the stored CRD has the same schema for the version. */
  isUnchanged(version: string): boolean;
  /**
   * Whether the version may have too many selectable fields, because the stored CRD has the same list; "" stands for
   * the list that all versions share.
   */
  allowsTooMany(version: string): boolean;
}

export function createDemands(gates: ReleaseGates): Demands {
  return {
    schemas: {
      structural: true,
      knownTypes: true,
      prunedDefaults: true,
      atomicSets: true,
      presentMapKeys: true,
      gates,
    },
    conversion: { knownReviewVersion: true, validBundle: false },
    hasSchemas: true,
    isUnchanged: () => false,
    allowsTooMany: () => false,
  };
}

export function updateDemands(crd: JsonObject, existing: JsonObject, gates: ReleaseGates): Demands {
  const spec = objectAt(crd, "spec");
  const before = objectAt(existing, "spec");
  const stored = internalSpec(before);
  const schemas = schemasOf(stored).filter((schema) => !isTooDeep(schema));
  return {
    schemas: {
      structural: !schemas.some((schema) => isNonStructural(schema, gates)),
      knownTypes: !schemas.some((schema) => someSchema(schema, (one) => !isKnownType(schemaType(one)))),
      prunedDefaults: !schemas.some((schema) => isUnpruned(schema, gates)),
      atomicSets: !schemas.some((schema) => someSchema(schema, hasNonAtomicSetItems)),
      presentMapKeys: !schemas.some((schema) => someSchema(schema, hasListItemErrors)),
      gates,
    },
    conversion: conversionDemands(existing),
    hasSchemas: openApiSchema(stored.common) !== undefined || stored.versions.every((one) => openApiSchema(one)),
    isUnchanged: (version) => jsonEquals(schemaOf(spec, version), schemaOf(before, version)),
    allowsTooMany: (version) =>
      gates.isOn("CRDSelectableFieldsRatcheting") && allowsTooMany(internalSpec(spec), stored, version),
  };
}

function schemaOf(spec: JsonObject, version: string): unknown {
  const found = objectsAt(spec, "versions").find((one) => stringAt(one, "name") === version);
  // A symbol, because a version that does not exist must not equal another missing version.
  return found === undefined ? Symbol(version) : found["schema"];
}

function hasListItemErrors(schema: JsonObject): boolean {
  return listItemErrors(schema, "").next().done !== true;
}

function isNonStructural(schema: JsonObject, gates: ReleaseGates): boolean {
  return unreadableReason(schema) !== undefined || structuralErrors(schema, "", gates).length > 0;
}

function isUnpruned(schema: JsonObject, gates: ReleaseGates): boolean {
  if (!someSchema(schema, hasDefault) || isNonStructural(schema, gates)) return false;
  return hasUnprunedDefaults(parseStructural(schema));
}

function conversionDemands(existing: JsonObject): ConversionDemands {
  const webhook = objectAt(objectAt(objectAt(existing, "spec"), "conversion"), "webhook");
  const reviewVersions = stringsAt(webhook, "conversionReviewVersions");
  const clientConfig = objectAt(webhook, "clientConfig");
  const isEstablished = isTrue(conditionsOf(objectAt(existing, "status")), "Established");
  return {
    knownReviewVersion: reviewVersions.length === 0 || hasKnownReviewVersion(reviewVersions),
    validBundle: isEstablished && hasValidBundle(clientConfig),
  };
}

function allowsTooMany(now: InternalSpec, before: InternalSpec, version: string): boolean {
  const of = ({ common, versions }: InternalSpec): unknown =>
    (version === "" ? common : versions.find((one) => stringAt(one, "name") === version))?.["selectableFields"];
  const old = of(before);
  return Array.isArray(old) && old.length > SELECTABLE_FIELDS_MAX && jsonEquals(of(now), old);
}

/** Fields that only structural schemas may have. */
const EXTENSIONS: readonly string[] = [
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-list-type",
  VALIDATIONS,
  PRESERVES,
];

export function hasExtensions(schema: JsonObject): boolean {
  for (const one of eachSchema(schema))
    if (EXTENSIONS.some((key) => one[key] !== undefined && (one[key] !== false || key === PRESERVES))) return true;
  return false;
}
