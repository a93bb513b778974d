/** Validation of paramKind, the kind of the parameters of a policy. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { stringAt, type JsonObject } from "../../../meta/json.ts";
import { dns1035LabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";

export function* paramKindErrors(paramKind: JsonObject, field: string): Generator<FieldError> {
  yield* apiVersionErrors(stringAt(paramKind, "apiVersion"), `${field}.apiVersion`);
  const kind = stringAt(paramKind, "kind");
  const sentences = dns1035LabelErrors(kind.toLowerCase());
  if (kind === "") yield required(`${field}.kind`);
  else if (sentences.length > 0)
    yield invalidValue(
      `${field}.kind`,
      kind,
      `may have mixed case, but should otherwise match: ${sentences.join(",")}`,
    );
}

function* apiVersionErrors(apiVersion: string, field: string): Generator<FieldError> {
  const parts = apiVersion.split("/");
  if (apiVersion === "") {
    yield required(field);
    return;
  }
  if (parts.length > 2) {
    yield invalidValue(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
    return;
  }
  const [group = "", version = ""] = parts.length === 2 ? parts : ["", apiVersion];
  const groupSentences = group === "" ? [] : dnsSubdomainErrors(group);
  if (groupSentences.length > 0) yield invalidValue(field, group, groupSentences.join(","));
  const versionSentences = dns1035LabelErrors(version);
  if (version === "") yield invalidValue(field, apiVersion, "version must be specified");
  else if (versionSentences.length > 0) yield invalidValue(field, version, versionSentences.join(","));
}
