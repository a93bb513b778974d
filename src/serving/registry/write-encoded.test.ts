import { describe, expect, test } from "vitest";
import { notFound } from "../../meta/status-error.ts";
import type { Guard } from "../../storage/kv.ts";
import type { ObjectStore, WriteResult } from "../../storage/object-store.ts";
import { NAMESPACES } from "./namespace-lifecycle.ts";
import type { ServedResource } from "./resource.ts";
import { removeGuarded, writeEncoded, type WriteGuards } from "./write-encoded.ts";

const ENCODING = "/encoding";
const PLACE = "/place";

/** A store that has only revisions, and a server that writes with the revisions that it knows. */
class Stage {
  /** The revisions in the store. */
  readonly stored = new Map([
    [ENCODING, 5],
    [PLACE, 7],
  ]);
  /** The revisions that this server knows. */
  known = { encoding: 5, place: 7 };
  readonly story: string[] = [];
  beforeWrite: () => void = () => {};
  isPlaceGone = false;
  /** Whether other servers treat this one as departed. */
  isDropped = false;

  readonly served = {
    stored: {
      encoding: {
        current: (lost?: Guard) => {
          this.story.push(lost === undefined ? "version" : `version after ${lost.revision}`);
          if (lost !== undefined) this.known.encoding = this.stored.get(ENCODING)!;
          const guard = { key: ENCODING, revision: this.known.encoding };
          return Promise.resolve({ version: { group: "", version: `v${this.known.encoding}` }, guard });
        },
        deletionGuard: (lost?: Guard) => {
          this.story.push(lost === undefined ? "guard" : `guard after ${lost.revision}`);
          if (this.isDropped) return Promise.reject(new Error("departed"));
          if (lost !== undefined) this.known.encoding = this.stored.get(ENCODING)!;
          return Promise.resolve({ key: ENCODING, revision: this.known.encoding });
        },
      },
    },
  } as unknown as Pick<ServedResource, "stored">;

  place(): WriteGuards {
    return {
      guards: [{ key: PLACE, revision: this.known.place }],
      look: async () => {
        this.story.push("look");
        if (this.isPlaceGone) throw notFound(NAMESPACES, "team");
        return [{ key: PLACE, revision: this.stored.get(PLACE)! }];
      },
    };
  }

  remove(): ReturnType<ObjectStore["remove"]> {
    const remove: ObjectStore["remove"] = async (_entry, guards = []) => {
      this.beforeWrite();
      this.story.push(`remove at ${guards.map(({ revision }) => revision).join(" ")}`);
      const lostGuard = guards.find(({ key, revision }) => this.stored.get(key) !== revision)?.key;
      if (lostGuard !== undefined) return { committed: false, current: undefined, lostGuard };
      return { committed: true, revision: 10 };
    };
    return removeGuarded(this.served, { remove }, undefined as never);
  }

  write(place?: WriteGuards): Promise<WriteResult> {
    return writeEncoded(
      this.served,
      async ({ version }, guards = []) => {
        this.beforeWrite();
        this.story.push(`write ${version} at ${guards.map(({ revision }) => revision).join(" ")}`);
        const lostGuard = guards.find(({ key, revision }) => this.stored.get(key) !== revision)?.key;
        if (lostGuard !== undefined) return { committed: false, current: undefined, lostGuard };
        return { committed: true, entry: undefined as never };
      },
      place,
    );
  }
}

describe("a guarded write", () => {
  test("commits at once if the guards on its encoding and its namespace hold", async () => {
    const stage = new Stage();
    expect(await stage.write(stage.place())).toMatchObject({ committed: true });
    expect(stage.story).toEqual(["version", "write v5 at 5 7"]);
  });

  test("is repeated in the newer version if the guard on the encoding does not hold", async () => {
    const stage = new Stage();
    stage.stored.set(ENCODING, 8);
    expect(await stage.write(stage.place())).toMatchObject({ committed: true });
    expect(stage.story).toEqual(["version", "write v5 at 5 7", "version after 5", "write v8 at 8 7"]);
  });

  test("is repeated if the namespace has changed but still allows the write", async () => {
    const stage = new Stage();
    stage.stored.set(PLACE, 8);
    expect(await stage.write(stage.place())).toMatchObject({ committed: true });
    expect(stage.story).toEqual(["version", "write v5 at 5 7", "look", "version", "write v5 at 5 8"]);
  });

  test("commits even if the encoding and the namespace have both changed", async () => {
    const stage = new Stage();
    stage.stored.set(PLACE, 8).set(ENCODING, 9);
    expect(await stage.write(stage.place())).toMatchObject({ committed: true });
    expect(stage.story.at(-1)).toBe("write v9 at 9 8");
  });

  test("fails if the namespace no longer exists", async () => {
    const stage = new Stage();
    stage.stored.set(PLACE, 0);
    stage.isPlaceGone = true;
    await expect(stage.write(stage.place())).rejects.toThrow('namespaces "team" not found');
    expect(stage.story).toEqual(["version", "write v5 at 5 7", "look"]);
  });

  test.each([ENCODING, PLACE])("fails with 503 if %s keeps changing", async (key) => {
    const stage = new Stage();
    stage.beforeWrite = () => stage.stored.set(key, stage.stored.get(key)! + 1);
    await expect(stage.write(stage.place())).rejects.toMatchObject({ reason: "ServiceUnavailable" });
    expect(stage.story.length).toBeLessThan(100);
  });

  test("commits without a guard on a namespace if the caller passes none", async () => {
    const stage = new Stage();
    stage.stored.set(ENCODING, 8).set(PLACE, 9);
    expect(await stage.write()).toMatchObject({ committed: true });
    expect(stage.story.at(-1)).toBe("write v8 at 8");
  });
});

describe("a guarded removal", () => {
  test("is repeated with the newer guard if only the StorageVersion object has changed", async () => {
    const stage = new Stage();
    stage.stored.set(ENCODING, 8);
    expect(await stage.remove()).toMatchObject({ committed: true });
    expect(stage.story).toEqual(["guard", "remove at 5", "guard after 5", "remove at 8"]);
  });

  test("fails if other servers treat this server as departed meanwhile", async () => {
    const stage = new Stage();
    stage.beforeWrite = () => {
      stage.stored.set(ENCODING, 8);
      stage.isDropped = true;
    };
    await expect(stage.remove()).rejects.toThrow("departed");
    expect(stage.story).toEqual(["guard", "remove at 5", "guard after 5"]);
  });

  test("fails with 503 if the StorageVersion object keeps changing", async () => {
    const stage = new Stage();
    stage.beforeWrite = () => stage.stored.set(ENCODING, stage.stored.get(ENCODING)! + 1);
    await expect(stage.remove()).rejects.toMatchObject({ reason: "ServiceUnavailable" });
    expect(stage.story.length).toBeLessThan(100);
  });
});
