import { describe, expect, test } from "vitest";
import { World } from "../../tools/simulator/world.ts";
import { Encodings, type StoredResourceVersions } from "./encodings.ts";
import type { ServerStorageVersion } from "./objects.ts";

const SELF = "apiserver-self";
const WIDGETS: StoredResourceVersions = {
  name: "example.com.widgets",
  group: "example.com",
  resource: "widgets",
  aliases: [{ group: "example.com", resource: "widgets" }],
  preferred: "example.com/v2",
  decodable: ["example.com/v2", "example.com/v1"],
  served: ["example.com/v2"],
  isNeededToPublish: false,
};
const LEASES: StoredResourceVersions = {
  ...WIDGETS,
  ...{ name: "coordination.k8s.io.leases", group: "coordination.k8s.io", resource: "leases" },
  ...{ aliases: [], preferred: "coordination.k8s.io/v1", isNeededToPublish: true },
};

function entry(apiServerID: string, encodingVersion: string, decodableVersions: string[]): ServerStorageVersion {
  return { apiServerID, encodingVersion, decodableVersions };
}

const OWN = entry(SELF, "example.com/v2", ["example.com/v2", "example.com/v1"]);
const OPEN = { storageVersions: [OWN] };

function setUp(): { world: World; encodings: Encodings; ask: (lost?: number) => Promise<string> } {
  const world = new World({ seed: 1 });
  const encodings = new Encodings({
    clock: world.clock,
    serverId: SELF,
    resources: [WIDGETS, LEASES],
    keyPrefix: "/registry/storageversions/",
  });
  const ask = async (lost?: number): Promise<string> => {
    const key = "/registry/storageversions/example.com.widgets";
    try {
      const { version, guard } = await encodings.current(
        WIDGETS.name,
        lost === undefined ? undefined : { key, revision: lost },
      );
      expect(guard?.key).toBe(key);
      return `${version.group}/${version.version} at ${guard?.revision}`;
    } catch (thrown) {
      return (thrown as Error).message;
    }
  };
  return { world, encodings, ask };
}

describe("a resource", () => {
  test("is closed until this run has published its entry, whatever entry an earlier run left", async () => {
    const { encodings, ask } = setUp();
    encodings.observe(WIDGETS.name, 7, OPEN);
    expect(await ask()).toBe("wait for storage version registration to complete for resource: widgets.example.com");
    expect(encodings.unpublishedName("example.com", "widgets")).toBe(WIDGETS.name);
    encodings.published(WIDGETS.name);
    expect(await ask()).toBe("example.com/v2 at 7");
    expect(encodings.unpublishedName("example.com", "widgets")).toBeUndefined();
    encodings.unpublishAll();
    expect(await ask()).toContain("wait for storage version registration");
  });

  test("is written in the version of the newest object, guarded by the revision of that object", async () => {
    const { encodings, ask } = setUp();
    encodings.published(WIDGETS.name);
    encodings.observe(WIDGETS.name, 7, OPEN);
    encodings.observe(WIDGETS.name, 9, { storageVersions: [{ ...OWN, encodingVersion: "example.com/v1" }] });
    expect(await ask()).toBe("example.com/v1 at 9");
  });

  test("waits for a newer object if the guard of a write has failed", async () => {
    const { world, encodings, ask } = setUp();
    encodings.published(WIDGETS.name);
    encodings.observe(WIDGETS.name, 7, OPEN);
    const response = ask(7);
    await world.advance(100);
    encodings.observe(WIDGETS.name, 8, OPEN);
    expect(await world.run(response)).toBe("example.com/v2 at 8");
  });

  test("waits for the servers to agree, up to a time limit", async () => {
    const { world, encodings, ask } = setUp();
    encodings.published(WIDGETS.name);
    encodings.observe(WIDGETS.name, 7, { storageVersions: [OWN, entry("old", "example.com/v1", ["example.com/v1"])] });
    const late = ask();
    await world.advance(3_000);
    expect(await late).toBe(
      "widgets.example.com cannot be written now: this server writes example.com/v2, which old cannot read",
    );
    const soon = ask();
    await world.advance(10);
    encodings.observe(WIDGETS.name, 8, OPEN);
    expect(await world.run(soon)).toBe("example.com/v2 at 8");
  });

  test.each([
    ["is gone", (encodings: Encodings) => encodings.forget(WIDGETS.name), "it has no StorageVersion object"],
    [
      "is not in a new list",
      (encodings: Encodings) => encodings.keepOnly(new Set()),
      "it has no StorageVersion object",
    ],
    [
      "is broken",
      (encodings: Encodings) => encodings.observe(WIDGETS.name, 8, undefined),
      "its StorageVersion object is invalid",
    ],
    [
      "lacks the entry of this server",
      (encodings: Encodings) => encodings.observe(WIDGETS.name, 8, {}),
      "this server has no entry in the StorageVersion object",
    ],
  ])("is closed if its object %s", async (_, change, because) => {
    const { world, encodings, ask } = setUp();
    encodings.published(WIDGETS.name);
    encodings.observe(WIDGETS.name, 7, OPEN);
    change(encodings);
    const response = ask();
    await world.advance(3_000);
    expect(await response).toBe(`widgets.example.com cannot be written now: ${because}`);
  });

  test("is closed at once while stored objects of the resource are unreadable", async () => {
    const { encodings, ask } = setUp();
    encodings.published(WIDGETS.name);
    encodings.observe(WIDGETS.name, 7, OPEN);
    encodings.setUnreadable(WIDGETS.name, "three of them are odd");
    expect(await ask()).toBe("widgets.example.com cannot be written now: three of them are odd");
    encodings.setUnreadable(WIDGETS.name, undefined);
    expect(await ask()).toBe("example.com/v2 at 7");
  });

  test("rejects a waiting write if its publication is revoked", async () => {
    const { world, encodings, ask } = setUp();
    encodings.published(WIDGETS.name);
    encodings.observe(WIDGETS.name, 7, OPEN);
    const response = ask(7);
    await world.advance(100);
    encodings.unpublishAll();
    encodings.observe(WIDGETS.name, 8, OPEN);
    await world.advance(3_000);
    expect(await response).toContain("wait for storage version registration to complete");
  });
});

test("resources that publishing needs are written without a guard and always in one version", async () => {
  const { encodings } = setUp();
  const unbound = { version: { group: "coordination.k8s.io", version: "v1" } };
  expect(await encodings.current(LEASES.name)).toEqual(unbound);
  encodings.published(LEASES.name);
  encodings.observe(LEASES.name, 7, {});
  expect(await encodings.current(LEASES.name)).toEqual(unbound);
});

test("the gate is open once every built-in resource has been published", () => {
  const { encodings } = setUp();
  encodings.published(WIDGETS.name);
  expect(encodings.isOpen).toBe(false);
  encodings.published(LEASES.name);
  expect(encodings.isOpen).toBe(true);
  encodings.unpublishAll();
  expect(encodings.isOpen).toBe(false);
});

describe("the guard of a delete", () => {
  const PEER = entry("apiserver-peer", "example.com/v1", ["example.com/v1"]);
  const key = "/registry/storageversions/example.com.widgets";
  const guardOf = (encodings: Encodings, lost?: number): Promise<unknown> =>
    encodings
      .deletionGuard(WIDGETS.name, lost === undefined ? undefined : { key, revision: lost })
      .catch((thrown: unknown) => (thrown instanceof Error ? thrown.message : thrown));

  test("is the newest object with the entry of this server, even if no version may be written", async () => {
    const { encodings, ask } = setUp();
    encodings.published(WIDGETS.name);
    encodings.observe(WIDGETS.name, 7, { storageVersions: [OWN, PEER] });
    encodings.setUnreadable(WIDGETS.name, "v3 cannot be read");
    expect(await ask()).toContain("cannot be written now");
    expect(await guardOf(encodings)).toEqual({ key, revision: 7 });
  });

  test("is missing for a resource that is needed to publish, and for one that is not stored here", async () => {
    const { encodings } = setUp();
    expect(await encodings.deletionGuard(LEASES.name)).toBeUndefined();
    expect(await encodings.deletionGuard("example.com.unknown")).toBeUndefined();
  });

  test("is rejected until this run has published its entry", async () => {
    const { encodings } = setUp();
    encodings.observe(WIDGETS.name, 7, OPEN);
    expect(await guardOf(encodings)).toContain("wait for storage version registration");
  });

  test("is a newer object if the store has rejected the previous one", async () => {
    const { world, encodings } = setUp();
    encodings.published(WIDGETS.name);
    encodings.observe(WIDGETS.name, 7, OPEN);
    const guard = guardOf(encodings, 7);
    await world.advance(100);
    encodings.observe(WIDGETS.name, 9, { storageVersions: [OWN, PEER] });
    expect(await guard).toEqual({ key, revision: 9 });
  });

  test.each([
    [
      "is removed from the object",
      (encodings: Encodings) => encodings.observe(WIDGETS.name, 9, { storageVersions: [] }),
    ],
    ["is deleted with the object", (encodings: Encodings) => encodings.forget(WIDGETS.name)],
  ])("is rejected at once if the entry of this server %s, also for a delete that began before", async (_, drop) => {
    const { world, encodings } = setUp();
    encodings.published(WIDGETS.name);
    encodings.observe(WIDGETS.name, 7, OPEN);
    const waiting = guardOf(encodings, 7);
    await world.advance(100);
    drop(encodings);
    const dropped = expect.stringContaining("other servers treat this server as departed");
    expect(await waiting).toEqual(dropped);
    expect(await guardOf(encodings)).toEqual(dropped);
    encodings.observe(WIDGETS.name, 11, OPEN);
    expect(await guardOf(encodings, 7)).toEqual(dropped);
    expect(await guardOf(encodings)).toEqual({ key, revision: 11 });
  });
});

describe("a custom resource", () => {
  const GADGETS: StoredResourceVersions = {
    ...WIDGETS,
    ...{ name: "example.com.gadgets", resource: "gadgets", aliases: [{ group: "example.com", resource: "gadgets" }] },
    ...{
      preferred: "example.com/v1",
      decodable: ["example.com/v1"],
      definition: { name: "gadgets.example.com", uid: "1" },
    },
  };
  const V1 = { storageVersions: [entry(SELF, "example.com/v1", ["example.com/v1"])] };

  function defined(): ReturnType<typeof setUp> & { write: () => Promise<string> } {
    const all = setUp();
    const write = (): Promise<string> =>
      all.encodings.current(GADGETS.name).then(
        ({ version, guard }) => `${version.version} at ${guard?.revision}`,
        (thrown: unknown) => (thrown as Error).message,
      );
    all.encodings.put(GADGETS);
    return { ...all, write };
  }

  test("passes the gate before it is published, and its writes wait for the publication", async () => {
    const { world, encodings, write } = defined();
    expect(encodings.unpublishedName("example.com", "gadgets")).toBeUndefined();
    const response = write();
    encodings.observe(GADGETS.name, 7, V1);
    await world.advance(100);
    encodings.published(GADGETS.name);
    expect(await response).toBe("v1 at 7");
  });

  test("has its writes rejected if its publication takes too long", async () => {
    const { world, write } = defined();
    const response = write();
    await world.advance(3_000);
    expect(await response).toBe("wait for storage version registration to complete for resource: gadgets.example.com");
  });

  test("uses a StorageVersion object that existed before the CRD was seen", async () => {
    const { encodings } = setUp();
    encodings.observe(GADGETS.name, 7, V1);
    encodings.put(GADGETS);
    encodings.published(GADGETS.name);
    expect(await encodings.current(GADGETS.name)).toMatchObject({ version: { version: "v1" }, guard: { revision: 7 } });
  });

  test("is written in its published version until another chosen version is published", async () => {
    const { encodings, write } = defined();
    encodings.observe(GADGETS.name, 7, V1);
    encodings.published(GADGETS.name);
    const both = ["example.com/v1", "example.com/v2"];
    encodings.put({ ...GADGETS, preferred: "example.com/v2", decodable: both });
    expect(await write()).toBe("v1 at 7");
    encodings.observe(GADGETS.name, 8, { storageVersions: [entry(SELF, "example.com/v2", both)] });
    encodings.published(GADGETS.name);
    expect(await write()).toBe("v2 at 8");
  });

  test("is closed at once if this server can no longer decode its published version", async () => {
    const { world, encodings, write } = defined();
    encodings.observe(GADGETS.name, 7, V1);
    encodings.published(GADGETS.name);
    encodings.put({ ...GADGETS, preferred: "example.com/v2", decodable: ["example.com/v2"] });
    const response = write();
    await world.advance(3_000);
    expect(await response).toContain("wait for storage version registration");
  });

  test("that is removed is not written, and waiting writes are rejected", async () => {
    const { encodings, write } = defined();
    const response = write();
    encodings.remove(GADGETS.name);
    expect(await response).toContain("no longer stores");
    expect(await write()).toContain("no longer stores");
    expect(encodings.isOpen).toBe(false);
  });
});
