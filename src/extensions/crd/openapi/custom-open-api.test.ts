import { expect, test } from "vitest";
import { openCatalog } from "../../../objects/catalog/catalog.ts";
import { withCustomDocuments } from "../../../serving/discovery/openapi/custom-documents.ts";
import type { EncodedOpenApi, OpenApiDocuments } from "../../../serving/discovery/openapi/documents.ts";
import { createLocalDocuments } from "../../../serving/discovery/openapi/local.ts";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { parseCrd, type Crd } from "../crd.ts";
import { createCustomOpenApi } from "./custom-open-api.ts";

const V1 = "apis/stable.example.com/v1";
const V1_PATH = "/apis/stable.example.com/v1";
const catalog = openCatalog({ release: "1.36" });

interface Written {
  readonly plural?: string;
  readonly kind?: string;
  readonly generation?: number;
  readonly versions?: readonly JsonObject[];
  readonly established?: string;
}

const SCALE = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };

function version(name: string, others: JsonObject = {}): JsonObject {
  const openAPIV3Schema = { type: "object", properties: { spec: { type: "object" } } };
  return { name, served: true, storage: name === "v1", schema: { openAPIV3Schema }, ...others };
}

function definition(written: Written = {}): Crd {
  const { plural = "crontabs", kind = "CronTab", versions = [version("v1")], established = "True" } = written;
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` };
  return parseCrd({
    metadata: { name: `${plural}.stable.example.com`, uid: plural, generation: written.generation ?? 1 },
    spec: { group: "stable.example.com", scope: "Namespaced", names, versions },
    status: { acceptedNames: names, conditions: [{ type: "Established", status: established }] },
  });
}

function documentsOf(definitions: readonly Crd[]): OpenApiDocuments & { set(next: readonly Crd[]): void } {
  const table = { generation: 1, definitions: () => definitions };
  const options = { custom: createCustomOpenApi(table), catalog: () => catalog };
  const set = (next: readonly Crd[]): void => {
    table.generation++;
    table.definitions = () => next;
  };
  return { ...withCustomDocuments(createLocalDocuments(catalog), options), set };
}

async function documentAt(documents: OpenApiDocuments, path: string): Promise<EncodedOpenApi | undefined> {
  const found = await documents.find(path, undefined);
  return found.kind === "document" ? found.document : undefined;
}

function parsed(bytes: Buffer | undefined): JsonObject {
  return JSON.parse(bytes?.toString() ?? "{}") as JsonObject;
}

async function schemasOf(documents: OpenApiDocuments, path = V1): Promise<JsonObject> {
  return objectAt(objectAt(parsed((await documentAt(documents, path))?.bytes), "components"), "schemas");
}

test("a CRD has a document with its models, the models that these reference, and its operations", async () => {
  const scaled = version("v1", {
    subresources: { status: {}, scale: SCALE },
    selectableFields: [{ jsonPath: ".spec" }],
  });
  const documents = documentsOf([definition({ versions: [scaled] })]);
  const kind = { group: "stable.example.com", version: "v1", kind: "CronTab" };
  const fields = { "x-kubernetes-selectable-fields": [{ fieldPath: "spec" }] };
  expect(await schemasOf(documents)).toMatchObject({
    "com.example.stable.v1.CronTab": { "x-kubernetes-group-version-kind": [kind], ...fields },
    "com.example.stable.v1.CronTabList": {
      "x-kubernetes-group-version-kind": [{ ...kind, kind: "CronTabList" }],
      ...fields,
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {},
    "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta": {},
    "io.k8s.api.autoscaling.v1.Scale": {},
  });
  const paths = objectAt(parsed((await documentAt(documents, V1))?.bytes), "paths");
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as JsonObject)
      .filter(([member]) => member !== "parameters")
      .map(([method, operation]) => [path.slice(V1_PATH.length), method, (operation as JsonObject)["operationId"]]),
  );
  const own = "/namespaces/{namespace}/crontabs";
  expect(operations).toEqual([
    ["/crontabs", "get", "listStableExampleComV1CronTabForAllNamespaces"],
    [own, "get", "listStableExampleComV1NamespacedCronTab"],
    [own, "post", "createStableExampleComV1NamespacedCronTab"],
    [own, "delete", "deleteStableExampleComV1CollectionNamespacedCronTab"],
    [`${own}/{name}`, "get", "readStableExampleComV1NamespacedCronTab"],
    [`${own}/{name}`, "put", "replaceStableExampleComV1NamespacedCronTab"],
    [`${own}/{name}`, "delete", "deleteStableExampleComV1NamespacedCronTab"],
    [`${own}/{name}`, "patch", "patchStableExampleComV1NamespacedCronTab"],
    [`${own}/{name}/scale`, "get", "readStableExampleComV1NamespacedCronTabScale"],
    [`${own}/{name}/scale`, "put", "replaceStableExampleComV1NamespacedCronTabScale"],
    [`${own}/{name}/scale`, "patch", "patchStableExampleComV1NamespacedCronTabScale"],
    [`${own}/{name}/status`, "get", "readStableExampleComV1NamespacedCronTabStatus"],
    [`${own}/{name}/status`, "put", "replaceStableExampleComV1NamespacedCronTabStatus"],
    [`${own}/{name}/status`, "patch", "patchStableExampleComV1NamespacedCronTabStatus"],
  ]);
});

test("CRDs of one group version share a v3 document, and the v2 document contains all CRDs in order", async () => {
  const documents = documentsOf([
    definition({ versions: [version("v1"), version("v2")] }),
    definition({ plural: "apples", kind: "Apple" }),
  ]);
  const names = Object.keys(await schemasOf(documents)).filter((name) => name.startsWith("com.example"));
  const ofV1 = ["Apple", "AppleList", "CronTab", "CronTabList"].map((kind) => `com.example.stable.v1.${kind}`);
  expect(names).toEqual(ofV1);
  const { definitions, paths } = parsed((await documents.v2()).bytes);
  const all = [...ofV1, "com.example.stable.v2.CronTab", "com.example.stable.v2.CronTabList"];
  expect(Object.keys(definitions as JsonObject).filter((name) => name.startsWith("com.example"))).toEqual(all);
  expect(Object.keys(definitions as JsonObject)).toContain("io.k8s.api.core.v1.Pod");
  expect(Object.keys(paths as JsonObject)).toEqual(Object.keys(paths as JsonObject).sort());
});

test("a CRD that is not served or not established is not published", async () => {
  const unserved = version("v2", { served: false });
  const documents = documentsOf([
    definition({ versions: [version("v1"), unserved] }),
    definition({ plural: "apples", kind: "Apple", established: "False" }),
  ]);
  expect([...(await documents.index()).hashes.keys()].filter((path) => path.includes("stable"))).toEqual([V1]);
  expect((await schemasOf(documents))["com.example.stable.v1.Apple"]).toBeUndefined();
});

test("documents are updated when CRDs change, and only changed documents are built again", async () => {
  const documents = documentsOf([definition()]);
  const before = await documentAt(documents, V1);
  const core = await documentAt(documents, "api/v1");
  const index = await documents.index();
  const whole = await documents.v2();
  expect(await documents.v2()).toBe(whole);
  documents.set([definition({ plural: "apples", kind: "Apple", versions: [version("v2")] }), definition()]);
  expect(await documentAt(documents, V1)).toBe(before);
  expect(await documentAt(documents, "api/v1")).toBe(core);
  expect((await documents.index()).digest).not.toBe(index.digest);
  expect((await documents.v2()).hash).not.toBe(whole.hash);
  documents.set([definition({ generation: 2 })]);
  const { hash } = (await documentAt(documents, V1))!;
  expect(hash).not.toBe(before!.hash);
  expect(await documents.find(V1, before!.hash)).toEqual({ kind: "moved", hash });
  documents.set([]);
  expect(await documents.find(V1, undefined)).toEqual({ kind: "unknown" });
});

test("servers with the same CRDs have the same hashes, regardless of the order of events", async () => {
  const both = [definition(), definition({ plural: "apples", kind: "Apple" })];
  expect(await documentsOf(both).index()).toEqual(await documentsOf(both.toReversed()).index());
});

test("schemas are not read before a document is requested", () => {
  const fail = (): never => {
    throw new Error("asked too early");
  };
  withCustomDocuments(createLocalDocuments(catalog), {
    custom: { generation: fail, groupVersions: fail },
    catalog: fail,
  });
});

test("the document of a built-in resource is never replaced by that of a CRD", async () => {
  const builtIn = createLocalDocuments(catalog);
  const names = { ...definition().names, plural: "leases", kind: "Lease", listKind: "LeaseList" };
  const documents = documentsOf([{ ...definition(), group: "coordination.k8s.io", names }, definition()]);
  const path = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases";
  const [shown, own] = [await documents.v2(), await builtIn.v2()].map(({ bytes }) => objectAt(parsed(bytes), "paths"));
  expect(shown![path]).toEqual(own![path]);
});
