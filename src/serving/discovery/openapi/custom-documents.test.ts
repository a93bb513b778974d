import { expect, test } from "vitest";
import { openCatalog } from "../../../objects/catalog/catalog.ts";
import type { CustomOpenApi } from "./custom.ts";
import { withCustomDocuments } from "./custom-documents.ts";
import type { FoundOpenApi, OpenApiDocuments } from "./documents.ts";
import { createLocalDocuments } from "./local.ts";
import { createModelCatalog } from "./model-catalog.ts";
import type { OpenApiPeer } from "./peers.ts";

const catalog = openCatalog({ release: "1.36", extensions: true });
const builtIn = createLocalDocuments(catalog);

function custom(group: string, version: string): CustomOpenApi {
  const names = { resource: "circles", kind: "Circle", listKind: "CircleList" };
  const served = { namespaced: true, hasStatus: false, hasScale: false };
  const schemas = { schema: () => ({ type: "object" }), listSchema: () => ({ type: "object" }) };
  const resources = [{ group, version, ...names, ...served, ...schemas }];
  return { generation: () => 1, groupVersions: () => [{ group, version, resources, hash: () => "1" }] };
}

function pathsIn(found: FoundOpenApi): string[] {
  if (found.kind !== "document") throw new Error(`the document is ${found.kind}`);
  return Object.keys((JSON.parse(found.document.bytes.toString()) as { paths: object }).paths);
}

test("a group version with built-in and custom resources has one document, whose hash is that of the index", async () => {
  const documents = withCustomDocuments(builtIn, { custom: custom("apps", "v1"), catalog: () => catalog });
  const hash = (await documents.index()).hashes.get("apis/apps/v1")!;
  expect(hash).not.toBe(builtIn.hashIndex.hashes.get("apis/apps/v1"));
  const found = await documents.find("apis/apps/v1", hash);
  expect(found).toMatchObject({ kind: "document", document: { hash } });
  expect(pathsIn(found)).toEqual(expect.arrayContaining(["/apis/apps/v1/circles", "/apis/apps/v1/deployments"]));
  expect(await documents.find("apis/apps/v1", "other")).toEqual({ kind: "moved", hash });
  expect((await documents.index()).hashes.get("api/v1")).toBe(builtIn.hashIndex.hashes.get("api/v1"));
});

test("the document of a group version with custom resources only is returned by its hash without waiting for peers", async () => {
  const options = { custom: custom("example.com", "v1"), catalog: () => catalog };
  const { hashes } = await withCustomDocuments(builtIn, options).index();
  const waiting: OpenApiDocuments = { ...builtIn, index: () => new Promise(() => undefined) };
  const found = await withCustomDocuments(waiting, options).find(
    "apis/example.com/v1",
    hashes.get("apis/example.com/v1"),
  );
  expect(pathsIn(found)).toContain("/apis/example.com/v1/circles");
});

test("custom resources use the models of the newest release that this server knows", () => {
  const peer = (serverId: string, release: string | undefined, isReachable = true): OpenApiPeer => ({
    ...{ serverId, release, isReachable, documentKey: "" },
    hasGroupVersion: () => true,
  });
  const peers = [peer("b", "1.35"), peer("c", "1.99"), peer("d", undefined), peer("e", "1.36", false)];
  const self = { serverId: "a", release: "1.34" } as const;
  const select = (mode: "merged" | "newest", list: readonly OpenApiPeer[]): string =>
    createModelCatalog({ self, mode, peers: { list: () => list } })().release.name;
  expect(select("merged", peers)).toBe("1.36");
  expect(select("newest", peers)).toBe("1.35");
  expect(select("merged", [])).toBe("1.34");
});
