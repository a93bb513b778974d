import { describe, expect, test } from "vitest";
import { ownersInCircle } from "./circles.ts";
import { blockingDependents, OwnerGraph, type GraphResource } from "./graph.ts";
import type { DeletionMode, SeenObject } from "./seen-object.ts";

const CONFIG_MAPS: GraphResource = { group: "", resource: "configmaps", kind: "ConfigMap", namespaced: true };
const SETS: GraphResource = { group: "apps", resource: "replicasets", kind: "ReplicaSet", namespaced: true };

interface Options {
  readonly namespace?: string;
  readonly deletion?: DeletionMode;
  readonly blocks?: boolean;
}

/** An object whose name is its uid. `owners` are the uids of config maps, whose names are their uids as well. */
function seen(uid: string, owners: readonly string[] = [], options: Options = {}): SeenObject {
  const { namespace = "default", deletion = "none", blocks = true } = options;
  const references = owners.map((owner) => ({ uid: owner, group: "", kind: "ConfigMap", name: owner, blocks }));
  return { uid, name: uid, namespace, deletion, owners: references };
}

class Recording {
  readonly #reported: string[] = [];
  readonly graph = new OwnerGraph((uid) => void this.#reported.push(uid));

  observe(...objects: SeenObject[]): this {
    for (const object of objects) this.graph.observe(CONFIG_MAPS, object);
    return this;
  }

  /** Returns and clears the list of enqueued objects. */
  told(): string[] {
    return [...new Set(this.#reported.splice(0))].sort();
  }

  dependents(uid: string): string[] {
    return [...(this.graph.get(uid)?.dependents ?? [])].map((node) => node.uid).sort();
  }
}

describe("an object is enqueued", () => {
  test("neither because it exists nor because its owner exists", () => {
    const run = new Recording().observe(seen("a"), seen("b", ["a"]), seen("c", ["b"]));
    expect(run.told()).toEqual([]);
  });

  test("if another object references it as an owner and it was not seen itself", () => {
    const run = new Recording().observe(seen("b", ["a"]));
    expect(run.told()).toEqual(["a"]);
    expect(run.graph.get("a")).toMatchObject({ resource: undefined, isKnownAbsent: false });
    run.observe(seen("c", ["a"]));
    expect(run.told()).toEqual(["a"]);
  });

  test("if its owner is known to be absent", () => {
    const run = new Recording().observe(seen("b", ["a"]));
    run.graph.settleAbsence("a", "absent");
    run.told();
    run.observe(seen("c", ["a"]));
    expect(run.told()).toEqual(["c"]);
    run.graph.settleAbsence("a", "present");
    expect(run.told()).toEqual(["a"]);
  });

  test("if its owner is deleted", () => {
    const run = new Recording().observe(seen("a"), seen("b", ["a"]), seen("c", ["a"]));
    run.graph.remove("a");
    expect(run.told()).toEqual(["b", "c"]);
    expect(run.graph.get("a")).toMatchObject({ resource: undefined, isKnownAbsent: true });
  });

  test("if its owner begins to be deleted in the foreground; the owner is enqueued as well", () => {
    const run = new Recording().observe(seen("a"), seen("b", ["a"]));
    run.observe(seen("a", [], { deletion: "foreground" }));
    expect(run.told()).toEqual(["a", "b"]);
    run.observe(seen("c", ["a"]));
    expect(run.told()).toEqual(["c"]);
  });

  test("if it begins to be deleted with the policy Orphan; its dependents are not enqueued", () => {
    const run = new Recording().observe(seen("a"), seen("b", ["a"]));
    run.observe(seen("a", [], { deletion: "orphan" }));
    expect(run.told()).toEqual(["a"]);
  });

  test("if it waits for a dependent, and the dependent is deleted, drops its reference, or stops blocking", () => {
    const owner = seen("a", [], { deletion: "foreground" });
    const run = new Recording().observe(owner, seen("b", ["a"]), seen("c", ["a"]), seen("d", ["a"]));
    run.told();
    run.graph.remove("b");
    expect(run.told()).toEqual(["a"]);
    run.observe(seen("c"));
    expect(run.told()).toEqual(["a"]);
    run.observe(seen("d", ["a"], { blocks: false }));
    expect(run.told()).toContain("a");
    expect(run.dependents("a")).toEqual(["d"]);
  });

  test("if its reference does not match its owner, whichever of the two is seen first", () => {
    const run = new Recording().observe(seen("a"), seen("b", ["a"], { namespace: "other" }));
    expect(run.told()).toEqual(["b"]);
    const late = new Recording().observe(seen("y", ["x"], { namespace: "other" }), seen("z", ["x"]));
    late.told();
    late.observe(seen("x"));
    expect(late.told()).toEqual(["y"]);
    const wrongKind = new Recording();
    wrongKind.graph.observe(SETS, seen("s"));
    wrongKind.observe(seen("t", ["s"]));
    expect(wrongKind.told()).toEqual(["t"]);
  });
});

describe("the graph", () => {
  test("drops an unseen owner when its last dependent is gone", () => {
    const run = new Recording().observe(seen("b", ["a"]), seen("c", ["a"]));
    expect(run.graph.size).toEqual({ objects: 2, unseenOwners: 1, references: 2 });
    run.graph.remove("b");
    run.observe(seen("c"));
    expect(run.graph.size).toEqual({ objects: 1, unseenOwners: 0, references: 0 });
    run.graph.remove("c");
    expect(run.graph.size).toEqual({ objects: 0, unseenOwners: 0, references: 0 });
  });

  test("drops objects of a resource that a complete list of it does not contain", () => {
    const run = new Recording().observe(seen("a"), seen("b", ["a"]));
    run.graph.observe(SETS, seen("s", ["a"]));
    run.graph.retain(CONFIG_MAPS, new Set(["b"]));
    expect(run.told()).toEqual(["b", "s"]);
    expect(run.graph.size).toEqual({ objects: 2, unseenOwners: 1, references: 2 });
  });

  test("does not treat objects of a resource that is no longer served as absent", () => {
    const run = new Recording().observe(seen("a", ["o"]), seen("o", [], { deletion: "foreground" }));
    run.graph.observe(SETS, { ...seen("s", ["o"]), owners: seen("s", ["o"]).owners });
    run.graph.observe(SETS, seen("t"));
    run.observe({ ...seen("d"), owners: [{ uid: "t", group: "apps", kind: "ReplicaSet", name: "t", blocks: false }] });
    run.told();
    run.graph.forget(SETS);
    expect(run.told()).toEqual(["o", "t"]);
    expect(run.graph.get("t")).toMatchObject({ resource: undefined, isKnownAbsent: false });
    expect(run.graph.get("s")).toBeUndefined();
  });

  test("accepts objects that own themselves, and ignores references without a uid", () => {
    const run = new Recording().observe(seen("a", ["a", ""]));
    run.observe(seen("a", ["a", ""]));
    expect(run.graph.size).toEqual({ objects: 1, unseenOwners: 0, references: 1 });
    run.graph.remove("a");
    expect(run.graph.size.objects).toBe(0);
  });
});

describe("an object that is deleted in the foreground", () => {
  test("waits for blocking dependents in its own namespace, other than itself", () => {
    const run = new Recording().observe(
      seen("a", ["a"], { deletion: "foreground" }),
      seen("b", ["a"]),
      seen("c", ["a"], { blocks: false }),
      seen("d", ["a"], { namespace: "other" }),
    );
    expect(blockingDependents(run.graph.get("a")!).map(({ uid }) => uid)).toEqual(["b"]);
  });

  test("may form a circle with its owners, which `ownersInCircle` finds", () => {
    const going = { deletion: "foreground" } as const;
    const run = new Recording().observe(seen("a", ["c"], going), seen("b", ["a"], going), seen("c", ["b"], going));
    run.observe(seen("x", ["a"], going));
    expect([...ownersInCircle(run.graph.get("a")!)]).toEqual(["c"]);
    expect([...ownersInCircle(run.graph.get("x")!)]).toEqual([]);
    run.observe(seen("b", ["a"]));
    expect([...ownersInCircle(run.graph.get("a")!)]).toEqual([]);
  });
});
