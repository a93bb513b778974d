import { expect, test } from "vitest";
import { fieldSelectorsOf, toCatalogResource } from "./catalog-resource.ts";
import { parseCrd } from "../crd.ts";
import {
  definitionObject,
  establishedDefinition,
  servedVersion,
  storedVersion,
} from "../../../../test/testing/extensions/crd/crd-object.ts";

const ALL_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

test("toCatalogResource describes a CRD by its accepted names and its served versions", () => {
  const scale = { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" };
  const crd = establishedDefinition(
    {
      scope: "Cluster",
      versions: [
        storedVersion("v1", { subresources: { status: {}, scale } }),
        servedVersion("v2"),
        servedVersion("v3", { served: false }),
      ],
    },
    { shortNames: ["wd"], categories: ["all"] },
  );
  expect(toCatalogResource(crd)).toMatchObject({
    group: "test.example.com",
    resource: "widgets",
    singular: "widget",
    namespaced: false,
    shortNames: ["wd"],
    categories: ["all"],
    storagePrefix: "test.example.com/widgets",
    storageVersion: "test.example.com/v1",
    decodableVersions: ["test.example.com/v1", "test.example.com/v2", "test.example.com/v3"],
    versions: [
      {
        version: "v1",
        kind: "Widget",
        listKind: "WidgetList",
        verbs: ALL_VERBS,
        subresources: [
          { name: "status", responseKind: { group: "test.example.com", version: "v1", kind: "Widget" } },
          { name: "scale", responseKind: { group: "autoscaling", version: "v1", kind: "Scale" } },
        ],
      },
      { version: "v2", subresources: [] },
    ],
  });
});

test("toCatalogResource returns undefined for a CRD that is not established or serves no version", () => {
  expect(toCatalogResource(parseCrd(definitionObject()))).toBeUndefined();
  const unserved = establishedDefinition({ versions: [storedVersion("v1", { served: false })] });
  expect(toCatalogResource(unserved)).toBeUndefined();
});

test("a resource whose storage version is not served has no storage version hash", () => {
  const versions = [storedVersion("v1", { served: false }), servedVersion("v2")];
  expect(toCatalogResource(establishedDefinition({ versions }))?.storageVersion).toBeUndefined();
});

test("the resource of a terminating CRD has only the verbs that read and delete", () => {
  const crd = { ...establishedDefinition(), isTerminating: true };
  const verbs = toCatalogResource(crd)?.versions[0]?.verbs;
  expect(verbs).toEqual(["delete", "deletecollection", "get", "list", "watch"]);
});

test("the field selectors of a resource are its selectable fields without the leading dot", () => {
  const selectableFields = [{ jsonPath: ".spec.color" }];
  const { versions } = establishedDefinition({ versions: [storedVersion("v1", { selectableFields })] });
  expect(fieldSelectorsOf(versions[0]!, true)).toEqual(["metadata.name", "metadata.namespace", "spec.color"]);
  expect(fieldSelectorsOf(versions[0]!, false)).toEqual(["metadata.name", "spec.color"]);
});
