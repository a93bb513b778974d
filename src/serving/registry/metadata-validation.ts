/** Validates the metadata of every object, with the error messages of kubernetes. */
import { firstErrors, forbiddenField, invalidValue, required, tooLong } from "../../meta/field-errors.ts";
import { fieldManagerErrors } from "../../meta/field-manager.ts";
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { labelValueErrors, qualifiedNameErrors, type NameRule } from "../../meta/names.ts";
import type { FieldError } from "../../meta/status-error.ts";

const ANNOTATIONS_BYTES_MAX = 256 * 1024;
const GARBAGE_COLLECTOR_FINALIZERS: ReadonlySet<string> = new Set(["orphan", "foregroundDeletion"]);
/** As kubernetes: only these finalizers may have no prefix. */
const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(["kubernetes", ...GARBAGE_COLLECTOR_FINALIZERS]);

export interface MetadataRules {
  readonly nameRule: NameRule;
  readonly namespaced: boolean;
  /**
   * True if any qualified name is a valid finalizer. Otherwise a finalizer without a prefix must be one of kubernetes'
   * own.
   */
  readonly takesAnyFinalizer?: boolean;
}

/** Returns the errors in the metadata of one object. */
export function metadataErrors(metadata: JsonObject, rules: MetadataRules): FieldError[] {
  return firstErrors(objectMetadataErrors(metadata, rules));
}

export function* objectMetadataErrors(metadata: JsonObject, rules: MetadataRules): Generator<FieldError> {
  yield* generateNameErrors(metadata, rules);
  yield* nameErrors(metadata, rules);
  yield* namespaceErrors(metadata, rules);
  const generation = metadata["generation"];
  if (typeof generation === "number" && generation < 0)
    yield invalidValue("metadata.generation", generation, "must be greater than or equal to 0");
  yield* mapErrors(metadata);
  yield* ownerReferenceErrors(metadata["ownerReferences"]);
  yield* finalizerErrors(stringsAt(metadata, "finalizers"));
  yield* managedFieldsErrors(metadata["managedFields"]);
  if (rules.takesAnyFinalizer !== true) yield* unqualifiedFinalizerErrors(stringsAt(metadata, "finalizers"));
}

export interface MetadataChange {
  readonly metadata: JsonObject;
  readonly existing: JsonObject;
  /** The metadata as the client sent it, including fields that the server resets. */
  readonly sent: JsonObject;
}

/** Returns the errors in the change from the existing to the new metadata. */
export function* metadataUpdateErrors(
  { metadata, existing, sent }: MetadataChange,
  { takesAnyFinalizer }: Pick<MetadataRules, "takesAnyFinalizer">,
): Generator<FieldError> {
  yield* newFinalizerErrors(metadata, existing);
  const uid = stringAt(sent, "uid");
  if (uid !== "" && uid !== existing["uid"]) yield invalidValue("metadata.uid", uid, IMMUTABLE);
  yield* deletionErrors(sent, existing);
  yield* mapErrors(metadata);
  yield* ownerReferenceErrors(metadata["ownerReferences"]);
  yield* managedFieldsErrors(metadata["managedFields"]);
  if (takesAnyFinalizer !== true) yield* unqualifiedFinalizerErrors(stringsAt(metadata, "finalizers"));
}

function* newFinalizerErrors(metadata: JsonObject, existing: JsonObject): Generator<FieldError> {
  if (existing["deletionTimestamp"] === undefined) return;
  const before = new Set(stringsAt(existing, "finalizers"));
  const added = new Set(stringsAt(metadata, "finalizers").filter((finalizer) => !before.has(finalizer)));
  if (added.size === 0) return;
  const list = `[]string{${[...added]
    .sort()
    .map((finalizer) => JSON.stringify(finalizer))
    .join(", ")}}`;
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
  yield forbiddenField("metadata.finalizers", why);
}

/** Rejects changes of the fields that only a DELETE sets. */
function* deletionErrors(sent: JsonObject, existing: JsonObject): Generator<FieldError> {
  const { deletionTimestamp, deletionGracePeriodSeconds } = sent;
  if (deletionTimestamp !== undefined && existing["deletionTimestamp"] === undefined)
    yield invalidValue("metadata.deletionTimestamp", deletionTimestamp, IMMUTABLE);
  if (deletionGracePeriodSeconds !== undefined && deletionGracePeriodSeconds !== existing["deletionGracePeriodSeconds"])
    yield invalidValue("metadata.deletionGracePeriodSeconds", deletionGracePeriodSeconds, IMMUTABLE);
}

const IMMUTABLE = "field is immutable";

function generateNameErrors(metadata: JsonObject, rules: MetadataRules): FieldError[] {
  const generateName = stringAt(metadata, "generateName");
  if (generateName === "") return [];
  // generateName may end in "-" or ".", with which a name may not end, because the random suffix follows.
  const masked = /[-.]$/.test(generateName) ? `${generateName.slice(0, -1)}a` : generateName;
  return rules.nameRule(masked).map((sentence) => invalidValue("metadata.generateName", generateName, sentence));
}

function nameErrors(metadata: JsonObject, rules: MetadataRules): FieldError[] {
  const name = stringAt(metadata, "name");
  if (name === "") return [required("metadata.name", "name or generateName is required")];
  return rules.nameRule(name).map((sentence) => invalidValue("metadata.name", name, sentence));
}

function namespaceErrors(metadata: JsonObject, rules: MetadataRules): FieldError[] {
  const namespace = stringAt(metadata, "namespace");
  if (rules.namespaced && namespace === "") return [required("metadata.namespace")];
  if (!rules.namespaced && namespace !== "") return [forbiddenField("metadata.namespace", "not allowed on this type")];
  return [];
}

function* mapErrors(metadata: JsonObject): Generator<FieldError> {
  yield* labelErrors(objectAt(metadata, "labels"));
  yield* annotationErrors(objectAt(metadata, "annotations"));
}

function* labelErrors(labels: JsonObject): Generator<FieldError> {
  for (const key of Object.keys(labels).sort()) {
    for (const sentence of qualifiedNameErrors(key)) yield invalidValue("metadata.labels", key, sentence);
    for (const sentence of labelValueErrors(String(labels[key])))
      yield invalidValue("metadata.labels", labels[key], sentence);
  }
}

function* annotationErrors(annotations: JsonObject): Generator<FieldError> {
  let bytes = 0;
  for (const key of Object.keys(annotations).sort()) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(annotations[key]));
    for (const sentence of qualifiedNameErrors(key.toLowerCase()))
      yield invalidValue("metadata.annotations", key, sentence);
  }
  if (bytes > ANNOTATIONS_BYTES_MAX) yield tooLong("metadata.annotations", ANNOTATIONS_BYTES_MAX);
}

function* ownerReferenceErrors(references: unknown): Generator<FieldError> {
  if (!Array.isArray(references)) return;
  let controller: JsonObject | undefined;
  for (const reference of references.filter(isJsonObject)) {
    yield* ownerErrors(reference);
    if (reference["controller"] !== true) continue;
    if (controller === undefined) controller = reference;
    else {
      const why = `Only one reference can have Controller set to true. Found "true" in references for ${ownerName(controller)} and ${ownerName(reference)}`;
      yield invalidValue("metadata.ownerReferences", references, why);
    }
  }
}

function* ownerErrors(reference: JsonObject): Generator<FieldError> {
  for (const field of ["apiVersion", "kind", "name", "uid"]) {
    const why = field === "apiVersion" ? "version must not be empty" : "must not be empty";
    if (stringAt(reference, field) === "") yield invalidValue(`metadata.ownerReferences.${field}`, "", why);
  }
  if (reference["apiVersion"] === "v1" && reference["kind"] === "Event")
    yield invalidValue("metadata.ownerReferences", reference, "/v1, Kind=Event is disallowed from being an owner");
}

function ownerName(reference: JsonObject): string {
  return `${stringAt(reference, "kind")}/${stringAt(reference, "name")}`;
}

function* finalizerErrors(finalizers: readonly string[]): Generator<FieldError> {
  for (const finalizer of finalizers)
    for (const sentence of qualifiedNameErrors(finalizer))
      yield invalidValue("metadata.finalizers", finalizer, sentence);
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion"))
    yield invalidValue("metadata.finalizers", finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
}

function* unqualifiedFinalizerErrors(finalizers: readonly string[]): Generator<FieldError> {
  const why = "name is neither a standard finalizer name nor is it fully qualified";
  for (const [index, finalizer] of finalizers.entries())
    if (!finalizer.includes("/") && !STANDARD_FINALIZERS.has(finalizer))
      yield invalidValue(`metadata.finalizers[${index}]`, finalizer, why);
}

const SUBRESOURCE_BYTES_MAX = 256;

/** Validates the managedFields entries. The caller has removed values that are not entries. */
function* managedFieldsErrors(entries: unknown): Generator<FieldError> {
  if (!Array.isArray(entries)) return;
  for (const [index, entry] of entries.entries()) {
    if (!isJsonObject(entry)) continue;
    const field = `metadata.managedFields[${index}]`;
    yield* fieldManagerErrors(stringAt(entry, "manager"), `${field}.manager`);
    if (Buffer.byteLength(stringAt(entry, "subresource")) > SUBRESOURCE_BYTES_MAX)
      yield tooLong(`${field}.subresource`, SUBRESOURCE_BYTES_MAX);
  }
}
