import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { isOwnRecord, storedObjects } from "../../../test/api/own-records.ts";
import { sleep } from "../../base/clock.ts";
import type { JsonObject } from "../../meta/json.ts";
import { World } from "../../tools/simulator/world.ts";
import { WorkerLink } from "../../storage/kv-sqlite/worker-link.ts";
import { type Kv, StorageError } from "../../storage/kv.ts";
import { buildServer, type Server } from "../../server/build-server.ts";
import { resolveOptions, type StorageConfig } from "../../server/config.ts";
import { createNodeEnv } from "../../server/env-node.ts";
import type { Env } from "../../server/env.ts";
import { overlaidKv } from "../../storage/overlaid-kv.ts";

const ADDRESS = "192.0.2.10";
const SERVICE_KEY = "/registry/services/specs/default/kubernetes";
const IP_ADDRESS_KEY = "/registry/ipaddresses/10.0.0.1";
/** Number of ClusterRoles, ClusterRoleBindings, Roles and RoleBindings. */
const ROLES_COUNT = 70 + 50 + 7 + 7;
/**
 * Number of namespaces, priority classes, priority levels, flow schemas, the ServiceCIDR, the Service, its IPAddress
 * and the roles.
 */
const OBJECTS_COUNT = 4 + 2 + 8 + 11 + 1 + 1 + 1 + ROLES_COUNT;

afterEach(() => void vi.restoreAllMocks());

async function start(env: Env, storage: StorageConfig): Promise<Server> {
  const server = await buildServer(
    env,
    resolveOptions({ storage, strictRelease: true, advertise: { address: ADDRESS } }),
  );
  server.announce("127.0.0.1:6443");
  return server;
}

/** Starts a server in the world whose store commits through `commit`. */
function startIn(world: World, commit: (kv: Kv, ...change: Parameters<Kv["commit"]>) => ReturnType<Kv["commit"]>) {
  const kv = world.openKv();
  const between = overlaidKv(kv, { commit: (change) => commit(kv, change) });
  return start({ ...world.env, openKv: () => Promise.resolve(between) }, { kind: "memory" });
}

/**
 * Whether the key is one of an API object, not of a record of the servers themselves. APIServices and the endpoints of
 * the kubernetes Service are excluded, because they are written after readiness.
 */
function isObjectKey(key: string): boolean {
  return !isOwnRecord(key) && !/\/apiregistration\.k8s\.io\/|\/endpoints\/|\/endpointslices\/|\/ranges\//.test(key);
}

function isObjectWrite(write: object): boolean {
  return "key" in write && typeof write.key === "string" && isObjectKey(write.key);
}

/** Keys and revisions of the objects that are written before readiness. */
async function seeded(world: World): Promise<string[]> {
  return (await world.run(storedObjects(world.openKv()))).filter((line) => isObjectKey(line));
}

async function stored(world: World, key: string): Promise<JsonObject & { metadata: JsonObject }> {
  const { items } = await world.run(world.openKv().range({ start: key }));
  return JSON.parse(items[0]!.value.toString("utf8")) as JsonObject & { metadata: JsonObject };
}

describe("on the embedded store", () => {
  test("the first start writes the namespace of the identity lease, then all other objects except the Service in one group commit, and then its IPAddress and the Service; a restart writes no object", async () => {
    const directory = mkdtempSync(join(tmpdir(), "evenkeel-seed-"));
    try {
      const send = vi.spyOn(WorkerLink.prototype, "send");
      const commits = async (): Promise<number[]> => {
        send.mockClear();
        const env = createNodeEnv({ logLevel: "error", write: () => {} });
        const server = await start(env, { kind: "embedded", directory });
        await server.ready;
        await server.close();
        return send.mock.calls
          .flatMap(([request]) => (request.kind === "write" ? [request.writes.filter(isObjectWrite).length] : []))
          .filter((count) => count > 0);
      };
      expect(await commits()).toEqual([1, OBJECTS_COUNT - 3, 1, 1]);
      expect(await commits()).toEqual([]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

test("on the first start all writes between the first and those of the Service are issued without waiting for one another, and on a restart no object is written", async () => {
  const world = new World({ seed: 1 });
  const issuedAfterAnswers: number[] = [];
  let responses = 0;
  const commit = async (kv: Kv, change: Parameters<Kv["commit"]>[0]): ReturnType<Kv["commit"]> => {
    if (!isObjectKey(change.key)) return kv.commit(change);
    issuedAfterAnswers.push(responses);
    await sleep(world.clock, 10);
    responses++;
    return kv.commit(change);
  };
  const first = await startIn(world, commit);
  await world.run(first.ready);
  expect(issuedAfterAnswers).toEqual([
    0,
    ...Array.from({ length: OBJECTS_COUNT - 3 }, () => 1),
    OBJECTS_COUNT - 2,
    OBJECTS_COUNT - 1,
  ]);
  const second = await startIn(world, commit);
  await world.run(second.ready);
  expect(issuedAfterAnswers).toHaveLength(OBJECTS_COUNT);
  await world.run(Promise.all([first.close(), second.close()]));
});

test("a missing object is created again on the next start, and the others are not written", async () => {
  const world = new World({ seed: 1 });
  const first = await startIn(world, (kv, change) => kv.commit(change));
  await world.run(first.ready);
  await world.run(
    first.call({ method: "DELETE", target: "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:monitoring" }),
  );
  await world.run(first.call({ method: "DELETE", target: "/api/v1/namespaces/default/services/kubernetes" }));
  const keys: string[] = [];
  const second = await startIn(world, (kv, change) => {
    if (isObjectKey(change.key)) keys.push(change.key);
    return kv.commit(change);
  });
  await world.run(second.ready);
  expect(keys.sort()).toEqual(["/registry/clusterroles/system:monitoring", IP_ADDRESS_KEY, SERVICE_KEY]);
  await world.run(Promise.all([first.close(), second.close()]));
});

test("two servers that start at once and each create some of the objects leave one Service that owns its address", async () => {
  const world = new World({ seed: 1 });
  // The first server is slow to write the Service, so the second server creates the Service, and the first server
  // everything else.
  const slow = await startIn(world, async (kv, change) => {
    if (change.key === SERVICE_KEY) await sleep(world.clock, 400);
    return kv.commit(change);
  });
  const fast = await startIn(world, async (kv, change) => {
    if (change.key !== SERVICE_KEY) await sleep(world.clock, 100);
    return kv.commit(change);
  });
  await world.run(Promise.all([slow.ready, fast.ready]));
  expect((await stored(world, IP_ADDRESS_KEY)).metadata["name"]).toBe("10.0.0.1");
  await world.run(Promise.all([slow.close(), fast.close()]));
});

test("an object whose guard fails on the first start is created through the API instead, with its IPAddress", async () => {
  const world = new World({ seed: 1 });
  const keys = new Set([SERVICE_KEY, "/registry/priorityclasses/system-node-critical"]);
  const server = await startIn(world, async (kv, change) => {
    if (!keys.delete(change.key)) return kv.commit(change);
    return { committed: false, current: undefined, revision: await kv.currentRevision(), lostGuard: "/g" };
  });
  await world.run(server.ready);
  expect((await stored(world, IP_ADDRESS_KEY)).metadata["name"]).toBe("10.0.0.1");
  expect(await seeded(world)).toHaveLength(OBJECTS_COUNT);
  await world.run(server.close());
});

test("a write whose response is lost is recognized as done, and only that of the IPAddress is made again", async () => {
  const world = new World({ seed: 1 });
  const committed: string[] = [];
  const lost = new Set<string>();
  const server = await startIn(world, async (kv, change) => {
    const result = await kv.commit(change);
    if (!isObjectKey(change.key)) return result;
    if (result.committed) committed.push(change.key);
    if (lost.has(change.key)) return result;
    lost.add(change.key);
    throw new StorageError("undecided", "the response was lost");
  });
  await world.run(server.ready);
  expect(await seeded(world)).toHaveLength(OBJECTS_COUNT);
  expect(lost.size).toBe(OBJECTS_COUNT);
  // The IPAddress is written again by the second attempt to create the Service.
  const again = committed.filter((key, index) => committed.indexOf(key) !== index);
  expect(again).toEqual([IP_ADDRESS_KEY]);
  expect([...new Set(committed)].sort()).toEqual([...lost].sort());
  await world.run(server.close());
});
