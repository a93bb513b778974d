import { describe, expect, test } from "vitest";
import { collectedIsGarbage } from "./checkers/collected-is-garbage.ts";
import { namespacesEmpty } from "./checkers/namespaces-empty.ts";
import { STORE_ROOT, StoreHistory } from "../../src/tools/simulator/history.ts";
import { ObjectRecord } from "./object-record.ts";
import { World } from "../../src/tools/simulator/world.ts";

/** Writes to the store, one after another; `undefined` deletes the key. */
type Writes = readonly (readonly [key: string, metadata: object | undefined])[];

const DELETED = { deletionTimestamp: "2030-01-01T00:00:00Z" } as const;
const OWNER = { uid: "owner" } as const;
const CHILD = { uid: "child", namespace: "here", ownerReferences: [{ uid: "owner" }] } as const;
const DELETED_IN_FOREGROUND = { ...OWNER, ...DELETED, finalizers: ["foregroundDeletion"] } as const;
const DELETED_WITH_ORPHANS = { ...OWNER, ...DELETED, finalizers: ["orphan"] } as const;

/** Executes the writes and counts the violations that each checker reports. */
async function complaints(writes: Writes): Promise<{ collected: number; namespaces: number }> {
  const world = new World({ seed: 1 });
  const kv = world.openKv();
  const history = new StoreHistory({ clock: world.clock, kv: world.openKv(), onFailure: () => {} });
  const record = new ObjectRecord(history);
  const [collected, namespaces] = [collectedIsGarbage({ record }), namespacesEmpty(record)];
  const found = { collected: 0, namespaces: 0 };
  history.onCommit((commit) => {
    found.collected += collected.onCommit?.(commit).length ?? 0;
    found.namespaces += namespaces.onCommit?.(commit).length ?? 0;
  });
  for (const [name, metadata] of writes) {
    const key = `${STORE_ROOT}${name}`;
    const expectedRevision = (await kv.range({ start: key })).items[0]?.modRevision ?? 0;
    const spec = name.startsWith("namespaces/") ? { finalizers: ["kubernetes"] } : {};
    const value = Buffer.from(JSON.stringify({ metadata, spec }));
    await kv.commit(
      metadata ? { kind: "put", key, value, expectedRevision } : { kind: "delete", key, expectedRevision },
    );
  }
  return found;
}

describe("the checker of garbage collection, for controllers that", () => {
  const family: Writes = [
    ["namespaces/here", { uid: "here" }],
    ["owners/one", OWNER],
    ["children/here/two", CHILD],
  ];
  test.each<[right: string, collected: number, then: Writes]>([
    [
      "collect an object whose owner is deleted",
      0,
      [
        ["owners/one", undefined],
        ["children/here/two", undefined],
      ],
    ],
    ["collect an object whose owner exists", 1, [["children/here/two", undefined]]],
    ["mark an object for deletion whose owner exists", 1, [["children/here/two", { ...CHILD, ...DELETED }]]],
    [
      "collect a dependent of a foreground deletion",
      0,
      [
        ["owners/one", DELETED_IN_FOREGROUND],
        ["children/here/two", undefined],
      ],
    ],
    [
      "collect a dependent that must be orphaned",
      1,
      [
        ["owners/one", DELETED_WITH_ORPHANS],
        ["children/here/two", undefined],
      ],
    ],
    ["remove the reference to an owner that exists", 1, [["children/here/two", { ...CHILD, ownerReferences: [] }]]],
    [
      "remove an owner without orphaning its dependent",
      1,
      [
        ["owners/one", DELETED_WITH_ORPHANS],
        ["owners/one", undefined],
      ],
    ],
    [
      "remove an owner after orphaning its dependent",
      0,
      [
        ["owners/one", DELETED_WITH_ORPHANS],
        ["children/here/two", { ...CHILD, ownerReferences: [] }],
        ["owners/one", undefined],
      ],
    ],
    [
      "remove the content of a terminating namespace",
      0,
      [
        ["namespaces/here", { uid: "here", ...DELETED }],
        ["children/here/two", undefined],
      ],
    ],
  ])("%s, reports %i violations", async (_right, collected, then) => {
    expect((await complaints([...family, ...then])).collected).toBe(collected);
  });
});

describe("the checker of namespaces, for servers that", () => {
  const object = { uid: "object", namespace: "here" };
  const start: Writes = [
    ["namespaces/here", { uid: "here" }],
    ["things/here/one", object],
    ["namespaces/here", { uid: "here", ...DELETED }],
  ];
  test.each<[what: string, wrong: number, then: Writes]>([
    [
      "remove an empty namespace",
      0,
      [
        ["things/here/one", undefined],
        ["namespaces/here", undefined],
      ],
    ],
    ["remove a namespace with content", 1, [["namespaces/here", undefined]]],
    ["create an object in a terminating namespace", 1, [["things/here/two", object]]],
    [
      "create an object in a removed namespace",
      1,
      [
        ["things/here/one", undefined],
        ["namespaces/here", undefined],
        ["things/here/two", object],
      ],
    ],
    [
      "create an object after the namespace was created again",
      0,
      [
        ["things/here/one", undefined],
        ["namespaces/here", undefined],
        ["namespaces/here", { uid: "new" }],
        ["things/here/two", object],
      ],
    ],
  ])("%s, reports %i violations", async (_what, wrong, then) => {
    expect((await complaints([...start, ...then])).namespaces).toBe(wrong);
  });
});
