import { expect, test } from "vitest";
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { convertObject } from "./convert.ts";

const v1 = { group: "apiextensions.k8s.io", version: "v1" };
const v1beta1 = { group: "apiextensions.k8s.io", version: "v1beta1" };

const names = { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" };
const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
const subresources = { status: {} };
const [jsonPath, JSONPath] = [".spec.size", ".spec.size"];
const status = { storedVersions: ["v1"], conditions: null };

function crd(version: string, spec: JsonObject): JsonObject {
  const shared = { group: "example.com", names, scope: "Namespaced" };
  const metadata = { name: "widgets.example.com" };
  return {
    kind: "CustomResourceDefinition",
    apiVersion: `apiextensions.k8s.io/${version}`,
    metadata,
    spec: { ...shared, ...spec },
    status,
  };
}

function bothWays(inV1: JsonObject, inV1beta1: JsonObject): void {
  expect(convertObject(inV1, v1, v1beta1)).toEqual(inV1beta1);
  expect(convertObject(inV1beta1, v1beta1, v1)).toEqual(inV1);
}

test("fields that are equal in all versions become fields of the spec in v1beta1", () => {
  const perVersion = { schema, subresources, additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath }] };
  const selectableFields = [{ jsonPath: ".spec.color" }];
  bothWays(
    crd("v1", {
      versions: [
        { name: "v1", served: true, storage: true, ...perVersion, selectableFields },
        { name: "v1beta1", served: true, storage: false, ...perVersion, selectableFields },
      ],
      conversion: { strategy: "None" },
    }),
    crd("v1beta1", {
      version: "v1",
      validation: schema,
      subresources,
      additionalPrinterColumns: [{ name: "Size", type: "integer", JSONPath }],
      selectableFields,
      versions: [
        { name: "v1", served: true, storage: true },
        { name: "v1beta1", served: true, storage: false },
      ],
      conversion: { strategy: "None" },
      preserveUnknownFields: false,
    }),
  );
});

test("fields that differ between versions stay in the versions", () => {
  const columns = (path: JsonObject) => [{ name: "Size", type: "integer", ...path }];
  bothWays(
    crd("v1", {
      versions: [
        { name: "v1", served: true, storage: true, schema, additionalPrinterColumns: columns({ jsonPath }) },
        { name: "v2", served: true, storage: false, schema: { openAPIV3Schema: { type: "object" } }, subresources },
      ],
    }),
    crd("v1beta1", {
      version: "v1",
      versions: [
        { name: "v1", served: true, storage: true, schema, additionalPrinterColumns: columns({ JSONPath }) },
        { name: "v2", served: true, storage: false, schema: { openAPIV3Schema: { type: "object" } }, subresources },
      ],
      preserveUnknownFields: false,
    }),
  );
});

test("a conversion webhook is nested in v1 and flat in v1beta1", () => {
  const clientConfig = {
    service: { namespace: "default", name: "hook", path: "/convert", port: 443 },
    caBundle: "Cg==",
  };
  const versions = [{ name: "v1", served: true, storage: true }];
  bothWays(
    crd("v1", {
      versions,
      conversion: { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"] } },
    }),
    crd("v1beta1", {
      version: "v1",
      versions,
      conversion: { strategy: "Webhook", webhookClientConfig: clientConfig, conversionReviewVersions: ["v1"] },
      preserveUnknownFields: false,
    }),
  );
});

test("unknown fields are preserved by default in v1beta1 and pruned by default in v1", () => {
  const versions = [{ name: "v1", served: true, storage: true }];
  const preserving = crd("v1", { versions, preserveUnknownFields: true });
  bothWays(preserving, crd("v1beta1", { version: "v1", versions, preserveUnknownFields: true }));
  expect(convertObject(crd("v1beta1", { version: "v1", versions }), v1beta1, v1)).toEqual(preserving);
});

test("a v1beta1 CRD with spec.version and without spec.versions has that one version in v1", () => {
  const converted = convertObject(crd("v1beta1", { version: "v1alpha1", validation: schema }), v1beta1, v1);
  expect(objectAt(converted, "spec")["versions"]).toEqual([{ name: "v1alpha1", served: true, storage: true, schema }]);
});
