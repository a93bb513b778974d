import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  defaulted,
  createErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
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

test("a webhook defaults to matchPolicy Equivalent, scope *, failurePolicy Fail and a timeout of ten seconds", () => {
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
  ["is accepted if it is valid", {}, []],
  [
    "needs a domain name, a client config, side effects and review versions",
    { name: "a", clientConfig: {}, admissionReviewVersions: [], sideEffects: undefined },
    [
      'webhooks[0].name: Invalid value: "a": should be a domain with at least three segments separated by dots',
      "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
      "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
      "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
    ],
  ],
  [
    "rejects unknown policies and a timeout out of range",
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
    "needs a known review version and rejects duplicates",
    { admissionReviewVersions: ["v2", "v2"] },
    [
      'webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
      'webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1',
    ],
  ],
  [
    "rejects URLs with more than an https host and a path",
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
    "reports a missing service name as a missing namespace, as kubernetes does",
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
    "needs complete rules without overlapping wildcards",
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
    "needs match conditions with expressions and unique names",
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
    expect(createErrorsOf(MUTATING_WEBHOOK_CONFIGURATION, configuration({ ...HOOK, ...hook }))).toEqual(sentences);
  });

  test("needs a name that is unique in its configuration", () => {
    expect(createErrorsOf(VALIDATING_WEBHOOK_CONFIGURATION, configuration(HOOK, HOOK))).toEqual([
      'webhooks[1].name: Duplicate value: "a.example.com"',
    ]);
  });
});

test("an update keeps stored values that a create would reject", () => {
  const odd = configuration({ ...HOOK, sideEffects: "Some", admissionReviewVersions: ["v2"] }, HOOK, HOOK);
  expect(createErrorsOf(VALIDATING_WEBHOOK_CONFIGURATION, odd)).toHaveLength(4);
  expect(updateErrorsOf(VALIDATING_WEBHOOK_CONFIGURATION, odd, odd)).toEqual([]);
});

test("a name that is reserved for static manifests causes a warning", () => {
  expect(warningsOf(VALIDATING_WEBHOOK_CONFIGURATION, { metadata: { name: "a.static.k8s.io" } })).toEqual([
    'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API',
  ]);
});
