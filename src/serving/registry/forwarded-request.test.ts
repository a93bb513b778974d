import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { createEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { withAllocation } from "./allocation.ts";
import type { RegistryContext, Written } from "./context.ts";
import { Forwarded } from "./forwarded-request.ts";
import { guaranteedUpdate, type ObjectChange } from "./guaranteed-update.ts";
import type { ServedResource } from "./resource.ts";

const FORWARDED = new Forwarded(() => Promise.resolve("the peer's response"));

type Decided = ObjectChange | typeof FORWARDED;

function entryAt(revision: number): Entry {
  const value = Buffer.from(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u"}}`);
  return createEntry({ key: "/a", value, modRevision: revision, createRevision: 1 });
}

/**
 * A store with one object, whose cached state and newest state the test sets. Another writer wins the first `races`
 * writes.
 */
class Stage {
  readonly story: string[] = [];
  newest: Entry | undefined = entryAt(1);
  cached: Entry | undefined = this.newest;
  races = 0;

  readonly #served = {
    kind: "ConfigMap",
    apiVersion: "v1",
    groupVersion: { group: "", version: "v1" },
    meaning: {},
    stored: {
      strategy: {},
      encoding: { current: () => Promise.resolve({ version: { group: "", version: "v1" } }) },
    },
  } as unknown as ServedResource;

  readonly #context = {
    store: {
      rememberObject: () => {},
      get: (_key: string, { kind }: { kind: string }) => {
        this.story.push(`get ${kind}`);
        return Promise.resolve(kind === "any" ? this.cached : this.newest);
      },
      replace: ({ modRevision }: Entry) => {
        this.story.push(`replace ${modRevision}`);
        if (this.races-- === 0) return Promise.resolve({ committed: true, entry: entryAt(modRevision + 1) });
        this.newest = entryAt(modRevision + 1);
        return Promise.resolve({ committed: false, current: this.newest, lostGuard: undefined });
      },
    },
    allocation: {
      begin: () => ({
        revert: () => Promise.resolve(void this.story.push("revert")),
        finish: () => Promise.resolve(void this.story.push("finish")),
      }),
    },
  } as unknown as RegistryContext;

  /** Runs an update. If the object is absent, the request is forwarded too. */
  update(decide: (existing: JsonObject) => Decided, dryRun = false): Promise<Written | typeof FORWARDED> {
    return withAllocation(this.#context, this.#served, dryRun, () =>
      guaranteedUpdate<typeof FORWARDED>(this.#context, this.#served, {
        key: "/a",
        dryRun,
        decide: (existing) => {
          this.story.push("decide");
          return decide(existing);
        },
        absent: () => Promise.resolve(FORWARDED),
      }),
    );
  }
}

function labelled(object: JsonObject): ObjectChange {
  return { kind: "store", object: { ...object, data: { a: "1" } } };
}

describe("an update that decides to forward its request", () => {
  test("returns the forwarded request, writes nothing and reverts its allocation", async () => {
    const stage = new Stage();
    expect(await stage.update(() => FORWARDED)).toBe(FORWARDED);
    expect(stage.story).toEqual(["get any", "decide", "get newest", "revert"]);
  });

  test("writes nothing in a dry run", async () => {
    const stage = new Stage();
    expect(await stage.update(() => FORWARDED, true)).toBe(FORWARDED);
    expect(stage.story).toEqual(["get any", "decide", "get newest", "revert"]);
  });

  test("writes nothing if an earlier attempt decided to write and lost a race", async () => {
    const stage = new Stage();
    stage.races = 1;
    const decisions: ((existing: JsonObject) => Decided)[] = [labelled, () => FORWARDED];
    expect(await stage.update((existing) => decisions.shift()!(existing))).toBe(FORWARDED);
    expect(stage.story).toEqual(["get any", "decide", "replace 1", "decide", "revert"]);
  });

  test("is decided again on the newest object if the cached object is outdated", async () => {
    const stage = new Stage();
    stage.newest = entryAt(2);
    const decisions: ((existing: JsonObject) => Decided)[] = [() => FORWARDED, labelled];
    expect(await stage.update((existing) => decisions.shift()!(existing))).not.toBe(FORWARDED);
    expect(stage.story).toEqual(["get any", "decide", "get newest", "decide", "replace 2", "finish"]);
  });

  test("reverts its allocation if the object does not exist", async () => {
    const stage = new Stage();
    stage.cached = undefined;
    stage.newest = undefined;
    expect(await stage.update(labelled)).toBe(FORWARDED);
    expect(stage.story).toEqual(["get any", "get newest", "revert"]);
  });
});
