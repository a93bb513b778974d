import { describe, expect, test } from "vitest";
import type { Client } from "../../client/client.ts";
import type { UnstructuredObject } from "../../client/objects.ts";
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { conflict, notFound } from "../../meta/status-error.ts";
import { World } from "../../tools/simulator/world.ts";
import { CrdController, DEFINITION_TYPE } from "./crd-controller.ts";
import { CrdTable } from "./crd-table.ts";
import { parseCrd } from "./crd.ts";
import { definitionObject } from "../../../test/testing/extensions/crd/crd-object.ts";

const CLEANUP = "customresourcecleanup.apiextensions.k8s.io";
const LAG_MS = 50;

/** An in-memory store of CRDs, and a controller that reconciles them. */
class Running implements AsyncDisposable {
  readonly world = new World({ seed: 5 });
  readonly table = new CrdTable();
  readonly objects = new Map<string, JsonObject>();
  readonly writes: string[] = [];
  /** Returns the number of remaining instances; if it is undefined, deleting instances fails. */
  left: (() => number) | undefined = () => 0;
  isBuiltIn = false;
  /** An error that the next write throws. */
  failure: Error | undefined;
  #revision = 1;
  readonly #ended = new AbortController();
  readonly #run: Promise<void>;

  constructor() {
    const { clock, random, log } = this.world.env;
    const controller = new CrdController({
      ...{ table: this.table, client: this.#client(), clientUnder: () => this.#client(), clock, random, log },
      turn: { guard: { key: "turn", revision: 1 }, isAnothers: false, take: async () => true, drop() {} },
      readNewest: async () => {},
      isBuiltInStorage: () => this.isBuiltIn,
      deleteInstances: async () => {
        if (this.left === undefined) throw new Error("unreachable");
        return this.left();
      },
    });
    this.#run = controller.run(this.#ended.signal);
  }

  async put(object: JsonObject): Promise<void> {
    this.#store(object);
    await this.world.advance(LAG_MS);
  }

  async remove(name: string): Promise<void> {
    this.objects.delete(name);
    this.table.remove(name);
    await this.world.advance(LAG_MS);
  }

  condition(name: string, type: string): JsonObject | undefined {
    const conditions = objectAt(this.objects.get(name) ?? {}, "status")["conditions"] as JsonObject[] | undefined;
    return conditions?.find((condition) => condition["type"] === type);
  }

  /** A write is stored at once, and reaches the table a moment later. */
  #store(object: JsonObject): JsonObject {
    const revision = ++this.#revision;
    const metadata: JsonObject = { ...objectAt(object, "metadata"), resourceVersion: String(revision) };
    const name = stringAt(metadata, "name");
    const stored: JsonObject = { ...object, metadata };
    const isGone = metadata["deletionTimestamp"] !== undefined && stringsAt(metadata, "finalizers").length === 0;
    if (isGone) this.objects.delete(name);
    else this.objects.set(name, stored);
    this.world.clock.after(LAG_MS / 2, () => {
      if (isGone) this.table.remove(name);
      else this.table.put({ definition: parseCrd(stored), revision });
    });
    return stored;
  }

  #client(): Client {
    const crds = {
      get: async ({ name }: { name: string }): Promise<JsonObject> => {
        const object = this.objects.get(name);
        if (object === undefined) throw notFound(DEFINITION_TYPE, name);
        return object;
      },
      replaceStatus: async (object: UnstructuredObject): Promise<JsonObject> => {
        const { failure } = this;
        this.failure = undefined;
        if (failure !== undefined) throw failure;
        this.writes.push(object.metadata?.name ?? "");
        return this.#store(object);
      },
    };
    return { resource: () => crds } as unknown as Client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.world.run(this.#run);
  }
}

function definition(plural: string, names: JsonObject = {}): JsonObject {
  const singular = plural.slice(0, -1);
  const kind = singular.toUpperCase();
  return definitionObject({ names: { plural, singular, kind, listKind: `${kind}List`, ...names } });
}

function deleted(object: JsonObject, finalizers: string[] = [CLEANUP]): JsonObject {
  const metadata = { ...objectAt(object, "metadata"), deletionTimestamp: "2026-01-01T00:00:00Z", finalizers };
  return { ...object, metadata };
}

describe("a new CRD", () => {
  test("is established with one write, and not written again", async () => {
    await using running = new Running();
    await running.put(definition("as"));
    expect(running.condition("as.test.example.com", "Established")).toMatchObject({ status: "True" });
    await running.world.advance(60_000);
    expect(running.writes).toHaveLength(1);
  });

  test("does not get a name that the controller gives to another CRD at the same time", async () => {
    await using running = new Running();
    void running.put(definition("as", { kind: "Same" }));
    void running.put(definition("bs", { kind: "Same" }));
    await running.world.advance(1_000);
    expect(running.condition("as.test.example.com", "NamesAccepted")).toMatchObject({ status: "True" });
    expect(running.condition("bs.test.example.com", "NamesAccepted")).toMatchObject({ reason: "KindConflict" });
    await running.remove("as.test.example.com");
    await running.world.advance(1_000);
    expect(running.condition("bs.test.example.com", "NamesAccepted")).toMatchObject({ status: "True" });
  });

  test("is reconciled again after a conflict or a failed request", async () => {
    await using running = new Running();
    running.failure = new Error("unreachable");
    await running.put(definition("as"));
    await running.world.advance(1_000);
    expect(running.condition("as.test.example.com", "Established")).toMatchObject({ status: "True" });
    running.failure = conflict(DEFINITION_TYPE, "bs", "changed");
    await running.put(definition("bs"));
    await running.put(definition("bs", { shortNames: ["b"] }));
    expect(running.condition("bs.test.example.com", "Established")).toMatchObject({ status: "True" });
  });
});

describe("a CRD that is being deleted", () => {
  const NAME = "as.test.example.com";
  const begun = async (running: Running): Promise<void> => {
    await running.put(definition("as"));
    await running.put(deleted(running.objects.get(NAME)!));
  };

  test("is removed when no instance is left", async () => {
    await using running = new Running();
    let left = 2;
    running.left = () => left;
    await begun(running);
    await running.world.advance(5_000);
    expect(running.condition(NAME, "Terminating")).toMatchObject({ reason: "InstanceDeletionInProgress" });
    left = 0;
    await running.world.advance(2_000);
    expect(running.objects.has(NAME)).toBe(false);
  });

  test("reports why its instances cannot be deleted, and is removed once they can be deleted", async () => {
    await using running = new Running();
    running.left = undefined;
    await begun(running);
    await running.world.advance(2_000);
    expect(running.condition(NAME, "Terminating")).toMatchObject({
      status: "True",
      reason: "InstanceDeletionFailed",
      message: "could not issue all deletes: unreachable",
    });
    running.left = () => 0;
    await running.world.advance(60_000);
    expect(running.objects.has(NAME)).toBe(false);
  });

  test.each<[string, (running: Running) => void, string]>([
    ["was never served", () => undefined, "NeverEstablished"],
    ["overlaps with a built-in resource", (running) => void (running.isBuiltIn = true), "OverlappingBuiltInResource"],
  ])("that %s is finalized without deleting instances", async (_what, prepare, reason) => {
    await using running = new Running();
    running.left = () => expect.unreachable();
    prepare(running);
    await running.put(deleted(definition("as"), [CLEANUP, "example.com/other"]));
    await running.world.advance(2_000);
    expect(running.condition(NAME, "Terminating")).toMatchObject({ status: "False", reason });
    expect(objectAt(running.objects.get(NAME)!, "metadata")["finalizers"]).toEqual(["example.com/other"]);
  });
});
