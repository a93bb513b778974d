/** Tests of clients that send the release for which they were built (X-Kubernetes-Compatibility-Version), over TLS. */
import { describe, expect, test } from "vitest";
import type { CallOptions, Json } from "./client.ts";
import { startCluster, UNPROBED, type Member, type MemberOptions, type TestCluster } from "./cluster.ts";
import { startStub, WIDGETS } from "./stub-peer.ts";
import { eventually } from "./wait.ts";

const HEADER = "X-Kubernetes-Compatibility-Version";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const ON = ["UnknownVersionInteroperabilityProxy=true", "VersionAwareProxying=true"];

function member(release: string, more: Partial<MemberOptions["options"]> = {}): MemberOptions {
  return { release, options: { featureGates: ON, ...more } };
}

const EMULATING = member("1.36", { emulatedVersion: ["1.35"] });

function from(version: string): CallOptions {
  return { headers: { [HEADER]: version } };
}

function servedBy(response: { readonly headers: Json }): string | undefined {
  return response.headers["x-evenkeel-served-by"] as string | undefined;
}

function configMap(name: string): Json {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { key: name } };
}

/** One request of each kind. The order ensures that each request finds the objects that it needs. */
const KINDS: readonly ((server: Member, name: string, version: string) => Promise<string | undefined>)[] = [
  (server, name, version) =>
    call(server, CONFIG_MAPS, { method: "POST", body: configMap(name), ...from(version) }, 201),
  (server, name, version) => call(server, `${CONFIG_MAPS}/${name}`, from(version)),
  (server, name, version) =>
    call(server, `${CONFIG_MAPS}/${name}`, { method: "PUT", body: configMap(name), ...from(version) }),
  (server, name, version) =>
    call(server, `${CONFIG_MAPS}/${name}`, {
      method: "PATCH",
      body: JSON.stringify({ data: { patched: version } }),
      headers: { [HEADER]: version, "content-type": "application/merge-patch+json" },
    }),
  (server, _name, version) => call(server, `${CONFIG_MAPS}?limit=5`, from(version)),
  (server, _name, version) => call(server, "/api/v1/pods", from(version)),
  (server, _name, version) => watch(server, "/api/v1/pods", version),
  (server, _name, version) => call(server, "/apis/apps/v1/deployments", from(version)),
  (server, _name, version) => watch(server, CONFIG_MAPS, version),
  (server, name, version) => call(server, `${CONFIG_MAPS}/${name}`, { method: "DELETE", ...from(version) }),
];

async function call(server: Member, target: string, options: CallOptions, status = 200): Promise<string | undefined> {
  const response = await server.call(target, { ...options, sharesConnection: true });
  if (response.status !== status)
    throw new Error(`${options.method ?? "GET"} ${target}: ${response.status} ${response.text}`);
  return servedBy(response);
}

async function watch(server: Member, target: string, version: string): Promise<string | undefined> {
  const message = await server.open(`${target}?watch=true`, from(version));
  message.on("error", () => {});
  message.destroy();
  return servedBy(message);
}

const ROUNDS = 25;

/** The servers that served the requests, keyed by the called server and the sent release. */
async function thousandRequests(cluster: TestCluster, versions: readonly string[]): Promise<Map<string, Set<string>>> {
  const seen = new Map<string, Set<string>>();
  let count = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const lines = cluster.members.flatMap((server) => versions.map((version) => ({ server, version })));
    await Promise.all(
      lines.map(async ({ server, version }) => {
        const key = `${server.id} ${version}`;
        for (const kind of KINDS) {
          const by = await kind(server, `${key.replaceAll(/[^a-z0-9]/g, "-")}-${round}`, version);
          const landed = seen.get(key) ?? new Set();
          seen.set(key, landed.add(by ?? `${server.id} itself`));
          count++;
        }
      }),
    );
  }
  expect(count).toBe(1_000);
  return seen;
}

describe("each of 1,000 requests with the header reaches the server of its release, with", () => {
  test.each([
    ["releases 1.35 and 1.36", [member("1.35"), member("1.36")]],
    ["binaries 1.36, one of which emulates 1.35", [EMULATING, member("1.36")]],
  ])("%s", async (_what, members) => {
    await using cluster = await startCluster(members);
    const landed = await thousandRequests(cluster, ["1.35", "1.36"]);
    expect(Object.fromEntries([...landed].map(([key, by]) => [key, [...by]]))).toEqual({
      "a 1.35": ["a itself"],
      "a 1.36": ["b (1.36); reason=peer-fits-client"],
      "b 1.35": ["a (1.35); reason=peer-fits-client"],
      "b 1.36": ["b itself"],
    });
  });
});

describe("a request with the client's release", () => {
  test("is proxied to the peer with the nearest newer release, unless the local server is new enough or all peers are too old", async () => {
    await using cluster = await startCluster([member("1.34"), member("1.37"), member("1.36")]);
    const [a, b] = cluster.members as [Member, Member];
    expect(servedBy(await a.call(CONFIG_MAPS, from("1.35")))).toBe("c (1.36); reason=peer-fits-client");
    expect(servedBy(await b.call(CONFIG_MAPS, from("1.35")))).toBeUndefined();
    expect(servedBy(await a.call(CONFIG_MAPS, from("1.38")))).toBeUndefined();
  });

  test("is served locally if the chosen peer does not respond, also a write", async () => {
    await using cluster = await startCluster([
      { ...member("1.35"), peers: { timing: UNPROBED } },
      { ...member("1.36"), peers: { timing: UNPROBED } },
    ]);
    const [a, b] = cluster.members as [Member, Member];
    expect(servedBy(await a.call(CONFIG_MAPS, from("1.36")))).toContain("b (1.36)");
    b.link.cut();
    const made = await a.call(CONFIG_MAPS, { method: "POST", body: configMap("one"), ...from("1.36") });
    expect([made.status, servedBy(made), made.body.metadata.name]).toEqual([201, undefined, "one"]);
    const read = await a.call(`${CONFIG_MAPS}/one`, from("1.36"));
    expect([read.status, servedBy(read)]).toEqual([200, undefined]);
  });

  test("is not proxied to a draining peer if the local server serves the resource", async () => {
    await using cluster = await startCluster([member("1.35"), member("1.36", { shutdown: { delayMs: 1_000 } })]);
    const [a, b] = cluster.members as [Member, Member];
    const stopping = b.stop();
    await eventually(
      () => a.view.peers.every(({ isDraining }) => isDraining),
      (isLeaving) => isLeaving,
    );
    expect(servedBy(await a.call(CONFIG_MAPS, from("1.36")))).toBeUndefined();
    await stopping;
  });

  test("is proxied with the header unchanged", async () => {
    await using cluster = await startCluster([member("1.35")]);
    const { member: a, stub } = await startStub(cluster);
    await a.call(WIDGETS, from("1.36"));
    expect(stub.arrivals.map((arrival) => arrival.all(HEADER))).toEqual([["1.36"]]);
  });

  test("is served locally if a peer has proxied it, whatever the header", async () => {
    await using cluster = await startCluster([member("1.35"), member("1.36")]);
    const [a] = cluster.members as [Member];
    // The request as a peer sends it. The header must not cause a second hop.
    const headers = { [HEADER]: "1.36", "X-Remote-User": "jane", "X-Kubernetes-Peer-Proxied": "true" };
    const proxied = await a.call(CONFIG_MAPS, { headers, asProxy: true, token: "" });
    expect([proxied.status, servedBy(proxied)]).toEqual([200, undefined]);
  });

  test("is not proxied if it is unauthenticated", async () => {
    await using cluster = await startCluster([member("1.35"), member("1.36")]);
    const [a] = cluster.members as [Member];
    const response = await a.call(CONFIG_MAPS, { ...from("1.36"), token: "wrong" });
    expect([response.status, servedBy(response)]).toEqual([401, undefined]);
    expect((await a.get("/metrics")).text).not.toContain("apiserver_rerouted_request_total{");
  });
});

test("a header that is not a valid release is ignored with a warning, whatever the status of the response", async () => {
  await using cluster = await startCluster([member("1.35"), member("1.36")]);
  const [a] = cluster.members as [Member];
  for (const value of ["v1.36", "1.36.4", "latest", "1.36, 1.35", ["1.36", "1.36"], ""]) {
    const headers = { [HEADER]: value };
    const response = await a.call(CONFIG_MAPS, { headers });
    expect([response.status, servedBy(response)], String(value)).toEqual([200, undefined]);
    expect(response.headers["warning"]).toMatch(/^299 - ".*X-Kubernetes-Compatibility-Version is ignored.*"$/);
    const missing = await a.call(`${CONFIG_MAPS}/missing`, { headers });
    expect([missing.status, missing.body.reason]).toEqual([404, "NotFound"]);
    expect(missing.headers["warning"]).toMatch(/^299 - /);
  }
});

test("with the feature gate off, which is the default of --strict-release, the header is ignored", async () => {
  await using cluster = await startCluster([{ release: "1.35" }, { release: "1.36" }]);
  const [a] = cluster.members as [Member];
  for (const value of ["1.36", "nonsense"]) {
    const response = await a.call(CONFIG_MAPS, from(value));
    expect([response.status, servedBy(response), response.headers["warning"]]).toEqual([200, undefined, undefined]);
  }
});

test("the explained route and the cluster status report the compatibility versions", async () => {
  await using cluster = await startCluster([EMULATING, member("1.36")]);
  const [a, b] = cluster.members as [Member, Member];
  const query = `verb=list&path=${encodeURIComponent(CONFIG_MAPS)}`;
  const explained = (await a.get(`/evenkeel/v1/route?${query}&compatibilityVersion=1.36`)).body;
  expect(explained.request).toMatchObject({ compatibilityVersion: "1.36" });
  expect(explained.route).toMatchObject({
    kind: "peer",
    rule: "peer-fits-client",
    reason: "the client requests compatibility with 1.36; better matches than a (1.35): b",
    candidates: [["b"], ["a"]],
  });
  expect((await a.get(`/evenkeel/v1/route?${query}`)).body.route.rule).toBe("served-here");
  expect((await a.get(`/evenkeel/v1/route?${query}&compatibilityVersion=1.38`)).body.route).toMatchObject({
    kind: "local",
    rule: "nobody-fits-client-better",
  });
  expect((await a.get(`/evenkeel/v1/route?${query}&compatibilityVersion=x`)).status).toBe(400);
  const { servers } = (await b.get("/evenkeel/v1/status")).body;
  const seen = servers.find(({ id }: Json) => id === "a");
  expect(seen).toMatchObject({ release: "1.35", binaryVersion: "1.36.4", compatibilityVersion: "1.35" });
});
