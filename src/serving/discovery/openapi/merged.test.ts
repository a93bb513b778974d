import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../../base/log.ts";
import { infoRequest } from "../../../../test/testing/serving/http/requests.ts";
import { isReason } from "../../../meta/status-error.ts";
import { openApiHandler } from "./handlers.ts";
import { PEER_REQUEST_TIMEOUT_MS, PEER_RETRY_MS, PEER_DOCUMENT_BYTES_MAX } from "./openapi-limits.ts";
import {
  type OpenApiReply,
  createCluster,
  respondingWith,
  type Cluster,
} from "../../../../test/testing/serving/discovery/openapi/cluster.ts";

/** OLD is served up to 1.31, NEW since 1.34, SHARED by all releases. */
const OLD = "apis/flowcontrol.apiserver.k8s.io/v1beta3";
const NEW = "apis/resource.k8s.io/v1";
const SHARED = "apis/apps/v1";
const PROTOBUF = { accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" };

interface Index {
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
}

interface Document {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, unknown>>;
  readonly definitions: Readonly<Record<string, { readonly properties: object }>>;
}

const mixed = (): Cluster => createCluster({ b: "1.31", a: "1.29", c: "1.36" });

async function paths(cluster: Cluster, id: string): Promise<Record<string, string>> {
  const { paths: found } = JSON.parse((await cluster.get(id, "/openapi/v3")).text) as Index;
  return Object.fromEntries(Object.entries(found).map(([path, entry]) => [path, entry.serverRelativeURL]));
}

async function localUrl(cluster: Cluster, id: string, path: string): Promise<string> {
  const index = JSON.parse((await cluster.getAsPeer(id, "/openapi/v3")).text) as Index;
  return index.paths[path]!.serverRelativeURL;
}

async function v2(cluster: Cluster, id: string): Promise<Document> {
  return JSON.parse((await cluster.get(id, "/openapi/v2")).text) as Document;
}

/** Returns the error that the handler throws, or the status of its response. */
async function refusal(response: Promise<OpenApiReply>): Promise<unknown> {
  return response.then(
    ({ status }) => status,
    (error: unknown) => error,
  );
}

/** Runs all promise callbacks that do not wait for time or I/O. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

describe("the merged index", () => {
  test("lists every path of any server with the hash of the newest server that has it, and is the same on every server", async () => {
    const cluster = mixed();
    const [a, b, c] = await Promise.all(["a", "b", "c"].map((id) => cluster.get(id, "/openapi/v3")));
    expect(a!.text).toBe(b!.text);
    expect(b!.text).toBe(c!.text);
    expect(a!.headers["etag"]).toBe(c!.headers["etag"]);
    const all = await paths(cluster, "a");
    expect(all[SHARED]).toBe(await localUrl(cluster, "c", SHARED));
    expect(all[NEW]).toBe(await localUrl(cluster, "c", NEW));
    // The servers a and b have this document; b is the newer of the two.
    expect(all[OLD]).toBe(await localUrl(cluster, "b", OLD));
  });

  test("lists the group versions in the order of discovery, after the documents of discovery", async () => {
    const names = Object.keys(await paths(mixed(), "a"));
    const first = names.indexOf("api/v1");
    expect(names.slice(0, first)).toEqual(expect.arrayContaining(["api", "apis", "apis/apps", "version"]));
    const groupVersions = names.slice(first);
    expect(groupVersions.filter((name) => !/^(?:api|apis\/[^/]+)\/v/.test(name))).toEqual([]);
    const flowControl = groupVersions.filter((name) => name.includes("flowcontrol"));
    expect(flowControl).toEqual(["apis/flowcontrol.apiserver.k8s.io/v1", OLD]);
  });

  test("equals the index of a single server if all servers have the same documents, and no document is fetched", async () => {
    const cluster = createCluster({ a: "1.36", b: "1.36" });
    expect((await cluster.get("a", "/openapi/v3")).text).toBe((await cluster.getAsPeer("b", "/openapi/v3")).text);
    expect((await cluster.get("a", "/openapi/v2")).text).toBe((await cluster.getAsPeer("b", "/openapi/v2")).text);
    await cluster.get("a", `/openapi/v3/${SHARED}`);
    expect(cluster.peerRequests).toEqual(["b /openapi/v3"]);
  });

  test("needs one request to a peer for concurrent requests, and another one after the peer's documents have changed", async () => {
    const cluster = createCluster({ a: "1.31", b: "1.36" });
    await Promise.all([cluster.get("a", "/openapi/v3"), cluster.get("a", "/openapi/v3")]);
    await cluster.get("a", "/openapi/v3");
    expect(cluster.peerRequests).toEqual(["b /openapi/v3"]);
    cluster.restart("b", "1.30");
    expect(await paths(cluster, "a")).not.toHaveProperty([NEW]);
    expect(cluster.peerRequests).toEqual(["b /openapi/v3", "b /openapi/v3"]);
  });

  test("contains the last index of an unreachable server until that server departs", async () => {
    const cluster = createCluster({ a: "1.31", b: "1.36" });
    const before = await paths(cluster, "a");
    cluster.cut.add("b");
    cluster.documentKeys.set("b", "other");
    expect(await paths(cluster, "a")).toEqual(before);
    cluster.leave("b");
    expect(await paths(cluster, "a")).not.toHaveProperty([NEW]);
    expect((await cluster.get("a", "/openapi/v3")).text).toBe((await cluster.getAsPeer("a", "/openapi/v3")).text);
  });

  test("is not sent to a client that already has it, even if another server sent it", async () => {
    const cluster = mixed();
    const { headers } = await cluster.get("a", "/openapi/v3");
    const again = await cluster.get("b", "/openapi/v3", { "if-none-match": headers["etag"] as string });
    expect(again.status).toBe(304);
  });
});

describe("the document of a group version", () => {
  test("is the same on every server, is immutable under its hash, and is fetched once by each server", async () => {
    const cluster = mixed();
    for (const path of [OLD, NEW, SHARED]) {
      const url = (await paths(cluster, "a"))[path]!;
      const responses = await Promise.all(["a", "a", "b", "c"].map((id) => cluster.get(id, url)));
      for (const response of responses) {
        expect(response.status).toBe(200);
        expect(response.bytes.equals(responses[0]!.bytes)).toBe(true);
        expect(response.headers).toEqual(responses[0]!.headers);
        expect(response.headers["cache-control"]).toBe("public, immutable");
      }
      expect((await cluster.get("a", url, { "if-none-match": responses[0]!.headers["etag"] as string })).status).toBe(
        304,
      );
      const plain = await cluster.get("a", `/openapi/v3/${path}`);
      expect(plain.bytes.equals(responses[0]!.bytes)).toBe(true);
      expect(plain.headers["expires"]).toBeUndefined();
    }
    expect(cluster.peerRequests.filter((asked) => asked === `c /openapi/v3/${NEW}`)).toHaveLength(2);
  });

  test("is redirected if no server has the requested hash, and is returned if any server has it", async () => {
    const cluster = mixed();
    const stale = await cluster.get("a", `/openapi/v3/${SHARED}?hash=OLD`);
    expect(stale.status).toBe(301);
    expect(stale.headers["location"]).toBe(await localUrl(cluster, "c", SHARED));
    const ofOther = await cluster.get("c", await localUrl(cluster, "a", SHARED));
    expect(ofOther.status).toBe(200);
    expect(ofOther.text).toBe((await cluster.getAsPeer("a", `/openapi/v3/${SHARED}`)).text);
  });

  test("comes from another server, and is not immutable, if the server that has the hash is unreachable", async () => {
    const cluster = mixed();
    const all = await paths(cluster, "a");
    cluster.cut.add("c");
    const response = await cluster.get("a", all[SHARED]!);
    expect(response.status).toBe(200);
    expect(response.headers["cache-control"]).toBe("no-cache, private");
    expect(response.text).toBe((await cluster.getAsPeer("b", `/openapi/v3/${SHARED}`)).text);
    cluster.cut.add("b");
    const own = await cluster.get("a", `/openapi/v3/${OLD}`);
    expect(own.text).toBe((await cluster.getAsPeer("a", `/openapi/v3/${OLD}`)).text);
  });

  test("is unavailable if only unreachable servers have it, and not found if no server has it", async () => {
    const cluster = createCluster({ a: "1.31", b: "1.36" });
    const expectUnavailable = async (url: string): Promise<void> => {
      const error = await refusal(cluster.get("a", url));
      expect(isReason(error, "ServiceUnavailable") && error.details?.retryAfterSeconds).toBe(1);
    };
    cluster.cut.add("b");
    await expectUnavailable(`/openapi/v3/${NEW}`);
    await expectUnavailable(`/openapi/v3/${NEW}?hash=X`);
    cluster.cut.clear();
    const url = (await paths(cluster, "a"))[NEW]!;
    cluster.cut.add("b");
    await expectUnavailable(url);
    await expectUnavailable(`/openapi/v3/${NEW}`);
    for (const path of ["apis/none/v1", "apis/none", "apis/UPPER", "apis/UPPER/v1", "logs"])
      expect((await cluster.get("a", `/openapi/v3/${path}`)).status, path).toBe(404);
  });

  test("is unavailable, instead of not found, while a live server has not published its discovery document", async () => {
    const cluster = createCluster({ a: "1.31", b: "1.36" });
    cluster.undescribed.add("b");
    expect(isReason(await refusal(cluster.get("a", `/openapi/v3/${NEW}`)), "ServiceUnavailable")).toBe(true);
    expect((await cluster.get("a", "/openapi/v3/logs")).status).toBe(404);
    expect((await cluster.get("a", "/openapi/v3/version")).status).toBe(200);
    expect((await cluster.get("a", `/openapi/v3/${SHARED}`)).status).toBe(200);
  });

  test("is found on a server that does not return a valid index", async () => {
    const cluster = createCluster({ a: "1.31", b: "1.36" });
    cluster.lies.set("b /openapi/v3", respondingWith("no index"));
    const { text } = await cluster.get("a", `/openapi/v3/${NEW}`);
    expect(text).toBe((await cluster.getAsPeer("b", `/openapi/v3/${NEW}`)).text);
  });

  test("is not immutable if its hash differs from that of the peer's index, and the index is fetched again", async () => {
    const cluster = createCluster({ a: "1.31", b: "1.36" });
    const url = (await paths(cluster, "a"))[NEW]!;
    cluster.lies.set(`b /openapi/v3/${NEW}`, respondingWith(`{"openapi":"3.0.0","paths":{}}`, `"ABC"`));
    const response = await cluster.get("a", url);
    expect(response.headers).toMatchObject({ etag: `"ABC"`, "cache-control": "no-cache, private" });
    cluster.clock.advance(PEER_RETRY_MS);
    await cluster.get("a", "/openapi/v3");
    expect(cluster.peerRequests.filter((asked) => asked === "b /openapi/v3")).toHaveLength(2);
  });
});

describe("the merged OpenAPI 2 document", () => {
  test("has the paths and definitions of all servers, each from the newest server that has it, and is the same on every server", async () => {
    const cluster = mixed();
    for (const headers of [{}, PROTOBUF]) {
      const [a, b, c] = await Promise.all(["a", "b", "c"].map((id) => cluster.get(id, "/openapi/v2", headers)));
      expect(a!.bytes.equals(b!.bytes)).toBe(true);
      expect(b!.bytes.equals(c!.bytes)).toBe(true);
      expect(a!.headers).toEqual(c!.headers);
      const again = await cluster.get("b", "/openapi/v2", {
        ...headers,
        "if-none-match": a!.headers["etag"] as string,
      });
      expect(again.status).toBe(304);
    }
    const document = await v2(cluster, "a");
    expect(document.info.version).toBe(cluster.catalog("c").release.name);
    expect(Object.keys(document.paths).filter((path) => path.startsWith(`/${OLD}`))).not.toEqual([]);
    expect(Object.keys(document.paths).filter((path) => path.startsWith(`/${NEW}`))).not.toEqual([]);
    expect(Object.keys(document.paths)).toEqual(Object.keys(document.paths).toSorted());
    expect(Object.keys(document.definitions)).toEqual(Object.keys(document.definitions).toSorted());
    const ofNewest = JSON.parse((await cluster.getAsPeer("c", "/openapi/v2")).text) as Document;
    const ofOldest = JSON.parse((await cluster.getAsPeer("a", "/openapi/v2")).text) as Document;
    const podSpec = "io.k8s.api.core.v1.PodSpec";
    expect(document.definitions[podSpec]).toEqual(ofNewest.definitions[podSpec]);
    expect(document.definitions[podSpec]).not.toEqual(ofOldest.definitions[podSpec]);
  });

  test("contains the definition and the parameter of every reference, also those of a kube-apiserver", async () => {
    const cluster = mixed();
    // The names of the shared parameters of a kube-apiserver differ, because they depend on the descriptions.
    const ofNewest = (await cluster.getAsPeer("c", "/openapi/v2")).text;
    const renamed = ofNewest.replaceAll(/"(#\/parameters\/)?([a-zA-Z]+)-[-_0-9a-zA-Z]{8}"/g, '"$1$2-kube0000"');
    expect(renamed).not.toBe(ofNewest);
    for (const text of [ofNewest, renamed]) {
      const other = mixed();
      other.lies.set("c /openapi/v2", respondingWith(text));
      const merged = await other.get("a", "/openapi/v2");
      const document = JSON.parse(merged.text) as Record<string, Record<string, unknown>>;
      const references = [...merged.text.matchAll(/"#\/(definitions|parameters)\/([^"]+)"/g)];
      expect(references.length).toBeGreaterThan(1_000);
      expect(references.filter(([, section, name]) => document[section!]![name!] === undefined)).toEqual([]);
    }
  });

  test("is fetched and built once for concurrent requests, and again after a peer has changed its release", async () => {
    const cluster = createCluster({ a: "1.31", b: "1.36" });
    const fetches = (): number => cluster.peerRequests.filter((asked) => asked === "b /openapi/v2").length;
    const [one, other] = await Promise.all([cluster.get("a", "/openapi/v2"), cluster.get("a", "/openapi/v2")]);
    expect(one.text).toBe(other.text);
    await cluster.get("a", "/openapi/v2", PROTOBUF);
    expect(fetches()).toBe(1);
    cluster.restart("b", "1.37");
    expect((await v2(cluster, "a")).info.version).toBe(cluster.catalog("b").release.name);
    expect(fetches()).toBe(2);
  });

  test("keeps the paths of an unreachable server until that server departs", async () => {
    const cluster = createCluster({ a: "1.31", b: "1.36" });
    const before = (await cluster.get("a", "/openapi/v2")).text;
    cluster.cut.add("b");
    expect((await cluster.get("a", "/openapi/v2")).text).toBe(before);
    cluster.leave("b");
    expect((await cluster.get("a", "/openapi/v2")).text).toBe((await cluster.getAsPeer("a", "/openapi/v2")).text);
  });

  test("omits the document of a peer that does not return it, until the peer returns it", async () => {
    const cluster = mixed();
    cluster.lies.set("c /openapi/v2", async () => Promise.reject(new Error("reset")));
    const without = await v2(cluster, "a");
    expect(without.info.version).toBe(cluster.catalog("b").release.name);
    cluster.lies.clear();
    expect((await v2(cluster, "a")).info.version).toBe(without.info.version);
    cluster.clock.advance(PEER_RETRY_MS);
    expect((await v2(cluster, "a")).info.version).toBe(cluster.catalog("c").release.name);
  });

  test("is not merged from a peer whose index changes during the fetch", async () => {
    const cluster = createCluster({ a: "1.29", b: "1.31", c: "1.31" });
    cluster.lies.set("b /openapi/v2", async () => {
      cluster.lies.clear();
      cluster.restart("b", "1.36");
      return respondingWith((await cluster.getAsPeer("b", "/openapi/v2")).bytes)();
    });
    // The document of c is used, which had the same index as b before b restarted.
    expect((await v2(cluster, "a")).info.version).toBe(cluster.catalog("c").release.name);
    expect((await v2(cluster, "a")).info.version).toBe(cluster.catalog("b").release.name);
  });
});

describe("a peer with invalid responses", () => {
  const tooLong = Buffer.alloc(PEER_DOCUMENT_BYTES_MAX + 1, " ");
  const tooDeep = `{"swagger":"2.0","openapi":"3","paths":${`{"a":`.repeat(5_000)}{}${"}".repeat(5_000)},"definitions":{}}`;

  test.each([
    ["not JSON", "<html>"],
    ["null", "null"],
    ["a list", "[]"],
    ["no paths", "{}"],
    ["paths of a wrong type", `{"paths":[]}`],
    ["no hash", `{"paths":{"apis/x/v1":{"serverRelativeURL":"/openapi/v3/apis/x/v1"}}}`],
    ["an invalid hash", `{"paths":{"apis/x/v1":{"serverRelativeURL":"/a?hash=<script>"}}}`],
    ["an invalid entry", `{"paths":{"apis/x/v1":7}}`],
    ["too deep", tooDeep],
    ["too long", tooLong],
  ])("does not affect the index of the local server: %s", async (_name, body) => {
    const cluster = createCluster({ a: "1.31", b: "1.36" });
    cluster.lies.set("b /openapi/v3", respondingWith(body));
    const { text } = await cluster.get("a", "/openapi/v3");
    expect(text).toBe((await cluster.getAsPeer("a", "/openapi/v3")).text);
    expect((await cluster.get("a", "/openapi/v2")).status).toBe(200);
    await cluster.get("a", "/openapi/v3");
    expect(cluster.peerRequests).toEqual(["b /openapi/v3"]);
    cluster.lies.clear();
    cluster.clock.advance(PEER_RETRY_MS);
    expect(await paths(cluster, "a")).toHaveProperty([NEW]);
  });

  test.each([
    ["not JSON", "<html>"],
    ["a list", "[]"],
    ["no fields", "{}"],
    ["paths of a wrong type", `{"swagger":"2.0","openapi":"3.0.0","paths":7,"definitions":{}}`],
    ["too deep", tooDeep],
    ["too long", tooLong],
  ])("does not affect the documents of the local server: %s", async (_name, body) => {
    const cluster = createCluster({ a: "1.31", b: "1.36" });
    cluster.lies.set("b /openapi/v2", respondingWith(body));
    cluster.lies.set(`b /openapi/v3/${NEW}`, respondingWith(body));
    for (const headers of [{}, PROTOBUF]) {
      const response = await cluster.get("a", "/openapi/v2", headers);
      expect(response.bytes.equals((await cluster.getAsPeer("a", "/openapi/v2", headers)).bytes)).toBe(true);
    }
    expect(isReason(await refusal(cluster.get("a", `/openapi/v3/${NEW}`)), "ServiceUnavailable")).toBe(true);
  });

  test.each([`{"swagger":"2.0","paths":{}}`, `{"swagger":"2.0","paths":{"/a":1},"definitions":{}}`])(
    "does not affect the OpenAPI 2 document of the local server: %s",
    async (body) => {
      const cluster = createCluster({ a: "1.31", b: "1.36" });
      cluster.lies.set("b /openapi/v2", respondingWith(body));
      const { text } = await cluster.get("a", "/openapi/v2");
      expect(text).toBe((await cluster.getAsPeer("a", "/openapi/v2")).text);
    },
  );
});

test("a definition of a peer that is named __proto__ or constructor is merged like any other", async () => {
  const cluster = createCluster({ a: "1.31", b: "1.36" });
  const document = `{"swagger":"2.0","info":{},"paths":{"/x":{}},"definitions":{"__proto__":{"type":"object"},"constructor":{}}}`;
  cluster.lies.set("b /openapi/v2", respondingWith(document));
  const merged = await cluster.get("a", "/openapi/v2");
  expect(merged.text).toContain(`"__proto__":{"type":"object"}`);
  expect((await cluster.get("a", "/openapi/v2", PROTOBUF)).status).toBe(200);
});

test("a peer that never responds delays one request until the deadline, and gets no other request before the retry interval has passed", async () => {
  const cluster = createCluster({ a: "1.31", b: "1.36" });
  const signals: AbortSignal[] = [];
  cluster.lies.set("b /openapi/v3", (signal) => {
    signals.push(signal);
    return new Promise(() => {});
  });
  let isDone = false;
  const first = cluster.get("a", "/openapi/v3").finally(() => (isDone = true));
  await settle();
  cluster.clock.advance(PEER_REQUEST_TIMEOUT_MS - 1);
  await settle();
  expect(isDone).toBe(false);
  cluster.clock.advance(1);
  expect((await first).text).toBe((await cluster.getAsPeer("a", "/openapi/v3")).text);
  await cluster.get("a", "/openapi/v2");
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

describe("a request from a peer", () => {
  test("receives the local documents", async () => {
    const cluster = mixed();
    const alone = openApiHandler({
      catalog: cluster.catalog("a"),
      clock: cluster.clock,
      log: SILENT_LOG,
      serverId: "a",
      peers: undefined,
    });
    for (const url of ["/openapi/v2", "/openapi/v3", `/openapi/v3/${SHARED}`]) {
      const { body } = await alone({ ...infoRequest({ url }), isVerifiedPeer: false });
      const expected = body.kind === "bytes" ? Buffer.concat(body.chunks) : undefined;
      expect((await cluster.getAsPeer("a", url)).bytes.equals(expected!), url).toBe(true);
    }
    expect(cluster.peerRequests).toEqual([]);
    expect((await cluster.getAsPeer("a", `/openapi/v3/${NEW}`)).status).toBe(404);
  });
});
