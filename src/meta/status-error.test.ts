import { describe, expect, test } from "vitest";
import { formatGroupResource, formatGroupVersion, parseGroupVersion } from "./group-version.ts";
import { parseIntError, parseUintError } from "./resource-version.ts";
import * as errors from "./status-error.ts";
import { HTTP_CODE, invalid, isReason, StatusError } from "./status-error.ts";

const PODS = { group: "", resource: "pods" };
const DEPLOYMENTS = { group: "apps", resource: "deployments" };

const SHAPES: readonly (readonly [StatusError, object])[] = [
  [errors.badRequest("no"), { reason: "BadRequest", code: 400, message: "no" }],
  [
    errors.notFound(PODS, "a"),
    { reason: "NotFound", code: 404, message: 'pods "a" not found', details: { name: "a", kind: "pods" } },
  ],
  [
    errors.notFound(DEPLOYMENTS, 'a"b'),
    {
      reason: "NotFound",
      code: 404,
      message: String.raw`deployments.apps "a\"b" not found`,
      details: { name: 'a"b', group: "apps", kind: "deployments" },
    },
  ],
  [
    errors.alreadyExists(PODS, "a"),
    { reason: "AlreadyExists", code: 409, message: 'pods "a" already exists', details: { name: "a", kind: "pods" } },
  ],
  [
    errors.conflict(PODS, "a", "changed"),
    {
      reason: "Conflict",
      code: 409,
      message: 'Operation cannot be fulfilled on pods "a": changed',
      details: { name: "a", kind: "pods" },
    },
  ],
  [
    errors.forbidden(PODS, "", "no"),
    { reason: "Forbidden", code: 403, message: "pods is forbidden: no", details: { kind: "pods" } },
  ],
  [
    errors.forbidden(PODS, "a", "no", [{ reason: "NamespaceTerminating" }]),
    {
      reason: "Forbidden",
      code: 403,
      message: 'pods "a" is forbidden: no',
      details: { name: "a", kind: "pods", causes: [{ reason: "NamespaceTerminating" }] },
    },
  ],
  [
    errors.unknownResource(),
    { reason: "NotFound", code: 404, message: "the server could not find the requested resource", details: {} },
  ],
  [
    errors.methodNotAllowed(),
    {
      reason: "MethodNotAllowed",
      code: 405,
      message: "the server does not allow this method on the requested resource",
      details: {},
    },
  ],
  [
    errors.unsupportedMediaType(["a/b", "c/d"]),
    {
      reason: "UnsupportedMediaType",
      code: 415,
      message: "the body of the request was in an unknown format - accepted media types include: a/b, c/d",
    },
  ],
  [
    errors.notAcceptable(["a/b"]),
    { reason: "NotAcceptable", code: 406, message: "only the following media types are accepted: a/b" },
  ],
  [
    errors.requestEntityTooLarge("limit is 3"),
    { reason: "RequestEntityTooLarge", code: 413, message: "Request entity too large: limit is 3" },
  ],
  [
    errors.serviceUnavailable("soon", 5),
    { reason: "ServiceUnavailable", code: 503, message: "soon", details: { retryAfterSeconds: 5 } },
  ],
  [
    errors.tooManyRequests("slow", 1),
    { reason: "TooManyRequests", code: 429, message: "slow", details: { retryAfterSeconds: 1 } },
  ],
  [new StatusError("", "bare"), { code: 500, message: "bare" }],
];

describe("a StatusError", () => {
  test.each(SHAPES)("%s has the same Status as in Kubernetes", (error, expected) => {
    expect(error.toStatus()).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      ...expected,
    });
  });

  test("for an expired list has the continue token", () => {
    expect(errors.expired("old", "token").toStatus()).toMatchObject({
      metadata: { continue: "token" },
      code: 410,
      reason: "Expired",
    });
    expect(errors.expired("old").toStatus().metadata).toEqual({});
  });

  test("has its fields in the order of kube-apiserver", () => {
    expect(Object.keys(errors.notFound(PODS, "a").toStatus())).toEqual([
      "kind",
      "apiVersion",
      "metadata",
      "status",
      "message",
      "reason",
      "details",
      "code",
    ]);
  });

  test("made from any other error does not expose the message of that error", () => {
    for (const thrown of [new Error("secret"), "secret", undefined, null, { toString: () => "secret" }]) {
      const error = StatusError.from(thrown);
      expect(JSON.stringify(error.toStatus())).not.toContain("secret");
      expect(error).toMatchObject({ reason: "InternalError", code: 500, cause: thrown });
    }
    const own = errors.badRequest("mine");
    expect(StatusError.from(own)).toBe(own);
  });

  test("is matched by isReason only for its own reason", () => {
    expect(isReason(errors.badRequest(""), "BadRequest")).toBe(true);
    expect(isReason(errors.badRequest(""), "NotFound")).toBe(false);
    expect(isReason(new Error("BadRequest"), "BadRequest")).toBe(false);
  });

  test("has a 4xx or 5xx code for every reason", () => {
    for (const code of Object.values(HTTP_CODE)) expect(code).toBeGreaterThanOrEqual(400);
  });
});

describe("invalid", () => {
  const required = { field: "spec.a", reason: "FieldValueRequired", message: "Required value" } as const;
  const wrong = { field: "spec.b", reason: "FieldValueInvalid", message: 'Invalid value: "x"' } as const;

  test("has a message with its only error", () => {
    expect(invalid({ group: "apps", kind: "Deployment" }, "a", [required]).toStatus()).toMatchObject({
      message: 'Deployment.apps "a" is invalid: spec.a: Required value',
      details: {
        name: "a",
        group: "apps",
        kind: "Deployment",
        causes: [{ reason: "FieldValueRequired", message: "Required value", field: "spec.a" }],
      },
    });
  });

  test("lists each of several errors once in its message, and all of them as causes", () => {
    const error = invalid({ group: "", kind: "Pod" }, "", [required, wrong, required]);
    expect(error.message).toBe('Pod "" is invalid: [spec.a: Required value, spec.b: Invalid value: "x"]');
    expect(error.details).toMatchObject({ kind: "Pod" });
    expect(error.details?.causes).toHaveLength(3);
    expect(error.details).not.toHaveProperty("name");
  });
});

test("group versions and resources are formatted as in Kubernetes", () => {
  expect(parseGroupVersion("v1")).toEqual({ group: "", version: "v1" });
  expect(parseGroupVersion("apps/v1")).toEqual({ group: "apps", version: "v1" });
  expect([
    formatGroupVersion({ group: "", version: "v1" }),
    formatGroupVersion({ group: "apps", version: "v1" }),
  ]).toEqual(["v1", "apps/v1"]);
  expect([formatGroupResource(PODS), formatGroupResource(DEPLOYMENTS)]).toEqual(["pods", "deployments.apps"]);
});

test("parseUintError and parseIntError return Go's messages", () => {
  expect(parseUintError("9007199254740991")).toBeUndefined();
  expect(parseUintError("99999999999999999999")).toBe(
    'strconv.ParseUint: parsing "99999999999999999999": value out of range',
  );
  for (const text of ["", "-1", "+1", "1.0", "0x1", "1e3", " 1", "a\n"])
    expect(parseUintError(text)).toBe(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
  expect([parseIntError("-1"), parseIntError("+1"), parseIntError("0")]).toEqual([undefined, undefined, undefined]);
  expect(parseIntError("99999999999999999999")).toBe(
    'strconv.ParseInt: parsing "99999999999999999999": value out of range',
  );
  expect(parseIntError("x")).toBe('strconv.ParseInt: parsing "x": invalid syntax');
});
