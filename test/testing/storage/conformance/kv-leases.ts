/** Conformance tests of leases: the keys of a lease are deleted when it expires or is revoked. */
import { expect, test } from "vitest";
import { Recorder, bytes, create, describeEvent, expectStorageError, put, type KvSuiteContext } from "./kv-fixture.ts";

export function leaseTests(context: KvSuiteContext): void {
  expiryTests(context);
  revocationTests(context);
}

function expiryTests(context: KvSuiteContext): void {
  const { leaseSeconds } = context.capabilities;

  test("the keys of an expired lease are deleted, and watchers see the deletions", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const lease = await fixture.kv.leaseGrant(leaseSeconds);
    const kept = await create(fixture.kv, `${prefix}kept`);
    const recorder = Recorder.start(fixture.kv, { prefix, fromRevision: kept + 1 });
    await put(fixture.kv, { key: `${prefix}a`, value: "a", expectedRevision: 0, lease });
    const last = await put(fixture.kv, { key: `${prefix}b`, value: "b", expectedRevision: 0, lease });
    fixture.advance?.(leaseSeconds * 1000);
    const events = (await recorder.first(4)).slice(2);
    expect(events.map((event) => `${event.kind} ${event.key.slice(prefix.length)}`).toSorted()).toEqual([
      "delete a",
      "delete b",
    ]);
    expect(events.every((event) => event.modRevision > last)).toBe(true);
    expect((await fixture.kv.range({ start: prefix, end: `${prefix}~` })).items.map((item) => item.key)).toEqual([
      `${prefix}kept`,
    ]);
    await expectStorageError(fixture.kv.leaseKeepAlive(lease), "lease-not-found");
  });

  test("the keys of a lease that is kept alive outlive those of a lease that is not", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const fromRevision = (await fixture.kv.currentRevision()) + 1;
    const recorder = Recorder.start(fixture.kv, { prefix, fromRevision });
    const names = ["kept", "left", "signal"];
    const ttls = [3 * leaseSeconds, 3 * leaseSeconds, leaseSeconds];
    const leases: string[] = [];
    for (const [index, name] of names.entries()) {
      leases.push(await fixture.kv.leaseGrant(ttls[index]!));
      await put(fixture.kv, { key: prefix + name, value: name, expectedRevision: 0, lease: leases[index]! });
    }
    fixture.advance?.(leaseSeconds * 1000);
    await recorder.first(4);
    await fixture.kv.leaseKeepAlive(leases[0]!);
    fixture.advance?.(2 * leaseSeconds * 1000);
    await recorder.first(5);
    fixture.advance?.(leaseSeconds * 1000);
    const deletions = (await recorder.first(6)).slice(3);
    expect(deletions.map((event) => event.key.slice(prefix.length))).toEqual(["signal", "left", "kept"]);
  });

  test("a key that is put again without the lease outlives the lease", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const lease = await fixture.kv.leaseGrant(60);
    const revision = await put(fixture.kv, { key: `${prefix}a`, value: "leased", expectedRevision: 0, lease });
    await put(fixture.kv, { key: `${prefix}a`, value: "free", expectedRevision: revision });
    await fixture.kv.leaseRevoke(lease);
    expect((await fixture.kv.range({ start: `${prefix}a` })).items[0]?.value).toEqual(bytes("free"));
  });

  test("a put with an unknown lease is rejected", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const lease = await fixture.kv.leaseGrant(60);
    await fixture.kv.leaseRevoke(lease);
    await expectStorageError(
      fixture.kv.commit({ kind: "put", key, value: bytes("x"), expectedRevision: 0, lease }),
      "lease-not-found",
    );
    expect((await fixture.kv.range({ start: key })).count).toBe(0);
  });
}

function revocationTests(context: KvSuiteContext): void {
  test("revoking a lease deletes its keys at once", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const lease = await fixture.kv.leaseGrant(600);
    const put1 = await put(fixture.kv, { key: `${prefix}a`, value: "a", expectedRevision: 0, lease });
    const recorder = Recorder.start(fixture.kv, { prefix, fromRevision: put1 + 1 });
    await fixture.kv.leaseRevoke(lease);
    expect((await fixture.kv.range({ start: `${prefix}a` })).count).toBe(0);
    const [event] = await recorder.first(1);
    expect(describeEvent(event!, prefix)).toBe(`delete a@${event!.modRevision}`);
    expect(event!.modRevision).toBeGreaterThan(put1);
    await expectStorageError(fixture.kv.leaseKeepAlive(lease), "lease-not-found");
  });

  test("revoking an unknown lease succeeds", async () => {
    await using fixture = await context.open();
    const lease = await fixture.kv.leaseGrant(60);
    await fixture.kv.leaseRevoke(lease);
    await fixture.kv.leaseRevoke(lease);
    await fixture.kv.leaseRevoke("123456789");
  });

  test("keeping an unknown lease alive fails", async () => {
    await using fixture = await context.open();
    await expectStorageError(fixture.kv.leaseKeepAlive("123456789"), "lease-not-found");
  });

  test("a granted lease can be kept alive, and leases have distinct IDs", async () => {
    await using fixture = await context.open();
    const left = await fixture.kv.leaseGrant(60);
    const right = await fixture.kv.leaseGrant(60);
    expect(left).not.toBe(right);
    await fixture.kv.leaseKeepAlive(left);
    await fixture.kv.leaseKeepAlive(right);
    await fixture.kv.leaseRevoke(left);
    await fixture.kv.leaseKeepAlive(right);
    await fixture.kv.leaseRevoke(right);
  });
}
