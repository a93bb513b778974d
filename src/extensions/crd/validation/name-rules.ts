/** Validates the names of a CRD and of its resource. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dns1035LabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";

/** The name of a CRD must be PLURAL.GROUP of the resource that it defines. */
export function* crdNameErrors(crd: JsonObject): Generator<FieldError> {
  const spec = objectAt(crd, "spec");
  const expected = `${stringAt(objectAt(spec, "names"), "plural")}.${stringAt(spec, "group")}`;
  const metadata = objectAt(crd, "metadata");
  const generateName = stringAt(metadata, "generateName");
  if (generateName !== "")
    for (const sentence of dnsSubdomainErrors(generateName.replace(/(?<=.)-$/, "a")))
      yield invalidValue("metadata.generateName", generateName, sentence);
  for (const key of ["generateName", "name"]) {
    const name = stringAt(metadata, key);
    if (name !== "" && name !== expected)
      yield invalidValue(`metadata.${key}`, name, 'must be spec.names.plural+"."+spec.group');
  }
}

export function* groupErrors(group: string): Generator<FieldError> {
  const sentences = dnsSubdomainErrors(group);
  if (group === "") yield required("spec.group");
  else if (sentences.length > 0) yield invalidValue("spec.group", group, sentences.join(","));
  else if (!group.includes(".")) yield invalidValue("spec.group", group, "should be a domain with at least one dot");
}

export function* labelErrors(label: string, field: string): Generator<FieldError> {
  const sentences = dns1035LabelErrors(label);
  if (sentences.length > 0) yield invalidValue(field, label, sentences.join(","));
}

export function* neededNameErrors(names: JsonObject, field: string): Generator<FieldError> {
  for (const key of ["plural", "singular", "kind", "listKind"])
    if (stringAt(names, key) === "") yield required(`${field}.${key}`);
}

export function* namesErrors(names: JsonObject, field: string): Generator<FieldError> {
  for (const key of ["plural", "singular"])
    if (stringAt(names, key) !== "") yield* labelErrors(stringAt(names, key), `${field}.${key}`);
  for (const key of ["kind", "listKind"]) {
    const name = stringAt(names, key);
    const sentences = dns1035LabelErrors(name.toLowerCase());
    if (name !== "" && sentences.length > 0)
      yield invalidValue(
        `${field}.${key}`,
        name,
        `may have mixed case, but should otherwise match: ${sentences.join(",")}`,
      );
  }
  for (const [index, name] of stringsAt(names, "shortNames").entries())
    yield* labelErrors(name, `${field}.shortNames[${index}]`);
  const kind = stringAt(names, "kind");
  if (kind !== "" && kind === stringAt(names, "listKind"))
    yield invalidValue(`${field}.listKind`, kind, "kind and listKind may not be the same");
  for (const [index, name] of stringsAt(names, "categories").entries())
    yield* labelErrors(name, `${field}.categories[${index}]`);
}
