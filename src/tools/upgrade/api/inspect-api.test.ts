import { describe, expect, test } from "vitest";
import { startServer } from "../../../../test/api/start.ts";
import { apiOf, type FakedResponse } from "../../../../test/testing/tools/upgrade/api-of-server.ts";
import type { Inspection } from "../inspect/inspection.ts";
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import { inspectApi } from "./inspect-api.ts";

interface Cluster {
  readonly release?: ReleaseName;
  readonly to?: readonly ReleaseName[];
  readonly responses?: Readonly<Record<string, FakedResponse | ((call: number) => FakedResponse)>>;
  readonly objects?: readonly (readonly [path: string, body: object])[];
}

async function inspected({ release = "1.33", to = [], responses = {}, objects = [] }: Cluster): Promise<Inspection> {
  const server = await startServer({ release });
  for (const [path, body] of objects) expect((await server.create(path, body)).status).toBe(201);
  let calls = 0;
  const requests = apiOf(server, ({ target }) => {
    const faked = responses[target.split("?")[0]!];
    return typeof faked === "function" ? faked(calls++) : faked;
  });
  const signal = new AbortController().signal;
  return inspectApi({ requests, reconnect: () => requests, signal, onProgress: () => {}, to });
}

const json = (value: object): FakedResponse => ({ status: 200, text: JSON.stringify(value) });
const idsOf = ({ findings }: Inspection): string[] => findings.map(({ id }) => id);

describe("an inspection through the API", () => {
  test("finds the release of the servers, and shows no facts about stored values", async () => {
    const report = await inspected({});
    expect(report.from).toMatchObject({ release: "1.33", origin: "found" });
    expect(report.from.evidence[0]).toMatch(/^an API server reports version v1\.33/);
    expect(report.hops).toEqual(["1.34"]);
    expect(report.read).toMatchObject({ bytes: 0 });
    expect(report.read.notKnown).toContain("the sizes of objects");
    expect(report.resources.length).toBeGreaterThan(5);
    for (const { bytes, versions } of report.resources) expect({ bytes, versions }).toEqual({ bytes: 0, versions: [] });
    expect(report.largestObjects).toEqual([]);
  });

  test("reports servers of different versions behind a load balancer, and the oldest release", async () => {
    const responses = {
      "/version": (call: number): FakedResponse =>
        json({ minor: call % 2 === 0 ? "34" : "33+", gitVersion: call % 2 === 0 ? "v1.34.1" : "v1.33.4-gke.1" }),
    };
    const report = await inspected({ responses });
    expect(report.from.release).toBe("1.33");
    expect(report.findings.find(({ id }) => id === "api-servers-differ")?.subjects).toEqual([
      { name: "v1.33.4-gke.1" },
      { name: "v1.34.1" },
    ]);
  });

  test("reports requests to APIs that the upgrade removes as an error, and later removals as information", async () => {
    const line = (version: string, removed: string): string =>
      `apiserver_requested_deprecated_apis{group="x.k8s.io",removed_release="${removed}",resource="r",subresource="",version="${version}"} 1\n`;
    const text = line("v1beta1", "1.35") + line("v1beta2", "1.37");
    const report = await inspected({ to: ["1.35"], responses: { "/metrics": { status: 200, text } } });
    expect(report.findings.filter(({ id }) => id.endsWith("-api-requested"))).toMatchObject([
      { id: "removed-api-requested", severity: "error", subjects: [{ name: "x.k8s.io/v1beta1 r" }] },
      { id: "deprecated-api-requested", severity: "info", subjects: [{ name: "x.k8s.io/v1beta2 r" }] },
    ]);
  });

  test("names the metrics as not read if the user may not read them", async () => {
    const denied = { status: 403, text: JSON.stringify({ kind: "Status", reason: "Forbidden", code: 403 }) };
    const report = await inspected({ responses: { "/metrics": denied } });
    expect(report.read.notKnown).toContain("not read: the metrics of the API servers");
  });

  test("shows the conditions of a namespace that is being deleted", async () => {
    const conditions = [{ type: "NamespaceContentRemaining", status: "True", message: "configmaps. has 4 instances" }];
    const stuck = { metadata: { name: "stuck" }, status: { phase: "Terminating", conditions } };
    const report = await inspected({ responses: { "/api/v1/namespaces": json({ items: [stuck] }) } });
    expect(report.findings.find(({ id }) => id === "namespace-conditions")?.subjects).toEqual([
      { name: "namespaces stuck", detail: "NamespaceContentRemaining: configmaps. has 4 instances" },
    ]);
  });

  test("reports an object whose owner does not exist", async () => {
    const owner = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      name: "gone",
      uid: "2b0f3f4e-0000-4000-8000-000000000001",
    };
    const orphan = { metadata: { name: "orphan", ownerReferences: [owner] } };
    const report = await inspected({ objects: [["/api/v1/namespaces/default/configmaps", orphan]] });
    expect(idsOf(report)).toContain("owner-missing");
  });

  test("fails if the user sees no object at all", async () => {
    const list = json({ metadata: {}, groups: [], versions: [] });
    await expect(inspected({ responses: { "/api": list, "/apis": list } })).rejects.toThrow(
      "https://cluster.example shows no objects: use a user that may list all resources",
    );
  });
});
