import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { defaulted, told, toldOfUpdate, warned } from "../../../../test/testing/objects/kinds/core/told.ts";
import { MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION } from "./webhook-configurations.ts";

const RULE = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const HOOK = {
  name: "a.example.com",
  clientConfig: { service: { name: "s", namespace: "n" } },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  rules: [RULE],
};

function configuration(...webhooks: readonly JsonObject[]): JsonObject {
  return { metadata: { name: "c" }, webhooks };
}

test("a webhook is asked for all that is equivalent, everywhere, for ten seconds", () => {
  const defaults = {
    ...HOOK,
    clientConfig: { service: { name: "s", namespace: "n", port: 443 } },
    rules: [{ ...RULE, scope: "*" }],
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  };
  expect(defaulted(VALIDATING_WEBHOOK_CONFIGURATION, configuration(HOOK))).toEqual(configuration(defaults));
  expect(defaulted(MUTATING_WEBHOOK_CONFIGURATION, configuration(HOOK))).toEqual(
    configuration({ ...defaults, reinvocationPolicy: "Never" }),
  );
});

const WRONG: readonly (readonly [what: string, webhook: JsonObject, sentences: readonly string[]])[] = [
  ["is fine", {}, []],
  [
    "has a name of a domain, an address and a kind of review",
    { name: "a", clientConfig: {}, admissionReviewVersions: [], sideEffects: undefined },
    [
      'webhooks[0].name: Invalid value: "a": should be a domain with at least three segments separated by dots',
      "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
      "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
      "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
    ],
  ],
  [
    "has known policies",
    {
      failurePolicy: "Maybe",
      matchPolicy: "Near",
      sideEffects: "Some",
      timeoutSeconds: 31,
      reinvocationPolicy: "Always",
    },
    [
      'webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"',
      'webhooks[0].matchPolicy: Unsupported value: "Near": supported values: "Equivalent", "Exact"',
      'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
      "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
      'webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"',
    ],
  ],
  [
    "is asked in versions that there are",
    { admissionReviewVersions: ["v2", "v2"] },
    [
      'webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
      'webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1',
    ],
  ],
  [
    "has a plain address",
    { clientConfig: { url: "http://u@/p?q#f" } },
    [
      "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
      'webhooks[0].clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
      'webhooks[0].clientConfig.url: Invalid value: "u": user information is not permitted in the URL',
      'webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
      'webhooks[0].clientConfig.url: Invalid value: "q": query parameters are not permitted in the URL',
    ],
  ],
  [
    "has a service, whose parts are mixed up in the telling",
    { clientConfig: { service: { name: "", namespace: "n", port: 0, path: "a//" } } },
    [
      "webhooks[0].clientConfig.service.namespace: Required value",
      "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
      "webhooks[0].clientConfig.service.path: Invalid value: \"a//\": must start with a '/'",
      'webhooks[0].clientConfig.service.path: Invalid value: "a//": segment[0] may not be empty',
      'webhooks[0].clientConfig.service.path: Invalid value: "a//": segment[1] may not be empty',
    ],
  ],
  [
    "has rules about something",
    { rules: [{ operations: ["*", "READ"], resources: ["*", "pods", "pods/*", "pods/log"] }] },
    [
      'webhooks[0].rules[0].operations: Invalid value: ["*","READ"]: if \'*\' is present, must not specify other operations',
      'webhooks[0].rules[0].operations[1]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
      "webhooks[0].rules[0].apiGroups: Required value",
      "webhooks[0].rules[0].apiVersions: Required value",
      "webhooks[0].rules[0].resources[3]: Invalid value: \"pods/log\": if 'pods/*' is present, must not specify pods/log",
      'webhooks[0].rules[0].resources: Invalid value: ["*","pods","pods/*","pods/log"]: if \'*\' is present, must not specify other resources without subresources',
    ],
  ],
  [
    "has conditions with names",
    { matchConditions: [{ name: "a", expression: "true" }, { name: "a", expression: " " }, {}] },
    [
      "webhooks[0].matchConditions[1].expression: Required value",
      'webhooks[0].matchConditions[1].name: Duplicate value: "a"',
      "webhooks[0].matchConditions[2].expression: Required value",
      "webhooks[0].matchConditions[2].name: Required value",
    ],
  ],
];

describe("a new webhook", () => {
  test.each(WRONG)("%s", (_what, hook, sentences) => {
    expect(told(MUTATING_WEBHOOK_CONFIGURATION, configuration({ ...HOOK, ...hook }))).toEqual(sentences);
  });

  test("has a name of its own", () => {
    expect(told(VALIDATING_WEBHOOK_CONFIGURATION, configuration(HOOK, HOOK))).toEqual([
      'webhooks[1].name: Duplicate value: "a.example.com"',
    ]);
  });
});

test("what was stored before it was refused is borne", () => {
  const odd = configuration({ ...HOOK, sideEffects: "Some", admissionReviewVersions: ["v2"] }, HOOK, HOOK);
  expect(told(VALIDATING_WEBHOOK_CONFIGURATION, odd)).toHaveLength(4);
  expect(toldOfUpdate(VALIDATING_WEBHOOK_CONFIGURATION, odd, odd)).toEqual([]);
});

test("a name kept for files is warned about", () => {
  expect(warned(VALIDATING_WEBHOOK_CONFIGURATION, { metadata: { name: "a.static.k8s.io" } })).toEqual([
    'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API',
  ]);
});
