import { describe, expect, test } from "vitest";
import { openCatalog, type Catalog } from "../../../objects/catalog/catalog.ts";
import { catalogGateNames } from "../../../objects/catalog/feature-gates.ts";
import { parseRuntimeConfig } from "../../../objects/catalog/runtime-config.ts";
import { RELEASES } from "../../../objects/catalog/release.ts";
import { objectAt, objectsAt, type JsonObject } from "../../../meta/json.ts";
import { documentSources } from "./document-sources.ts";
import { groupVersionRoot } from "./operations.ts";
import { openApiV2Document } from "../../../../test/testing/serving/discovery/openapi/v2-document.ts";
import { openApiV3Document } from "./v3.ts";

const META = "io.k8s.apimachinery.pkg.apis.meta.v1";
const METHODS = ["get", "put", "post", "delete", "options", "head", "patch"];

interface Named {
  readonly path: string;
  readonly method: string;
  readonly operation: JsonObject;
}

function operationsIn(document: JsonObject): Named[] {
  return Object.entries(objectAt(document, "paths")).flatMap(([path, item]) =>
    METHODS.filter((method) => Object.hasOwn(item as JsonObject, method)).map((method) => ({
      path,
      method,
      operation: objectAt(item as JsonObject, method),
    })),
  );
}

function schemaOfResponse(operation: JsonObject, code = "200"): unknown {
  return objectAt(objectAt(objectAt(operation, "responses"), code), "schema");
}

/** The collection of each version of each resource that can be listed and watched. */
function watchableCollections({ groups }: Catalog): string[] {
  return groups.flatMap(({ name, resources }) =>
    resources.flatMap(({ resource, namespaced, versions }) =>
      versions
        .filter(({ verbs }) => verbs.includes("watch") && verbs.includes("list"))
        .flatMap(({ version }) => {
          const root = `${groupVersionRoot(name, version)}/watch`;
          return namespaced
            ? [`${root}/${resource}`, `${root}/namespaces/{namespace}/${resource}`]
            : [`${root}/${resource}`];
        }),
    ),
  );
}

/** The fields of models that client generators need, and that no resource refers to. */
const EXPECTED_MODELS: Readonly<Record<string, readonly string[]>> = {
  [`${META}.APIGroup`]: ["apiVersion", "kind", "name", "preferredVersion", "serverAddressByClientCIDRs", "versions"],
  [`${META}.APIGroupList`]: ["apiVersion", "groups", "kind"],
  [`${META}.APIResource`]: [
    ...["categories", "group", "kind", "name", "namespaced", "shortNames", "singularName", "storageVersionHash"],
    ...["verbs", "version"],
  ],
  [`${META}.APIResourceList`]: ["apiVersion", "groupVersion", "kind", "resources"],
  [`${META}.APIVersions`]: ["apiVersion", "kind", "serverAddressByClientCIDRs", "versions"],
  [`${META}.GroupVersionForDiscovery`]: ["groupVersion", "version"],
  [`${META}.Patch`]: [],
  [`${META}.ServerAddressByClientCIDR`]: ["clientCIDR", "serverAddress"],
  [`${META}.WatchEvent`]: ["object", "type"],
};
const VERSION_FIELDS = ["major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion"];

/**
 * The numbers of paths, operations and definitions in the document that kube-apiserver publishes with every API, without
 * its two paths for log files.
 */
const PUBLISHED: Readonly<Record<string, readonly [paths: number, operations: number, definitions: number]>> = {
  "1.28": [436, 863, 570],
  "1.29": [442, 876, 577],
  "1.30": [474, 942, 626],
  "1.31": [474, 942, 635],
  "1.32": [476, 945, 638],
  "1.33": [521, 1039, 707],
  "1.34": [532, 1060, 730],
  "1.35": [535, 1065, 735],
  "1.36": [560, 1121, 771],
};

test.each(Object.keys(PUBLISHED) as (typeof RELEASES)[number][])(
  "the OpenAPI 2 document of %s with every API has as many paths, operations and models as that of kube-apiserver",
  (release) => {
    const document = openApiV2Document(
      openCatalog({
        release,
        runtimeConfig: parseRuntimeConfig("api/all=true"),
        featureGates: new Map([...catalogGateNames(release)].map((name) => [name, true])),
      }),
    );
    const count = (member: string): number => Object.keys(objectAt(document, member)).length;
    expect([count("paths"), operationsIn(document).length, count("definitions")]).toEqual(PUBLISHED[release]);
  },
);

describe.each(RELEASES)("the OpenAPI 2 document of %s", (release) => {
  const catalog = openCatalog({ release, extensions: true });
  const document = openApiV2Document(catalog);
  const operations = operationsIn(document);
  const definitions = objectAt(document, "definitions");

  test("has the watch paths of every resource that can be listed and watched, and no others", () => {
    const collections = watchableCollections(catalog);
    const paths = Object.keys(objectAt(document, "paths")).filter((path) => /\/v[0-9a-z]+\/watch\//.test(path));
    const expected = collections.flatMap((path) => {
      const hasObjects =
        path.includes("{namespace}") ||
        !collections.includes(path.replace("/watch/", "/watch/namespaces/{namespace}/"));
      return hasObjects ? [path, `${path}/{name}`] : [path];
    });
    expect(paths.toSorted()).toEqual(expected.toSorted());
  });

  test("describes each event of a watch, and the body of each patch, by its model", () => {
    const watches = operations.filter(({ operation }) =>
      /^watch(?:list)?$/.test(String(operation["x-kubernetes-action"])),
    );
    expect(watches.length).toBeGreaterThan(100);
    for (const { operation, path } of watches)
      expect(schemaOfResponse(operation), path).toEqual({ $ref: `#/definitions/${META}.WatchEvent` });
    const patches = operations.filter(({ operation }) => operation["x-kubernetes-action"] === "patch");
    expect(patches.length).toBeGreaterThan(50);
    const [shared] = new Set(patches.map(({ operation }) => JSON.stringify(objectsAt(operation, "parameters")[0])));
    const name = (JSON.parse(shared!) as { $ref: string }).$ref.replace("#/parameters/", "");
    expect(objectAt(objectAt(document, "parameters"), name)).toEqual({
      ...{ name: "body", in: "body", required: true },
      schema: { $ref: `#/definitions/${META}.Patch` },
    });
  });

  test("has the models of discovery, of the version, of watches and of patches with all their fields", () => {
    for (const [name, fields] of Object.entries(EXPECTED_MODELS))
      expect(Object.keys(objectAt(objectAt(definitions, name), "properties")), name).toEqual(fields);
    const version = objectAt(objectAt(definitions, "io.k8s.apimachinery.pkg.version.Info"), "properties");
    expect(Object.keys(version)).toEqual(expect.arrayContaining(VERSION_FIELDS));
  });

  test("has the paths of discovery of every group and version, of the version and of OpenID", () => {
    const paths = objectAt(document, "paths");
    const roots = catalog.groups.flatMap(({ name, versions }) => [
      name === "" ? "/api/" : `/apis/${name}/`,
      ...versions.map((version) => `${groupVersionRoot(name, version)}/`),
    ]);
    const others = ["/apis/", "/version/", "/openid/v1/jwks/", "/.well-known/openid-configuration/"];
    expect(
      Object.keys(paths)
        .filter((path) => path.endsWith("/"))
        .toSorted(),
    ).toEqual([...roots, ...others].toSorted());
  });

  test("has all methods of a proxy, with and without a path", () => {
    for (const object of [
      "nodes/{name}",
      "namespaces/{namespace}/pods/{name}",
      "namespaces/{namespace}/services/{name}",
    ])
      for (const path of [`/api/v1/${object}/proxy`, `/api/v1/${object}/proxy/{path}`])
        expect(
          operations.filter((one) => one.path === path).map(({ method }) => method),
          path,
        ).toEqual(METHODS);
  });

  test("has unique operation IDs, and only references that resolve", () => {
    const ids = operations.map(({ operation }) => operation["operationId"]);
    expect(ids.filter((id, position) => ids.indexOf(id) !== position)).toEqual([]);
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/(definitions|parameters)\/([^"]+)"/g)];
    const dangling = references.filter(([, section, name]) => !Object.hasOwn(objectAt(document, section!), name!));
    expect(references.length).toBeGreaterThan(1_000);
    expect(dangling).toEqual([]);
  });

  test("marks no field as an embedded resource or as preserving unknown fields", () => {
    // A field of the kind CustomResourceDefinition has such a name.
    const marks = /"x-kubernetes-(?:embedded-resource|preserve-unknown-fields|int-or-string)":true/;
    expect(JSON.stringify(document)).not.toMatch(marks);
    for (const source of documentSources(catalog).values())
      expect(JSON.stringify(openApiV3Document(catalog, source))).not.toMatch(marks);
  });

  test("lists the query parameters that kubectl requires in the operation itself", () => {
    const patch = objectAt(
      objectAt(objectAt(document, "paths"), "/api/v1/namespaces/{namespace}/pods/{name}"),
      "patch",
    );
    const names = objectsAt(patch, "parameters").flatMap(({ name }) => name ?? []);
    expect(names).toEqual(["dryRun", "fieldValidation"]);
  });
});
