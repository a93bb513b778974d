import { describe, expect, test } from "vitest";
import { collectedIsGarbage } from "./checkers/collected-is-garbage.ts";
import { namespacesEmpty } from "./checkers/namespaces-empty.ts";
import { STORE_ROOT, StoreHistory } from "../../src/tools/simulator/history.ts";
import { ObjectRecord } from "./object-record.ts";
import { World } from "../../src/tools/simulator/world.ts";

/** What is written to the store, one after the other; undefined: it is removed. */
type Writes = readonly (readonly [key: string, metadata: object | undefined])[];

const LEAVING = { deletionTimestamp: "2030-01-01T00:00:00Z" } as const;
const OWNER = { uid: "owner" } as const;
const CHILD = { uid: "child", namespace: "here", ownerReferences: [{ uid: "owner" }] } as const;
const LAST_FAREWELL = { ...OWNER, ...LEAVING, finalizers: ["foregroundDeletion"] } as const;
const LEAVES_ORPHANS = { ...OWNER, ...LEAVING, finalizers: ["orphan"] } as const;

/** How often each checker complained. */
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

describe("what the garbage collector does is judged by what lies in the store", () => {
  const family: Writes = [
    ["namespaces/here", { uid: "here" }],
    ["owners/one", OWNER],
    ["children/here/two", CHILD],
  ];
  test.each<[right: string, collected: number, then: Writes]>([
    [
      "collect what has no owner any more",
      0,
      [
        ["owners/one", undefined],
        ["children/here/two", undefined],
      ],
    ],
    ["collect what has an owner that lives", 1, [["children/here/two", undefined]]],
    ["mark what has an owner that lives", 1, [["children/here/two", { ...CHILD, ...LEAVING }]]],
    [
      "collect what goes before its owner",
      0,
      [
        ["owners/one", LAST_FAREWELL],
        ["children/here/two", undefined],
      ],
    ],
    [
      "collect what is to be an orphan",
      1,
      [
        ["owners/one", LEAVES_ORPHANS],
        ["children/here/two", undefined],
      ],
    ],
    ["forget an owner that lives", 1, [["children/here/two", { ...CHILD, ownerReferences: [] }]]],
    [
      "leave a dependent behind",
      1,
      [
        ["owners/one", LEAVES_ORPHANS],
        ["owners/one", undefined],
      ],
    ],
    [
      "leave an orphan behind",
      0,
      [
        ["owners/one", LEAVES_ORPHANS],
        ["children/here/two", { ...CHILD, ownerReferences: [] }],
        ["owners/one", undefined],
      ],
    ],
    [
      "remove what is in a namespace that goes",
      0,
      [
        ["namespaces/here", { uid: "here", ...LEAVING }],
        ["children/here/two", undefined],
      ],
    ],
  ])("%s: %i wrong", async (_right, collected, then) => {
    expect((await complaints([...family, ...then])).collected).toBe(collected);
  });
});

describe("what becomes of a namespace is judged by what lies in the store", () => {
  const object = { uid: "object", namespace: "here" };
  const start: Writes = [
    ["namespaces/here", { uid: "here" }],
    ["things/here/one", object],
    ["namespaces/here", { uid: "here", ...LEAVING }],
  ];
  test.each<[what: string, wrong: number, then: Writes]>([
    [
      "goes empty",
      0,
      [
        ["things/here/one", undefined],
        ["namespaces/here", undefined],
      ],
    ],
    ["goes with something in it", 1, [["namespaces/here", undefined]]],
    ["gets something while it goes", 1, [["things/here/two", object]]],
    [
      "gets something when it is gone",
      1,
      [
        ["things/here/one", undefined],
        ["namespaces/here", undefined],
        ["things/here/two", object],
      ],
    ],
    [
      "gets something when there is a new one of its name",
      0,
      [
        ["things/here/one", undefined],
        ["namespaces/here", undefined],
        ["namespaces/here", { uid: "new" }],
        ["things/here/two", object],
      ],
    ],
  ])("%s: %i wrong", async (_what, wrong, then) => {
    expect((await complaints([...start, ...then])).namespaces).toBe(wrong);
  });
});
