import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  CONTEXT,
  defaulted,
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { API_SERVICE } from "./api-service.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "../../../extensions/crd/validation/crd-kind.ts";
import { RUNTIME_CLASS } from "./runtime-class.ts";

describe("an APIService", () => {
  function apiService(spec: JsonObject, name = "v1.example.com"): JsonObject {
    const needed = { group: "example.com", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
    return { metadata: { name }, spec: { ...needed, ...spec } };
  }

  test("without a service is stored with the condition Available", () => {
    expect(prepared(API_SERVICE, apiService({}))["status"]).toEqual({
      conditions: [
        {
          type: "Available",
          status: "True",
          lastTransitionTime: CONTEXT.time,
          reason: "Local",
          message: "Local APIServices are always available",
        },
      ],
    });
    expect(prepared(API_SERVICE, apiService({ service: { name: "s" } }))).toMatchObject({
      spec: { service: { name: "s", port: 443 } },
      status: {},
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", {}, []],
    [
      "must be named after its version and group, with priorities in range",
      { group: "", version: "v2", groupPriorityMinimum: 20_001, versionPriority: 0 },
      [
        'metadata.name: Invalid value: "v1.example.com": must be `spec.version+"."+spec.group`: "v2."',
        "spec.group: Required value: only v1 may have an empty group and it better be legacy kube",
        "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
        "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
      ],
    ],
    [
      "without a service rejects a caBundle and insecureSkipTLSVerify",
      { caBundle: "bWU=", insecureSkipTLSVerify: true },
      [
        'spec.caBundle: Invalid value: "2 bytes": local APIServices may not have a caBundle',
        "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
      ],
    ],
    [
      "with a service rejects a caBundle together with insecureSkipTLSVerify",
      { service: { port: 0 }, caBundle: "bWU=", insecureSkipTLSVerify: true },
      [
        "spec.service.namespace: Required value",
        "spec.service.name: Required value",
        "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
        "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
      ],
    ],
  ])("%s", (_what, spec, sentences) => {
    expect(createErrorsOf(API_SERVICE, apiService(spec))).toEqual(sentences);
  });

  test.each(["", "a/b", ".."])("with the malformed name %j is not compared with its version and group", (name) => {
    expect(createErrorsOf(API_SERVICE, apiService({}, name))).toEqual([]);
  });

  test("needs a known status in each condition", () => {
    const status = { conditions: [{ type: "Available", status: "Maybe" }] };
    expect(statusUpdateErrorsOf(API_SERVICE, apiService({}), { ...apiService({}), status })).toEqual([
      'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"',
    ]);
  });
});

describe("a RuntimeClass", () => {
  test("needs a handler, which is immutable", () => {
    expect(createErrorsOf(RUNTIME_CLASS, { metadata: { name: "r" } })).toEqual(["handler: Required value"]);
    expect(updateErrorsOf(RUNTIME_CLASS, { handler: "a" }, { handler: "b" })).toEqual([
      'handler: Invalid value: "b": field is immutable',
    ]);
  });

  test("rejects a duplicate toleration and warns about deprecated node labels", () => {
    const toleration = { key: "k", operator: "Exists" };
    const scheduling = { nodeSelector: { "beta.kubernetes.io/os": "l" }, tolerations: [toleration, toleration] };
    expect(createErrorsOf(RUNTIME_CLASS, { handler: "a", scheduling })).toEqual([
      'scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}',
    ]);
    expect(warningsOf(RUNTIME_CLASS, { handler: "a", scheduling })).toEqual([
      'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead',
    ]);
  });
});

describe("a custom resource definition", () => {
  const V1 = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } };
  function definition(spec: JsonObject, name = "widgets.example.com"): JsonObject {
    const names = { plural: "widgets", kind: "Widget" };
    return { metadata: { name }, spec: { group: "example.com", scope: "Cluster", names, versions: [V1], ...spec } };
  }

  test("defaults its names and conversion strategy, and has no accepted names yet", () => {
    expect(prepared(CUSTOM_RESOURCE_DEFINITION, definition({}))).toEqual({
      ...definition({
        names: { plural: "widgets", kind: "Widget", singular: "widget", listKind: "WidgetList" },
        conversion: { strategy: "None" },
      }),
      status: { conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: ["v1"] },
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", {}, []],
    [
      "needs a group, a scope, names and versions",
      { group: "", scope: "", names: {}, versions: [] },
      [
        'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
        "spec.group: Required value",
        "spec.scope: Required value",
        "spec.versions: Invalid value: []: must have exactly one version marked as storage version",
        "spec.names.plural: Required value",
        "spec.names.singular: Required value",
        "spec.names.kind: Required value",
        "spec.names.listKind: Required value",
        "status.storedVersions: Invalid value: null: must have at least one stored version",
      ],
    ],
    [
      "needs one stored version, and the error shows versions without their common fields",
      { versions: [{ ...V1, storage: false }] },
      [
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version',
        "status.storedVersions: Invalid value: null: must have at least one stored version",
      ],
    ],
    [
      "needs a schema for every version",
      { versions: [{ name: "v1", served: true, storage: true }] },
      ["spec.versions[0].schema.openAPIV3Schema: Required value"],
    ],
    [
      "needs different kinds for objects and lists",
      { names: { plural: "widgets", kind: "Widget", listKind: "Widget" } },
      ['spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same'],
    ],
  ])("%s", (_what, spec, sentences) => {
    expect(createErrorsOf(CUSTOM_RESOURCE_DEFINITION, definition(spec))).toEqual(sentences);
  });

  test.each([
    [{ deprecationWarning: "old" }, '"old": can only be set for deprecated versions'],
    [{ deprecationWarning: "", deprecated: true }, '"": must not be an empty string'],
    [
      { deprecationWarning: "é\n", deprecated: true },
      '"é\\n": must only contain printable UTF-8 characters; non-printable character found at index 2',
    ],
  ])(
    "rejects a deprecation warning that is not printable or that is on a version without deprecation: %j",
    (deprecation, sentence) => {
      expect(createErrorsOf(CUSTOM_RESOURCE_DEFINITION, definition({ versions: [{ ...V1, ...deprecation }] }))).toEqual(
        [`spec.versions[0].deprecationWarning: Invalid value: ${sentence}`],
      );
    },
  );

  test("must list every stored version in its versions", () => {
    const before = { ...definition({}), status: { storedVersions: ["v1", "v0"] } };
    const after = { ...definition({ versions: [{ ...V1, name: "v2" }] }), status: before.status };
    expect(updateErrorsOf(CUSTOM_RESOURCE_DEFINITION, before, after)).toEqual(
      ["v1", "v0"].map(
        (name, index) =>
          `status.storedVersions[${index}]: Invalid value: "${name}": missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
      ),
    );
  });

  test("cannot change its plural name, and once established neither its scope nor its kind", () => {
    const conditions = [{ type: "Established", status: "True" }];
    const status = { storedVersions: ["v1"], conditions };
    const established = { ...defaulted(CUSTOM_RESOURCE_DEFINITION, definition({})), status };
    const after = { ...definition({ scope: "Namespaced", names: { plural: "gadgets", kind: "Gadget" } }), status };
    const always = 'spec.names.plural: Invalid value: "gadgets": field is immutable';
    expect(updateErrorsOf(CUSTOM_RESOURCE_DEFINITION, definition({}), after)).toEqual([always]);
    const object = defaulted(CUSTOM_RESOURCE_DEFINITION, after);
    const errors = [...(CUSTOM_RESOURCE_DEFINITION.updateErrors?.(object, established, CONTEXT) ?? [])];
    expect(errors.map(({ field }) => field)).toEqual(["spec.scope", "spec.names.kind", "spec.names.plural"]);
  });

  test("adds a new storage version to status.storedVersions", () => {
    const existing = prepared(CUSTOM_RESOURCE_DEFINITION, definition({}));
    const next = {
      ...definition({
        versions: [
          { ...V1, name: "v2" },
          { ...V1, storage: false },
        ],
      }),
      status: existing["status"],
    };
    CUSTOM_RESOURCE_DEFINITION.prepareUpdate?.(next, existing, CONTEXT);
    expect(next["status"]).toMatchObject({ storedVersions: ["v1", "v2"] });
  });
});
