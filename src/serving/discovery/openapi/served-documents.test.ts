import { expect, test } from "vitest";
import { openCatalog } from "../../../objects/catalog/catalog.ts";
import { openApiV2Document } from "../../../../test/testing/serving/discovery/openapi/v2-document.ts";
import { createIndex, decodeIndex, decodeV2Document } from "./decode-peer-response.ts";
import { servedIndex, servedV2Document } from "./served-documents.ts";

const ONLY_APPS = { hasGroupVersion: (group: string) => group === "apps" };

test("an index of a peer keeps the documents of discovery, and groups of which the peer serves a version", () => {
  const paths = ["version", "apis", "apis/apps", "apis/apps/v1", "apis/example.com", "apis/example.com/v1"];
  const index = createIndex(new Map(paths.map((path) => [path, "A"])));
  expect([...servedIndex(index, ONLY_APPS).hashes.keys()]).toEqual(["version", "apis", "apis/apps", "apis/apps/v1"]);
  expect(servedIndex(index, { hasGroupVersion: () => true })).toBe(index);
});

test("an index of a kube-apiserver is decoded without the documents of log files and unusual paths", () => {
  const entry = { serverRelativeURL: "/openapi/v3/x?hash=ABC" };
  const listed = ["api", "api/v1", "apis/apps", "logs", "apis/UPPER", "openid/v1/jwks", "apis/a/b/c"];
  const body = Buffer.from(JSON.stringify({ paths: Object.fromEntries(listed.map((path) => [path, entry])) }));
  expect([...decodeIndex(body).hashes.keys()]).toEqual(["api", "api/v1", "apis/apps", "openid/v1/jwks"]);
});

test("a part of an OpenAPI 2 document has the paths of served groups, and the models and parameters that they need", () => {
  const whole = openApiV2Document(openCatalog({ release: "1.36" }));
  const document = decodeV2Document(Buffer.from(JSON.stringify(whole)));
  const part = servedV2Document(document, ONLY_APPS);
  const paths = Object.keys(part.paths).filter((path) => path.startsWith("/apis/"));
  expect(paths.filter((path) => !path.startsWith("/apis/apps/"))).toEqual(["/apis/"]);
  expect(paths).toContain("/apis/apps/");
  const parameters = part["parameters"] as Record<string, unknown>;
  const references = [...JSON.stringify(part).matchAll(/"#\/(definitions|parameters)\/([^"]+)"/g)];
  const unresolved = references.filter(
    ([, section, name]) => (section === "parameters" ? parameters : part.definitions)[name!] === undefined,
  );
  expect(unresolved).toEqual([]);
  expect(part.definitions).not.toHaveProperty(["io.k8s.api.batch.v1.Job"]);
  const used = new Set(references.map(([, , name]) => name));
  expect(Object.keys(parameters).filter((name) => !used.has(name))).toEqual([]);
});
