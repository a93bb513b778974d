/**
 * Tests of a tenant that writes identity leases and StorageVersions, the records by which servers find each other. The
 * servers reject these writes. If the tenant has the permission by mistake, the forged records neither change routes
 * nor the version in which servers write.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { groupNames, type PeerResponse, type Json } from "../peers/client.ts";
import { lease, LEASES } from "../peers/stub-peer.ts";
import { eventually } from "../peers/wait.ts";
import { applyOf, asTenant, grantTenant, OWN, patchOf, rule, startSite, type Site } from "./start.ts";

const API = "internal.apiserver.k8s.io";
const STORAGE_VERSIONS = `/apis/${API}/v1alpha1/storageversions`;
const OBJECT = `${STORAGE_VERSIONS}/core.configmaps`;
const JOBS = `/apis/batch/v1/namespaces/${OWN}/jobs`;
const CONFIG_MAPS = `/api/v1/namespaces/${OWN}/configmaps`;
const GHOST = {
  apiServerID: "ghost",
  encodingVersion: "v9",
  decodableVersions: ["v9"],
  servedVersions: ["v9"],
} as const;

let site: Site;
beforeAll(async () => {
  site = await startSite({ controllers: ["storage-version-garbage-collector"] }, "storageversion");
});
afterAll(() => site[Symbol.asyncDispose]());

const storageVersion = async (): Promise<Json> => (await site.first.get(OBJECT)).body;
const agreedOn = ({ status }: Json): Json => [status.storageVersions, status.commonEncodingVersion];

/** The peers as the first server sees them, its merged discovery, and the server that serves a request. */
async function routing(): Promise<Json> {
  const peers = site.first.view.peers.map(({ id, address, isDraining, isReachable, isDescribed, release }) => ({
    ...{ id, address, isDraining, isReachable, isDescribed, release },
  }));
  const response = await asTenant(site.first, JOBS);
  const groups = groupNames(await site.first.discovery("/apis"));
  return { peers, groups, served: [response.status, response.headers["x-evenkeel-served-by"]] };
}

async function writes(name: string): Promise<number> {
  return (await asTenant(site.first, CONFIG_MAPS, { method: "POST", body: { metadata: { name } } })).status;
}

describe("a tenant with permissions in its own namespace", () => {
  const status = { storageVersions: [GHOST], commonEncodingVersion: "v9" };
  const ghost = { apiVersion: `${API}/v1alpha1`, kind: "StorageVersion", metadata: { name: "core.ghosts" }, spec: {} };
  const ATTACKS: readonly (readonly [attack: string, verb: string, send: () => Promise<PeerResponse>])[] = [
    [
      "creates an identity lease",
      "create",
      () => asTenant(site.first, LEASES, { method: "POST", body: lease("ghost") }),
    ],
    [
      "applies an identity lease",
      "patch",
      () => asTenant(site.first, `${LEASES}/ghost?fieldManager=t`, applyOf(lease("ghost"))),
    ],
    [
      "takes over the lease of a server",
      "patch",
      () => asTenant(site.first, `${LEASES}/b`, patchOf("merge", { spec: { holderIdentity: "ghost" } })),
    ],
    ["deletes the lease of a server", "delete", () => asTenant(site.first, `${LEASES}/b`, { method: "DELETE" })],
    ["deletes all identity leases", "deletecollection", () => asTenant(site.first, LEASES, { method: "DELETE" })],
    [
      "creates a StorageVersion",
      "create",
      () => asTenant(site.first, STORAGE_VERSIONS, { method: "POST", body: ghost }),
    ],
    ["changes a StorageVersion", "patch", () => asTenant(site.first, OBJECT, patchOf("merge", { status }))],
    [
      "changes the status of a StorageVersion",
      "patch",
      () => asTenant(site.first, `${OBJECT}/status`, patchOf("merge", { status })),
    ],
    [
      "replaces the status of a StorageVersion",
      "update",
      async () =>
        asTenant(site.first, `${OBJECT}/status`, { method: "PUT", body: { ...(await storageVersion()), status } }),
    ],
    ["deletes a StorageVersion", "delete", () => asTenant(site.first, OBJECT, { method: "DELETE" })],
  ];
  test.each(ATTACKS)("that %s gets 403, and nothing changes", async (_attack, verb, send) => {
    const before = [await storageVersion(), await routing()];
    const { status: code, body } = await send();
    expect([code, body.reason]).toEqual([403, "Forbidden"]);
    expect(body.message).toContain(` is forbidden: User "tenant" cannot ${verb} resource "`);
    expect([await storageVersion(), await routing()]).toEqual(before);
  });

  test("can write leases with the names of servers in its own namespace, and the servers ignore them", async () => {
    const before = await routing();
    const own = `/apis/coordination.k8s.io/v1/namespaces/${OWN}/leases`;
    for (const id of ["ghost", "b"])
      expect((await asTenant(site.first, own, { method: "POST", body: lease(id, OWN) })).status).toBe(201);
    expect(await routing()).toEqual(before);
  });
});

describe("a tenant with write permission granted by mistake", () => {
  beforeAll(async () => {
    await grantTenant(site.first, "mistake", [
      rule("coordination.k8s.io", ["leases"], ["*"]),
      rule(API, ["storageversions", "storageversions/status"], ["*"]),
    ]);
  });

  const settled = (wanted: Json): Promise<Json> =>
    eventually(storageVersion, (object) => JSON.stringify(agreedOn(object)) === JSON.stringify(wanted));

  const FORGERIES: readonly (readonly [forgery: string, of: (entries: readonly Json[]) => Json])[] = [
    ["an unknown server that can decode no other version", (entries) => ({ storageVersions: [...entries, GHOST] })],
    ["the unknown server only", () => ({ storageVersions: [GHOST], commonEncodingVersion: "v9" })],
    [
      "servers that write another version",
      (entries) => ({
        storageVersions: entries.map((entry) => ({ ...entry, encodingVersion: "v9", decodableVersions: ["v1", "v9"] })),
        commonEncodingVersion: "v9",
      }),
    ],
    ["no server", () => ({ storageVersions: [] })],
  ];
  test.each(FORGERIES)(
    "that forges a StorageVersion with %s does not change the encoding, and the servers correct the object",
    async (forgery, of) => {
      const [before, route] = [await storageVersion(), await routing()];
      const status = { conditions: before.status.conditions, ...of(before.status.storageVersions) };
      const forged = await asTenant(site.first, `${OBJECT}/status`, { method: "PUT", body: { ...before, status } });
      expect(forged.status).toBe(200);
      const name = `after-${FORGERIES.findIndex(([one]) => one === forgery)}`;
      expect(await writes(name)).toBe(201);
      const { items } = await site.cluster.kv.range({ start: `/registry/configmaps/${OWN}/${name}` });
      expect(JSON.parse(items[0]!.value.toString("utf8")).apiVersion).toBe("v1");
      await settled(agreedOn(before));
      expect(await routing()).toEqual(route);
    },
  );

  test("that deletes a StorageVersion blocks no writes, and the servers restore the object", async () => {
    const before = await storageVersion();
    expect((await asTenant(site.first, OBJECT, { method: "DELETE" })).status).toBe(200);
    expect(await writes("after-deletion")).toBe(201);
    await eventually(
      () => site.first.get(OBJECT),
      ({ status, body }) => status === 200 && JSON.stringify(agreedOn(body)) === JSON.stringify(agreedOn(before)),
    );
  });

  test("cannot create an identity lease or change that of a server", async () => {
    const route = await routing();
    const created = await asTenant(site.first, LEASES, { method: "POST", body: lease("ghost") });
    expect([created.status, created.body.reason]).toEqual([403, "Forbidden"]);
    const headers = { "content-type": "application/merge-patch+json" };
    const [peer] = site.first.view.peers;
    const patch = { spec: { holderIdentity: "forged" } };
    const changed = await asTenant(site.first, `${LEASES}/${peer!.id}`, { method: "PATCH", body: patch, headers });
    expect([changed.status, changed.body.reason]).toEqual([403, "Forbidden"]);
    expect(await writes("beside-ghost")).toBe(201);
    expect(await routing()).toEqual(route);
  });

  test("with the rights of an administrator creates an identity lease that receives no requests and does not change the agreed version", async () => {
    const [before, route] = [await storageVersion(), await routing()];
    expect((await site.first.create(LEASES, lease("ghost"))).status).toBe(201);
    await eventually(
      () => site.first.view.peers.length,
      (count) => count === 2,
    );
    const { peers, ...rest } = await routing();
    expect(rest).toEqual({ groups: route.groups, served: route.served });
    // The forged server has no endpoint record, because no API can create one.
    const nowhere = {
      address: undefined,
      isDraining: false,
      isReachable: false,
      isDescribed: false,
      release: undefined,
    };
    expect(peers).toEqual([...route.peers, { id: "ghost", ...nowhere }]);
    expect(await writes("beside-ghost-2")).toBe(201);
    const { status } = await storageVersion();
    expect(status.storageVersions).toEqual(before.status.storageVersions);
    expect([undefined, before.status.commonEncodingVersion]).toContain(status.commonEncodingVersion);
    expect((await site.first.delete(`${LEASES}/ghost`)).status).toBe(200);
    await settled(agreedOn(before));
    expect(await routing()).toEqual(route);
  });
});
