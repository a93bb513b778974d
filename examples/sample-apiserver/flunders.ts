/** Flunders: a resource with two convertible versions, a default, a validation rule and printer columns. */
import { invalidValue, type FieldError, type JsonObject, type ResourceDefinition } from "evenkeel";

const GROUP = "wardle.example.com";
const REFERENCE_TYPE = { type: "string", enum: ["Flunder", "Fischer"] };

function flunderSchema(spec: JsonObject): JsonObject {
  return {
    type: "object",
    description: "Flunder is an example type with a spec and a status.",
    properties: {
      spec: { type: "object", description: "The object that the flunder refers to.", properties: spec },
      status: { type: "object", properties: { phase: { type: "string" } } },
    },
  };
}

function specOf(object: JsonObject): JsonObject {
  const { spec = {} } = object;
  return spec as JsonObject;
}

export const flunders: ResourceDefinition = {
  group: GROUP,
  names: { plural: "flunders", kind: "Flunder", shortNames: ["fl"] },
  scope: "Namespaced",
  storageVersion: "v1beta1",
  versions: [
    {
      name: "v1beta1",
      status: true,
      schema: flunderSchema({
        flunderReference: { type: "string", description: "A name of another flunder." },
        fischerReference: { type: "string", description: "A name of a fischer." },
        referenceType: REFERENCE_TYPE,
      }),
      printerColumns: [
        { name: "Type", type: "string", jsonPath: ".spec.referenceType" },
        { name: "Phase", type: "string", jsonPath: ".status.phase" },
        { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
      ],
      selectableFields: [".spec.referenceType"],
      validate: (object) => v1beta1Errors(specOf(object)),
    },
    {
      name: "v1alpha1",
      status: true,
      schema: flunderSchema({
        reference: { type: "string", description: "A name of another flunder or fischer." },
        referenceType: { ...REFERENCE_TYPE, description: 'Defaults to "Flunder" if reference is set.' },
      }),
      deprecated: true,
      setDefaults(object) {
        const spec = specOf(object);
        if (spec["reference"] !== undefined) spec["referenceType"] ??= "Flunder";
      },
    },
  ],
  convert: (object, to) => ({
    ...object,
    ...(object["spec"] === undefined ? {} : { spec: convertSpec(specOf(object), to) }),
  }),
};

function convertSpec(spec: JsonObject, to: string): JsonObject {
  const { referenceType } = spec;
  if (to === `${GROUP}/v1alpha1`) {
    const reference = referenceType === "Fischer" ? spec["fischerReference"] : spec["flunderReference"];
    return withoutUndefined({ reference, referenceType });
  }
  const name = referenceType === "Fischer" ? "fischerReference" : "flunderReference";
  return withoutUndefined({ [name]: spec["reference"], referenceType });
}

function withoutUndefined(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function* v1beta1Errors({ flunderReference, fischerReference, referenceType }: JsonObject): Generator<FieldError> {
  if (flunderReference !== undefined && fischerReference !== undefined)
    yield invalidValue(
      "spec.fischerReference",
      fischerReference,
      "cannot be set with flunderReference at the same time",
    );
  else if (flunderReference !== undefined && referenceType !== "Flunder")
    yield invalidValue("spec.flunderReference", flunderReference, "cannot be set if referenceType is not Flunder");
  else if (fischerReference !== undefined && referenceType !== "Fischer")
    yield invalidValue("spec.fischerReference", fischerReference, "cannot be set if referenceType is not Fischer");
}
