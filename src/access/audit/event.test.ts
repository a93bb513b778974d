import { describe, expect, test } from "vitest";
import { jsonLine, legacyLine, microTime } from "./event.ts";
import { auditEvent } from "../../../test/testing/access/audit/events.ts";

describe("as JSON", () => {
  test("an event is one line with kube-apiserver's order of fields, and HTML characters are escaped", () => {
    expect(jsonLine(auditEvent())).toBe(
      String.raw`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id-1","stage":"ResponseComplete","requestURI":"/api/v1/pods?a=1\u0026b=\u003c2\u003e","verb":"list","user":{"username":"alice","groups":["devs"]},"sourceIPs":["127.0.0.1"],"userAgent":"curl/8","responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2030-01-01T00:00:00.000000Z","stageTimestamp":"2030-01-01T00:00:00.001500Z"}` +
        "\n",
    );
  });

  test("an event with all fields has them in kube-apiserver's order", () => {
    const line = jsonLine(
      auditEvent({
        user: undefined,
        impersonatedUser: { name: "bob", uid: "7", groups: [], extra: { z: ["1"], a: ["2"] } },
        impersonationConstraint: "impersonate:user-info",
        objectRef: {
          ...{ resource: "pods", namespace: "ns", name: "p", uid: "u" },
          ...{ apiGroup: "", apiVersion: "v1", resourceVersion: "9", subresource: "log" },
        },
        requestObject: '{"a":12345678901234567890}',
        responseObject: '{"b":"\u2028"}',
        annotations: new Map([
          ["b", "2"],
          ["__proto__", "3"],
          ["a", "1"],
        ]),
      }),
    );
    expect(line).toContain(
      '"user":{},"impersonatedUser":{"username":"bob","uid":"7","extra":{"a":["2"],"z":["1"]}},"authenticationMetadata":{"impersonationConstraint":"impersonate:user-info"},"sourceIPs"',
    );
    expect(line).toContain(
      '"objectRef":{"resource":"pods","namespace":"ns","name":"p","uid":"u","apiVersion":"v1","resourceVersion":"9","subresource":"log"}',
    );
    expect(line).toContain(
      String.raw`"code":200},"requestObject":{"a":12345678901234567890},"responseObject":{"b":"\u2028"},"requestReceivedTimestamp"`,
    );
    expect(line).toContain('"annotations":{"__proto__":"3","a":"1","b":"2"}}\n');
  });
});

describe("as legacy text", () => {
  test("an event is one line in the format of kube-apiserver", () => {
    expect(legacyLine(auditEvent())).toBe(
      '2030-01-01T00:00:00Z AUDIT: id="id-1" stage="ResponseComplete" ip="127.0.0.1" method="list" user="alice" groups="\\"devs\\"" as="<self>" asgroups="<lookup>" user-agent="curl/8" namespace="<none>" uri="/api/v1/pods?a=1&b=<2>" response="200"\n',
    );
  });

  test("absent values are replaced by placeholders, and line breaks are escaped", () => {
    const line = legacyLine(
      auditEvent({
        user: undefined,
        sourceIPs: [],
        responseStatus: undefined,
        userAgent: "a\nb",
        requestReceivedMs: 1500,
      }),
    );
    expect(line).toContain('1970-01-01T00:00:01.5Z AUDIT: id="id-1" stage="ResponseComplete" ip="<unknown>"');
    expect(line).toContain('user="<none>" groups="<none>"');
    expect(line).toContain(String.raw`user-agent="a\nb"`);
    expect(line).toContain('response="<deferred>"');
  });
});

test.each([
  [0, "1970-01-01T00:00:00.000000Z"],
  [1.0015, "1970-01-01T00:00:00.001001Z"],
  [999.9999, "1970-01-01T00:00:00.999999Z"],
])("%d ms is formatted as %s", (epochMs, text) => {
  expect(microTime(epochMs)).toBe(text);
});
