/** Defaults and validation of the spec of a ResourceClaim. */
import { invalidValue, required, unsupportedValue } from "../../../../meta/field-errors.ts";
import {
  isJsonObject,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
  type JsonObject,
} from "../../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nameErrors } from "../../checks.ts";
import { ownStruct, setEmpty, setNullIfEmpty } from "../../defaults.ts";
import {
  configurationErrors,
  fullAttributeNameErrors,
  listErrors,
  selectorsErrors,
  tolerationErrors,
  uniquenessErrors,
} from "./device-checks.ts";

const REQUESTS_MAX = 32;
const CONSTRAINTS_MAX = 32;
const CONFIG_MAX = 32;
const SUBREQUESTS_MAX = 8;
const REFERENCE_SENTENCE =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const EXACT_KEYS: readonly string[] = [
  "deviceClassName",
  "selectors",
  "allocationMode",
  "count",
  "adminAccess",
  "tolerations",
  "capacity",
];

/**
 * In v1beta1 ("flat"), a request holds its fields directly; in later versions ("general"), it holds them under
 * `exactly`.
 */
export type RequestForm = "flat" | "general";

/** `spec`: the spec of a claim; its lists are copied. */
export function setDeviceClaimDefaults(spec: JsonObject, form: RequestForm): void {
  const devices = ownStruct(spec, "devices");
  setNullIfEmpty(devices, "requests");
  const { requests } = devices;
  if (!Array.isArray(requests)) return;
  devices["requests"] = requests.map((request: unknown) =>
    isJsonObject(request) ? withRequestDefaults(request, form) : request,
  );
}

function withRequestDefaults(given: JsonObject, form: RequestForm): JsonObject {
  const request = { ...given };
  if (form === "flat") {
    if (stringAt(request, "deviceClassName") !== "") setExactDefaults(request);
  } else if (request["exactly"] !== undefined) setExactDefaults(ownStruct(request, "exactly"));
  if (Array.isArray(request["firstAvailable"]))
    request["firstAvailable"] = objectsAt(request, "firstAvailable").map((subrequest) => {
      const copy = { ...subrequest };
      setExactDefaults(copy);
      return copy;
    });
  return request;
}

function setExactDefaults(request: JsonObject): void {
  setEmpty(request, { allocationMode: "ExactCount" });
  if (request["allocationMode"] === "ExactCount" && (request["count"] ?? 0) === 0) request["count"] = 1;
  setTolerationDefaults(request);
}

/** Sets the defaults of tolerations in requests and in allocation results. */
export function setTolerationDefaults(parent: JsonObject): void {
  if (!Array.isArray(parent["tolerations"])) return;
  parent["tolerations"] = objectsAt(parent, "tolerations").map((toleration) =>
    stringAt(toleration, "operator") === "" ? { ...toleration, operator: "Equal" } : toleration,
  );
}

/** The spec with its requests in the general form. */
export function generalClaimSpec(spec: JsonObject, form: RequestForm): JsonObject {
  if (form === "general" || spec["devices"] === undefined) return spec;
  const devices = objectAt(spec, "devices");
  return { ...spec, devices: { ...devices, requests: objectsAt(devices, "requests").map(generalRequest) } };
}

function generalRequest(request: JsonObject): JsonObject {
  const { name, firstAvailable } = request;
  const present = EXACT_KEYS.filter((key) => request[key] !== undefined);
  return {
    name,
    ...(firstAvailable === undefined ? {} : { firstAvailable }),
    ...(present.length === 0 ? {} : { exactly: Object.fromEntries(present.map((key) => [key, request[key]])) }),
  };
}

/** `spec`: in its general form. `hasDistinctAttribute`: true if constraints support distinctAttribute. */
export function* deviceClaimSpecErrors(
  spec: JsonObject,
  field: string,
  { hasDistinctAttribute }: { readonly hasDistinctAttribute: boolean },
): Generator<FieldError> {
  const devices = objectAt(spec, "devices");
  const requests = objectsAt(devices, "requests");
  const at = `${field}.devices`;
  yield* listErrors(requests, `${at}.requests`, { max: REQUESTS_MAX, errors: requestErrors });
  yield* uniquenessErrors(
    requests.map((request) => stringAt(request, "name")),
    `${at}.requests`,
    REQUESTS_MAX,
  );
  const names = requestNamesOf(requests);
  yield* listErrors(objectsAt(devices, "constraints"), `${at}.constraints`, {
    max: CONSTRAINTS_MAX,
    *errors(constraint, constraintField) {
      yield* referenceListErrors(constraint, constraintField, names);
      yield* constraintErrors(constraint, constraintField, hasDistinctAttribute);
    },
  });
  yield* listErrors(objectsAt(devices, "config"), `${at}.config`, {
    max: CONFIG_MAX,
    *errors(config, configField) {
      yield* referenceListErrors(config, configField, names);
      yield* configurationErrors(config, configField);
    },
  });
}

/** The names of requests, and of subrequests as `request/subrequest`. */
export function requestNamesOf(requests: readonly JsonObject[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const request of requests) {
    const name = stringAt(request, "name");
    names.add(name);
    for (const subrequest of objectsAt(request, "firstAvailable")) names.add(`${name}/${stringAt(subrequest, "name")}`);
  }
  return names;
}

function* requestErrors(request: JsonObject, field: string): Generator<FieldError> {
  yield* nameErrors(stringAt(request, "name"), `${field}.name`, dnsLabelErrors);
  const subrequests = objectsAt(request, "firstAvailable");
  const hasExactly = request["exactly"] !== undefined;
  const exactlyOne = "exactly one of `exactly` or `firstAvailable` is required";
  if (subrequests.length === 0 && !hasExactly) yield required(field, exactlyOne);
  else if (subrequests.length > 0 && hasExactly)
    yield invalidValue(field, null, `${exactlyOne}, but multiple fields are set`);
  else if (hasExactly) yield* exactErrors(objectAt(request, "exactly"), `${field}.exactly`);
  else {
    const at = `${field}.firstAvailable`;
    yield* listErrors(subrequests, at, {
      max: SUBREQUESTS_MAX,
      *errors(subrequest, subrequestField) {
        yield* nameErrors(stringAt(subrequest, "name"), `${subrequestField}.name`, dnsLabelErrors);
        yield* exactErrors(subrequest, subrequestField);
      },
    });
    yield* uniquenessErrors(
      subrequests.map((subrequest) => stringAt(subrequest, "name")),
      at,
      SUBREQUESTS_MAX,
    );
  }
}

function* exactErrors(request: JsonObject, field: string): Generator<FieldError> {
  const className = stringAt(request, "deviceClassName");
  if (className === "") yield required(`${field}.deviceClassName`);
  else yield* nameErrors(className, `${field}.deviceClassName`, dnsSubdomainErrors);
  yield* selectorsErrors(request, field);
  const mode = stringAt(request, "allocationMode");
  const count = numberAt(request, "count") ?? 0;
  if (mode === "All") {
    if (count !== 0) yield invalidValue(`${field}.count`, count, "must not be specified when allocationMode is 'All'");
  } else if (mode === "ExactCount") {
    if (count <= 0) yield invalidValue(`${field}.count`, count, "must be greater than zero");
  } else yield unsupportedValue(`${field}.allocationMode`, mode, ["All", "ExactCount"]);
  for (const [index, toleration] of objectsAt(request, "tolerations").entries())
    yield* tolerationErrors(toleration, `${field}.tolerations[${index}]`);
}

export function* referenceListErrors(
  parent: JsonObject,
  field: string,
  names: ReadonlySet<string>,
): Generator<FieldError> {
  const references = stringsAt(parent, "requests");
  yield* listErrors(references, `${field}.requests`, {
    max: REQUESTS_MAX,
    errors: (reference, at) => requestReferenceErrors(reference, at, names),
  });
  yield* uniquenessErrors(references, `${field}.requests`, REQUESTS_MAX);
}

export function* requestReferenceErrors(
  reference: string,
  field: string,
  names: ReadonlySet<string>,
): Generator<FieldError> {
  const segments = reference.split("/");
  if (segments.length <= 2) for (const segment of segments) yield* nameErrors(segment, field, dnsLabelErrors);
  if (segments.length > 2 || !names.has(reference)) yield invalidValue(field, reference, REFERENCE_SENTENCE);
}

function* constraintErrors(
  constraint: JsonObject,
  field: string,
  hasDistinctAttribute: boolean,
): Generator<FieldError> {
  const { matchAttribute, distinctAttribute } = constraint;
  if (typeof matchAttribute === "string") yield* fullAttributeNameErrors(matchAttribute, `${field}.matchAttribute`);
  else if (typeof distinctAttribute === "string")
    yield* fullAttributeNameErrors(distinctAttribute, `${field}.distinctAttribute`);
  else if (hasDistinctAttribute)
    // As kubernetes: the message mentions multiple fields, although none is set.
    yield required(
      field,
      'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
    );
  else yield required(`${field}.matchAttribute`);
}
