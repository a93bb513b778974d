/**
 * Validation of a webhook's address: a URL, or a Service of the cluster. Admission webhooks and the conversion webhooks
 * of CRDs share these checks.
 */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";

const FORM = "; desired format: https://host[/path]";

export function* webhookClientErrors(config: JsonObject, field: string): Generator<FieldError> {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined))
    yield required(field, "exactly one of url or service is required");
  else if (url === undefined) yield* webhookServiceErrors(objectAt(config, "service"), `${field}.service`);
  else yield* webhookUrlErrors(stringAt(config, "url"), `${field}.url`);
}

/** DIFFERS: URLs that Go's net/url cannot parse are checked like all others; kubernetes reports the parse error. */
function* webhookUrlErrors(url: string, field: string): Generator<FieldError> {
  const { scheme, user, host, query, fragment } = urlParts(url);
  if (scheme !== "https") yield invalidValue(field, scheme, `'https' is the only allowed URL scheme${FORM}`);
  if (host === "") yield invalidValue(field, host, `host must be specified${FORM}`);
  if (user !== undefined) yield invalidValue(field, user, "user information is not permitted in the URL");
  if (fragment !== "") yield invalidValue(field, fragment, "fragments are not permitted in the URL");
  if (query !== "") yield invalidValue(field, query, "query parameters are not permitted in the URL");
}

function urlParts(url: string): { scheme: string; user?: string; host: string; query: string; fragment: string } {
  const [beforeFragment, fragment] = splitOnce(url, "#");
  const [beforeQuery, query] = splitOnce(beforeFragment, "?");
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(beforeQuery.slice(0, 100))?.[1] ?? "";
  const rest = scheme === "" ? beforeQuery : beforeQuery.slice(scheme.length + 1);
  const authority = rest.startsWith("//") ? splitOnce(rest.slice(2), "/")[0] : "";
  const at = authority.lastIndexOf("@");
  return {
    scheme: scheme.toLowerCase(),
    ...(at < 0 ? {} : { user: authority.slice(0, at) }),
    host: authority.slice(at + 1),
    query,
    fragment,
  };
}

function splitOnce(text: string, separator: string): [before: string, after: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function* webhookServiceErrors(service: JsonObject, field: string): Generator<FieldError> {
  // As kubernetes, which swaps the two fields: an empty namespace is reported as a missing name, and an empty name as a
  // missing namespace.
  if (stringAt(service, "namespace") === "") yield required(`${field}.name`);
  if (stringAt(service, "name") === "") yield required(`${field}.namespace`);
  const port = numberAt(service, "port") ?? 0;
  if (port < 1 || port > 65_535)
    yield invalidValue(`${field}.port`, port, "port is not valid: must be between 1 and 65535, inclusive");
  yield* pathErrors(stringAt(service, "path"), `${field}.path`);
}

function* pathErrors(path: string, field: string): Generator<FieldError> {
  if (path === "" || path === "/") return;
  if (path === "//") {
    yield invalidValue(field, path, "segment[0] may not be empty");
    return;
  }
  if (!path.startsWith("/")) yield invalidValue(field, path, "must start with a '/'");
  const inner = path.slice(1).replace(/\/$/, "");
  for (const [index, step] of inner.split("/").entries())
    if (step === "") yield invalidValue(field, path, `segment[${index}] may not be empty`);
    else
      for (const sentence of dnsSubdomainErrors(step))
        yield invalidValue(field, path, `segment[${index}]: ${sentence}`);
}
