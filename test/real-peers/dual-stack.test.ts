/** Dual-stack Services: a real kube-apiserver and Evenkeel return the same for the same requests, on one etcd. */
import { describe, expect, test } from "vitest";
import { BINARIES, whySkipped } from "./real-binaries.ts";
import { openRealCluster, type RunningServer } from "./real-cluster.ts";

const SERVICES = "/api/v1/namespaces/default/services";
const DRY = "dryRun=All";
const RANGES = { single: "10.0.0.0/24", dual: "10.0.0.0/24,fd00:10::/112" };

const why = whySkipped(BINARIES[0], "1.31 or newer");

const specs: readonly object[] = [
  {},
  { clusterIP: "None" },
  { clusterIP: "None", selector: { a: "b" } },
  { clusterIP: "None", selector: { a: "b" }, ipFamilyPolicy: "RequireDualStack" },
  { clusterIP: "None", ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" },
  { clusterIP: "10.0.0.77" },
  { clusterIP: "fd00:10::77" },
  { clusterIP: "fd00:10::77", ipFamilyPolicy: "PreferDualStack" },
  { clusterIP: "10.0.0.77", clusterIPs: ["10.0.0.77", "fd00:10::77"] },
  { clusterIP: "10.0.0.77", clusterIPs: ["10.0.0.77", "fd00:10::77"], ipFamilyPolicy: "RequireDualStack" },
  { clusterIP: "10.0.0.77", clusterIPs: ["10.0.0.77", "10.0.0.78"], ipFamilyPolicy: "RequireDualStack" },
  { clusterIP: "10.0.0.77", clusterIPs: ["10.0.0.77", "fd00:10::77", "10.0.0.78"] },
  { clusterIP: "10.9.0.77" },
  { clusterIP: "10.9.0.77", ipFamilyPolicy: "RequireDualStack" },
  { clusterIPs: ["10.0.0.77"] },
  { ipFamilies: ["IPv4"] },
  { ipFamilies: ["IPv6"] },
  { ipFamilies: ["IPv4", "IPv6"] },
  { ipFamilies: ["IPv6", "IPv4"], ipFamilyPolicy: "PreferDualStack" },
  { ipFamilies: ["IPv4", "IPv4"], ipFamilyPolicy: "PreferDualStack" },
  { ipFamilies: ["IPv5"] },
  { ipFamilies: ["IPv6"], clusterIP: "10.0.0.77" },
  { ipFamilyPolicy: "SingleStack" },
  { ipFamilyPolicy: "PreferDualStack" },
  { ipFamilyPolicy: "RequireDualStack" },
  { ipFamilyPolicy: "Both" },
  { ipFamilyPolicy: "RequireDualStack", ports: [] },
  { type: "ExternalName", externalName: "example.com", ipFamilyPolicy: "PreferDualStack" },
  { type: "ExternalName", externalName: "example.com", ipFamilies: ["IPv4"] },
];

const stored: Record<string, object> = {
  single: { clusterIP: "10.0.0.50" },
  prefer: { ipFamilyPolicy: "PreferDualStack", clusterIP: "10.0.0.51" },
  headless: { clusterIP: "None", selector: { a: "b" } },
  open: { clusterIP: "None" },
  name: { type: "ExternalName", externalName: "example.com" },
};

const changes: readonly object[] = [
  { ipFamilyPolicy: "SingleStack" },
  { ipFamilyPolicy: "PreferDualStack" },
  { ipFamilyPolicy: "RequireDualStack" },
  { ipFamilyPolicy: null },
  { ipFamilies: ["IPv4"] },
  { ipFamilies: ["IPv6"] },
  { ipFamilies: ["IPv4", "IPv6"] },
  { ipFamilies: ["IPv6", "IPv4"] },
  { ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" },
  { ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" },
  { ipFamilies: null, clusterIPs: null, clusterIP: null },
  { clusterIPs: ["10.0.0.50"] },
  { clusterIPs: ["10.0.0.51"] },
  { clusterIPs: ["10.0.0.51"], ipFamilyPolicy: "SingleStack" },
  { clusterIPs: ["10.0.0.50", "fd00:10::88"], ipFamilyPolicy: "RequireDualStack" },
  { clusterIP: "10.0.0.99" },
  { clusterIP: "10.0.0.99", clusterIPs: ["10.0.0.99"] },
  { clusterIP: "None", clusterIPs: ["None"] },
  { type: "ExternalName", externalName: "example.com" },
  { type: "ClusterIP", externalName: null },
  { type: "ClusterIP", externalName: null, ipFamilyPolicy: "RequireDualStack" },
  { type: "ClusterIP", externalName: null, clusterIP: "10.0.0.60", ipFamilyPolicy: "PreferDualStack" },
];

describe.skipIf(why !== undefined)("dual-stack Services beside a real kube-apiserver", { timeout: 400_000 }, () => {
  test.each(
    BINARIES.flatMap((binary) => (["dual", "single"] as const).map((kind) => [binary.release, kind, binary] as const)),
  )("of %s return the same for the same requests (%s-stack cluster)", async (release, kind, binary) => {
    await using cluster = await openRealCluster(2);
    const flags = [`--service-cluster-ip-range=${RANGES[kind]}`];
    const kube = await cluster.startKube({ at: 0, binary, flags });
    const evenkeel = await cluster.startEvenkeel({ at: 1, release, flags });
    const compare = async (method: string, path: string, body: unknown, type: string): Promise<void> => {
      const request = { method, path, body, type };
      // A kube-apiserver without a second range panics if a Service that prefers both families becomes headless.
      const expected = await shown(kube, request).catch(() => ({ status: 422, message: expect.any(String) }));
      const found = await shown(evenkeel, request);
      expect.soft(found, `${method} ${path} ${JSON.stringify(body)}`).toEqual(expected);
    };
    for (const spec of specs) await compare("POST", `${SERVICES}?${DRY}`, service("web", spec), "application/json");
    for (const [name, spec] of Object.entries(stored)) {
      const created = await kube.request("POST", SERVICES, service(name, spec));
      expect(created.status, created.text).toBe(201);
      for (const change of changes)
        await compare("PATCH", `${SERVICES}/${name}?${DRY}`, { spec: change }, "application/merge-patch+json");
    }
  });
});

function service(name: string, spec: object): object {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } };
}

/** The status, the message or the fields of families. An address that a dry run chooses is shown only by its family. */
async function shown(
  server: RunningServer,
  { method, path, body, type }: { method: string; path: string; body: unknown; type: string },
): Promise<unknown> {
  const response = await server.request(method, path, body, { "content-type": type });
  // As kube-apiserver allocates before it validates, an error about an update shows the address that the update adds.
  const message = String(response.body?.message).replace(/, ?"fd00:10::"/, "");
  if (response.status >= 300) return { status: response.status, message };
  const { ipFamilies, ipFamilyPolicy, clusterIPs, type: kind } = response.body.spec;
  const families = clusterIPs?.map((ip: string) => (ip === "None" ? ip : ip.includes(":") ? "IPv6" : "IPv4"));
  return { status: response.status, kind, ipFamilies, ipFamilyPolicy, families };
}
