/** Validates a CRD that is created or updated. */
import { invalidGoValue, invalidValue, required } from "../../../meta/field-errors.ts";
import { objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { enumErrors, immutableErrors } from "../../../objects/kinds/checks.ts";
import type { KindContext } from "../../../objects/kinds/kind.ts";
import { conditionsOf, isTrue } from "../../../objects/kinds/storage-versions/conditions.ts";
import { approvalErrors } from "./approval.ts";
import { conversionErrors } from "./conversion-rules.ts";
import { createDemands, hasExtensions, updateDemands, type Demands } from "./demands.ts";
import { hasStatus, internalSpec, openApiSchema, schemasOf, type InternalSpec } from "./internal-spec.ts";
import { crdNameErrors, groupErrors, labelErrors, namesErrors, neededNameErrors } from "./name-rules.ts";
import { hasDefault, someSchema } from "./schema-node.ts";
import { shownVersions } from "./shown.ts";
import { validationErrors } from "./version-schema-rules.ts";
import { columnErrors, deprecationErrors, selectableFieldErrors, subresourceErrors } from "./version-rules.ts";

export function* crdErrors(crd: JsonObject, { gates }: KindContext): Generator<FieldError> {
  yield* crdNameErrors(crd);
  yield* specErrors(objectAt(crd, "spec"), createDemands(gates));
  yield* statusErrors(crd);
  yield* storedVersionErrors(crd);
  yield* approvalErrors(crd);
  yield* preservationErrors(crd);
}

/** Validates an update. Group and plural name are immutable; scope and kind are immutable if the CRD is established. */
export function* crdUpdateErrors(
  definition: JsonObject,
  existing: JsonObject,
  { gates }: KindContext,
): Generator<FieldError> {
  const spec = objectAt(definition, "spec");
  const before = objectAt(existing, "spec");
  yield* specErrors(spec, updateDemands(definition, existing, gates));
  const names = objectAt(spec, "names");
  const namesBefore = objectAt(before, "names");
  if (isTrue(conditionsOf(objectAt(existing, "status")), "Established")) {
    yield* immutableErrors(stringAt(spec, "scope"), stringAt(before, "scope"), "spec.scope");
    yield* immutableErrors(stringAt(names, "kind"), stringAt(namesBefore, "kind"), "spec.names.kind");
  }
  yield* immutableErrors(stringAt(spec, "group"), stringAt(before, "group"), "spec.group");
  yield* immutableErrors(stringAt(names, "plural"), stringAt(namesBefore, "plural"), "spec.names.plural");
  yield* statusErrors(definition);
  yield* storedVersionErrors(definition);
  yield* approvalErrors(definition, existing);
  if (before["preserveUnknownFields"] !== true) yield* preservationErrors(definition);
}

export function* statusErrors(definition: JsonObject): Generator<FieldError> {
  yield* namesErrors(objectAt(objectAt(definition, "status"), "acceptedNames"), "status.acceptedNames");
}

function* preservationErrors(definition: JsonObject): Generator<FieldError> {
  if (objectAt(definition, "spec")["preserveUnknownFields"] === true)
    yield invalidValue(
      "spec.preserveUnknownFields",
      true,
      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
    );
}

function* specErrors(spec: JsonObject, asked: Demands): Generator<FieldError> {
  const internal = internalSpec(spec);
  const schemas = schemasOf(internal);
  const hasDefaults = schemas.some((schema) => someSchema(schema, hasDefault));
  const structural =
    asked.schemas.structural || !internal.preservesUnknownFields || hasDefaults || schemas.some(hasExtensions);
  const demands = { ...asked, schemas: { ...asked.schemas, structural } };
  yield* groupErrors(stringAt(spec, "group"));
  yield* enumErrors(stringAt(spec, "scope"), "spec.scope", ["Cluster", "Namespaced"]);
  yield* missingSchemaErrors(internal, demands);
  if (hasDefaults && internal.preservesUnknownFields)
    yield invalidValue("spec.preserveUnknownFields", true, "must be false in order to use defaults in the schema");
  yield* versionsErrors(internal, demands);
  yield* commonErrors(internal, demands);
  yield* conversionErrors(spec, demands.conversion);
}

function* missingSchemaErrors(internal: InternalSpec, { hasSchemas, schemas }: Demands): Generator<FieldError> {
  if (openApiSchema(internal.common) !== undefined || (!hasSchemas && internal.preservesUnknownFields)) return;
  const early = schemas.gates.isOn("CRDErrorsWithoutFieldNames") ? "" : "schemas are required";
  for (const [index, version] of internal.versions.entries()) {
    if (openApiSchema(version) !== undefined || (!hasSchemas && version["served"] !== true)) continue;
    const why = hasSchemas ? early : "because otherwise all fields are pruned";
    yield required(`spec.versions[${index}].schema.openAPIV3Schema`, why);
  }
}

function* versionsErrors(internal: InternalSpec, demands: Demands): Generator<FieldError> {
  const { versions, common } = internal;
  const names = new Set<string>();
  for (const [index, version] of versions.entries()) {
    const name = stringAt(version, "name");
    names.add(name);
    yield* labelErrors(name, `spec.versions[${index}].name`);
    yield* versionErrors(version, { field: `spec.versions[${index}]`, hasStatus: hasStatus(common) }, demands);
  }
  const shown = () => (Array.isArray(internal.spec["versions"]) ? shownVersions(versions) : null);
  if (names.size < versions.length) yield invalidGoValue("spec.versions", shown(), "must contain unique version names");
  if (versions.filter((version) => version["storage"] === true).length !== 1)
    yield invalidGoValue("spec.versions", shown(), "must have exactly one version marked as storage version");
}

interface VersionPlace {
  readonly field: string;
  /**
   * Whether the versions share a status subresource, so that it is not repeated in each version (see internal-spec.ts).
   */
  readonly hasStatus: boolean;
}

function* versionErrors(version: JsonObject, place: VersionPlace, demands: Demands): Generator<FieldError> {
  const { field } = place;
  const name = stringAt(version, "name");
  const schema = openApiSchema(version);
  yield* deprecationErrors(version, `${field}.deprecationWarning`);
  if (schema !== undefined)
    yield* validationErrors(
      schema,
      {
        field: `${field}.schema`,
        hasStatus: place.hasStatus || hasStatus(version),
        isUnchanged: demands.isUnchanged(name),
      },
      demands.schemas,
    );
  yield* subresourceErrors(version, `${field}.subresources`);
  yield* columnErrors(version, `${field}.additionalPrinterColumns`);
  yield* selectableFieldErrors(version, {
    field: `${field}.selectableFields`,
    schemaField: `${field}.schema.openAPIV3Schema`,
    // As kubernetes: these messages say "not", although selectable fields require a schema.
    noSchema: demands.schemas.gates.isOn("CRDErrorsWithoutFieldNames")
      ? "may only be set when `version.schema.openAPIV3Schema` is not included"
      : "selectableFields may only be set when version.schema.openAPIV3Schema is not included",
    allowsTooMany: demands.allowsTooMany(name),
  });
}

/**
 * Validates the fields that all versions share. As kubernetes: errors name the fields that these have in v1beta1 (see
 * internal-spec.ts).
 */
function* commonErrors({ spec, common, version, versions }: InternalSpec, demands: Demands): Generator<FieldError> {
  if (version !== "") yield* labelErrors(version, "spec.version");
  const names = objectAt(spec, "names");
  yield* neededNameErrors(names, "spec.names");
  yield* namesErrors(names, "spec.names");
  const schema = openApiSchema(common);
  const isAnyStatus = hasStatus(common) || versions.some(hasStatus);
  if (schema !== undefined)
    yield* validationErrors(
      schema,
      { field: "spec.validation", hasStatus: isAnyStatus, isUnchanged: demands.isUnchanged(version) },
      demands.schemas,
    );
  yield* subresourceErrors(common, "spec.subresources");
  yield* columnErrors(common, "spec.additionalPrinterColumns");
  yield* selectableFieldErrors(common, {
    field: "spec.selectableFields",
    schemaField: "spec.schema.openAPIV3Schema",
    noSchema: `${demands.schemas.gates.isOn("CRDErrorsWithoutFieldNames") ? "" : "selectableFields "}may only be set when validations.schema is included`,
    allowsTooMany: demands.allowsTooMany(""),
  });
}

/** Every stored version must be in the spec, and the storage version must be a stored version. */
function* storedVersionErrors(definition: JsonObject): Generator<FieldError> {
  const stored = stringsAt(objectAt(definition, "status"), "storedVersions");
  const versions = objectsAt(objectAt(definition, "spec"), "versions");
  const field = "status.storedVersions";
  if (stored.length === 0) {
    yield invalidValue(field, null, "must have at least one stored version");
    return;
  }
  const indices = new Map(stored.map((version, index) => [version, index]));
  for (const version of versions) {
    const name = stringAt(version, "name");
    if (!indices.delete(name) && version["storage"] === true)
      yield invalidValue(field, stored, `must have the storage version ${name}`);
  }
  for (const [name, index] of indices)
    yield invalidValue(
      `${field}[${index}]`,
      name,
      `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
    );
}
