import { upstreamResponse, jsonUpstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { describe, expect, test } from "vitest";
import { lines } from "../../../test/testing/serving/discovery/documents.ts";
import type { UpstreamRequest, UpstreamResponse } from "../../serving/http/upstream.ts";
import { World } from "../../tools/simulator/world.ts";
import { createRequestPeer } from "./request-peer.ts";
import { fetchPeerDocument, type PeerDocument } from "./peer-document.ts";
import { FakeUpstream } from "../../../test/testing/cluster/peers/fake-upstream.ts";

const CORE = aggregated("", "v1", "pods");
const NAMED = aggregated("apps", "v1", "deployments");

function aggregated(group: string, version: string, resource: string): object {
  const responseKind = { group, version, kind: "Kind" };
  const resources = [{ resource, responseKind, scope: "Namespaced", singularResource: "x", verbs: ["get"] }];
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    items: [
      { metadata: group === "" ? {} : { name: group }, versions: [{ version, freshness: "Current", resources }] },
    ],
  };
}

function resourceList(groupVersion: string, name: string): object {
  const resources = [{ name, singularName: "x", namespaced: true, kind: "Kind", verbs: ["get"] }];
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources };
}

class Peer {
  readonly world = new World({ seed: 1 });
  readonly upstream: FakeUpstream;

  constructor(responses: Record<string, UpstreamResponse | ((request: UpstreamRequest) => UpstreamResponse)>) {
    this.upstream = new FakeUpstream((request) => {
      const response = responses[request.target] ?? upstreamResponse(404);
      return typeof response === "function" ? response(request) : response;
    });
  }

  /** The requests since the last call, in order, such as '/api "etag"' for one with If-None-Match. */
  requests(): string[] {
    return this.upstream.requests.splice(0).map(({ target, headers }) => {
      const at = headers.indexOf("If-None-Match");
      return at < 0 ? target : `${target} ${headers[at + 1]}`;
    });
  }

  fetch(known?: PeerDocument): Promise<PeerDocument> {
    return fetchPeerDocument({
      ask: createRequestPeer({ upstream: this.upstream, clock: this.world.clock }),
      address: { host: "127.0.0.1", port: 1 },
      peerId: "peer",
      run: "run-1",
      known,
      timeoutMs: 1_000,
      signal: new AbortController().signal,
    });
  }
}

describe("a peer that supports aggregated discovery", () => {
  const conditional = (etag: string, document: object) => (request: UpstreamRequest) =>
    request.headers.includes(etag) ? upstreamResponse(304) : jsonUpstreamResponse(document, ["ETag", etag]);

  test("receives requests for its own document at /api and /apis, in several formats of which every release supports one", async () => {
    const peer = new Peer({ "/api": jsonUpstreamResponse(CORE), "/apis": jsonUpstreamResponse(NAMED) });
    expect(lines((await peer.fetch()).groups)).toEqual(["/v1 pods", "apps/v1 deployments"]);
    const { headers } = peer.upstream.requests[0]!;
    const accept = headers[headers.indexOf("Accept") + 1]!.split(",");
    expect(accept[0]).toContain("v=v2;as=APIGroupDiscoveryList;profile=nopeer");
    expect(accept.at(-1)).toBe("application/json");
  });

  test("confirms the known document by its ETag, and the same value is returned", async () => {
    const peer = new Peer({ "/api": conditional('"a"', CORE), "/apis": conditional('"b"', NAMED) });
    const first = await peer.fetch();
    expect(first.etag).toBe('"a" "b"');
    expect(peer.requests()).toEqual(["/api", "/apis"]);
    expect(await peer.fetch(first)).toBe(first);
    expect(peer.requests()).toEqual(['/api "a"', '/apis "b"']);
  });

  test("that confirms only /api or /apis receives a second request for it, so that no document is incomplete", async () => {
    const first = await new Peer({ "/api": conditional('"a"', CORE), "/apis": conditional('"b"', NAMED) }).fetch();
    const changed = new Peer({
      "/api": conditional('"a"', CORE),
      "/apis": conditional('"c"', aggregated("batch", "v1", "jobs")),
    });
    expect(lines((await changed.fetch(first)).groups)).toEqual(["/v1 pods", "batch/v1 jobs"]);
    expect(changed.requests()).toEqual(['/api "a"', '/apis "b"', "/api"]);
  });

  test("that sends no ETag has its document compared by content", async () => {
    const peer = new Peer({ "/api": jsonUpstreamResponse(CORE), "/apis": jsonUpstreamResponse(NAMED) });
    const first = await peer.fetch();
    expect((await peer.fetch(first)).etag).toBe(first.etag);
    expect(peer.requests()).toEqual(["/api", "/apis", "/api", "/apis"]);
    const other = new Peer({
      "/api": jsonUpstreamResponse(CORE),
      "/apis": jsonUpstreamResponse(aggregated("batch", "v1", "jobs")),
    });
    expect((await other.fetch(first)).etag).not.toBe(first.etag);
  });

  test("may respond with 404 for /api, but not for /apis", async () => {
    expect(lines((await new Peer({ "/apis": jsonUpstreamResponse(NAMED) }).fetch()).groups)).toEqual([
      "apps/v1 deployments",
    ]);
    await expect(new Peer({ "/api": jsonUpstreamResponse(CORE) }).fetch()).rejects.toThrow("HTTP 404");
  });

  test("must not respond with the ID of another server", async () => {
    const named = (id: string): Peer =>
      new Peer({
        "/api": jsonUpstreamResponse(CORE, ["x-evenkeel-server-id", id]),
        "/apis": jsonUpstreamResponse(NAMED),
      });
    expect((await named("peer").fetch()).groups).toHaveLength(2);
    await expect(named("other").fetch()).rejects.toThrow("its address leads to other");
  });

  test("must not respond in another run than the one of its record, not even to confirm the known document", async () => {
    const inRun = (run: string): Peer =>
      new Peer({
        "/api": jsonUpstreamResponse(CORE, ["x-evenkeel-server-run", run, "ETag", '"a"']),
        "/apis": ({ headers }) =>
          headers.includes('"b"')
            ? upstreamResponse(304, ["x-evenkeel-server-run", run])
            : jsonUpstreamResponse(NAMED, ["ETag", '"b"']),
      });
    const first = await inRun("run-1").fetch();
    expect(first.groups).toHaveLength(2);
    expect((await inRun("run-1").fetch(first)).groups).toHaveLength(2);
    await expect(inRun("run-2").fetch()).rejects.toThrow("it has restarted since it wrote its endpoint record");
    await expect(inRun("run-2").fetch(first)).rejects.toThrow("it has restarted since it wrote its endpoint record");
  });
});

describe("a peer that is too old for aggregated discovery", () => {
  const API = { kind: "APIVersions", versions: ["v1"] };
  const APIS = {
    kind: "APIGroupList",
    groups: [{ name: "apps", versions: [{ groupVersion: "apps/v1", version: "v1" }] }],
  };
  const ANSWERS = {
    "/api": jsonUpstreamResponse(API),
    "/apis": jsonUpstreamResponse(APIS),
    "/api/v1": jsonUpstreamResponse(resourceList("v1", "pods")),
    "/apis/apps/v1": jsonUpstreamResponse(resourceList("apps/v1", "deployments")),
  };

  test("receives a request for each group version", async () => {
    const peer = new Peer(ANSWERS);
    expect(lines((await peer.fetch()).groups)).toEqual(["/v1 pods", "apps/v1 deployments"]);
    expect(peer.requests().sort()).toEqual(["/api", "/api/v1", "/apis", "/apis/apps/v1"]);
  });

  test("receives all requests each time, because the ETag of a list of groups does not cover resources", async () => {
    const peer = new Peer({
      ...ANSWERS,
      "/api": jsonUpstreamResponse(API, ["ETag", "a"]),
      "/apis": jsonUpstreamResponse(APIS, ["ETag", "b"]),
    });
    const first = await peer.fetch();
    peer.requests();
    await peer.fetch(first);
    expect(peer.requests().sort()).toEqual(["/api", "/api/v1", "/apis", "/apis/apps/v1"]);
  });

  test("that fails for one group version has no document at all", async () => {
    await expect(new Peer({ ...ANSWERS, "/apis/apps/v1": upstreamResponse(500) }).fetch()).rejects.toThrow("HTTP 500");
  });

  test("cannot make the server request a path that is no group or version", async () => {
    const groups = (name: string, version: string): UpstreamResponse =>
      jsonUpstreamResponse({ kind: "APIGroupList", groups: [{ name, versions: [{ version }] }] });
    for (const [name, version] of [
      ["../secrets", "v1"],
      ["apps", "v1/../../x"],
      ["apps", "v1?x"],
      ["", "v1"],
    ] as const) {
      const peer = new Peer({ ...ANSWERS, "/apis": groups(name, version) });
      await expect(peer.fetch()).rejects.toThrow("not a discovery document");
    }
    const many = jsonUpstreamResponse({
      kind: "APIGroupList",
      groups: Array.from({ length: 501 }, () => APIS.groups[0]),
    });
    await expect(new Peer({ ...ANSWERS, "/apis": many }).fetch()).rejects.toThrow("not a discovery document");
  });

  test.each(["null", "[]", "{", "", '{"kind":"Status"}'])("has no document if it responds with %j", async (text) => {
    await expect(new Peer({ ...ANSWERS, "/apis": upstreamResponse(200, [], text) }).fetch()).rejects.toThrow();
  });
});
