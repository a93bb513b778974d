/** Validation of signer names: `example.com/signer-name`. */
import { invalidValue, required, tooLong } from "../../../meta/field-errors.ts";
import { dnsLabelErrors, dnsSubdomainErrors, type NameRule } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";

const DOMAIN_BYTES_MAX = 253;
const NAME_BYTES_MAX = DOMAIN_BYTES_MAX + 253 + 63 + 1 + 1;

export function* signerNameErrors(name: string, field: string): Generator<FieldError> {
  if (name === "") {
    yield required(field);
    return;
  }
  const [domain, path, ...more] = name.split("/");
  if (domain === undefined || path === undefined || more.length > 0) {
    yield invalidValue(field, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
    return;
  }
  if (Buffer.byteLength(domain) > DOMAIN_BYTES_MAX) yield tooLong(field, DOMAIN_BYTES_MAX);
  yield* labelErrors(domain, field, dnsLabelErrors);
  if (!domain.includes("."))
    yield invalidValue(field, domain, "should be a domain with at least two segments separated by dots");
  yield* labelErrors(path, field, dnsSubdomainErrors);
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) yield tooLong(field, NAME_BYTES_MAX);
}

/** Reports only the first invalid label. */
function* labelErrors(segment: string, field: string, rule: NameRule): Generator<FieldError> {
  for (const label of segment.split(".")) {
    const sentences = rule(label);
    for (const sentence of sentences)
      yield invalidValue(field, segment, `validating label ${JSON.stringify(label)}: ${sentence}`);
    if (sentences.length > 0) return;
  }
}
