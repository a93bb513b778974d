/** What holds for the metadata of every object, with the sentences clients see when it does not. */
import { forbiddenField, invalidValue, required } from "../meta/field-errors.ts";
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../meta/json.ts";
import { labelValueErrors, qualifiedNameErrors, type NameRule } from "../meta/names.ts";
import type { FieldError } from "../meta/status-error.ts";

const ANNOTATIONS_BYTES_MAX = 256 * 1024;
const GARBAGE_COLLECTOR_FINALIZERS: ReadonlySet<string> = new Set(["orphan", "foregroundDeletion"]);
/** As kubernetes: unqualified finalizers are only allowed for these. */
const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(["kubernetes", ...GARBAGE_COLLECTOR_FINALIZERS]);

export interface MetadataRules {
  readonly nameRule: NameRule;
  readonly namespaced: boolean;
}

export function metadataErrors(metadata: JsonObject, rules: MetadataRules): FieldError[] {
  return [
    ...generateNameErrors(metadata, rules),
    ...nameErrors(metadata, rules),
    ...namespaceErrors(metadata, rules),
    ...labelErrors(objectAt(metadata, "labels")),
    ...annotationErrors(objectAt(metadata, "annotations")),
    ...ownerReferenceErrors(metadata["ownerReferences"]),
    ...finalizerErrors(stringsAt(metadata, "finalizers")),
  ];
}

/** Rules between an object's old and new metadata. */
export function metadataUpdateErrors(metadata: JsonObject, existing: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  if (existing["deletionTimestamp"] !== undefined) {
    const before = new Set(stringsAt(existing, "finalizers"));
    const added = stringsAt(metadata, "finalizers").filter((finalizer) => !before.has(finalizer));
    if (added.length > 0) {
      const list = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(", ")}}`;
      const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
      errors.push({ field: "metadata.finalizers", reason: "FieldValueForbidden", message });
    }
  }
  return errors;
}

function generateNameErrors(metadata: JsonObject, rules: MetadataRules): FieldError[] {
  const generateName = stringAt(metadata, "generateName");
  if (generateName === "") return [];
  // The base may end where a name may not: the suffix follows.
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

function labelErrors(labels: JsonObject): FieldError[] {
  return Object.keys(labels)
    .sort()
    .flatMap((key) => [
      ...qualifiedNameErrors(key).map((sentence) => invalidValue("metadata.labels", key, sentence)),
      ...labelValueErrors(String(labels[key])).map((sentence) =>
        invalidValue("metadata.labels", labels[key], sentence),
      ),
    ]);
}

function annotationErrors(annotations: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const key of Object.keys(annotations).sort()) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(annotations[key]));
    errors.push(
      ...qualifiedNameErrors(key.toLowerCase()).map((sentence) => invalidValue("metadata.annotations", key, sentence)),
    );
  }
  if (bytes > ANNOTATIONS_BYTES_MAX) {
    const message = `Too long: may not be more than ${ANNOTATIONS_BYTES_MAX} bytes`;
    errors.push({ field: "metadata.annotations", reason: "FieldValueTooLong", message });
  }
  return errors;
}

function ownerReferenceErrors(references: unknown): FieldError[] {
  if (!Array.isArray(references)) return [];
  const errors: FieldError[] = [];
  let controller: JsonObject | undefined;
  for (const reference of references.filter(isJsonObject)) {
    for (const field of ["apiVersion", "kind", "name", "uid"]) {
      const why = field === "apiVersion" ? "version must not be empty" : "must not be empty";
      if (stringAt(reference, field) === "") errors.push(invalidValue(`metadata.ownerReferences.${field}`, "", why));
    }
    if (reference["controller"] !== true) continue;
    if (controller === undefined) controller = reference;
    else {
      const first = `${stringAt(controller, "kind")}/${stringAt(controller, "name")}`;
      const second = `${stringAt(reference, "kind")}/${stringAt(reference, "name")}`;
      const why = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`;
      errors.push(invalidValue("metadata.ownerReferences", references, why));
    }
  }
  return errors;
}

function finalizerErrors(finalizers: readonly string[]): FieldError[] {
  const errors = finalizers.flatMap((finalizer) => [
    ...qualifiedNameErrors(finalizer).map((sentence) => invalidValue("metadata.finalizers", finalizer, sentence)),
    ...(finalizer.includes("/") || STANDARD_FINALIZERS.has(finalizer)
      ? []
      : [
          invalidValue(
            "metadata.finalizers",
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified",
          ),
        ]),
  ]);
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    errors.push(
      invalidValue("metadata.finalizers", finalizers, "finalizer orphan and foregroundDeletion cannot be both set"),
    );
  }
  return errors;
}
