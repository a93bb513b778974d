import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/meta/json.ts";
import { createMemoryStore } from "../../src/storage/kv-memory/kv.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { readAsRelease } from "../../src/tools/rehearsal/kube-store.ts";
import { World } from "../../src/tools/simulator/world.ts";

async function storeWith(key: string, object: JsonObject): Promise<Kv> {
  const kv = createMemoryStore({ clock: new World({ seed: 1 }).clock }).open();
  await kv.commit({ kind: "put", key, value: Buffer.from(JSON.stringify(object)), expectedRevision: 0 });
  return kv;
}

async function read(kv: Kv, key: string): Promise<string> {
  return (await kv.range({ start: key })).items[0]!.value.toString("utf8");
}

const CLASS_KEY = "/registry/deviceclasses/gpu";
const CLASS = { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name: "gpu" }, spec: {} };
const JOB_KEY = "/registry/jobs/n/j";
const JOB = {
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "j" },
  spec: { managedBy: "a/b", parallelism: 1 },
};

describe("the store as a kube-apiserver of one release reads it", () => {
  test("has values of the release unchanged", async () => {
    const kv = await storeWith(CLASS_KEY, CLASS);
    expect(JSON.parse(await read(readAsRelease(kv, "1.35"), CLASS_KEY))).toEqual(CLASS);
  });

  test("has no readable value of a version that the release cannot decode", async () => {
    const kv = await storeWith(CLASS_KEY, CLASS);
    const [item] = (await readAsRelease(kv, "1.33").range({ start: CLASS_KEY })).items;
    expect(item!.sealing?.problem).toBe('no kind "DeviceClass" is registered for version "resource.k8s.io/v1"');
  });

  test("omits the fields that the release does not know", async () => {
    const kv = await storeWith(JOB_KEY, JOB);
    expect(JSON.parse(await read(readAsRelease(kv, "1.28"), JOB_KEY))).toEqual({ ...JOB, spec: { parallelism: 1 } });
    expect(JSON.parse(await read(readAsRelease(kv, "1.35"), JOB_KEY))).toEqual(JOB);
  });

  test("delivers events of watches in the same way", async () => {
    const kv = await storeWith(JOB_KEY, JOB);
    const values: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    readAsRelease(kv, "1.28").watch(
      { prefix: "/registry/", fromRevision: 2 },
      {
        events(batch) {
          for (const event of batch) if (event.kind === "put") values.push(event.value.toString("utf8"));
          resolve();
        },
        progress: () => {},
        interrupted: () => {},
        closed: () => {},
      },
    );
    await promise;
    expect(values).toHaveLength(1);
    expect(values[0]).not.toContain("managedBy");
  });

  test("counts no content of a namespace, because kube-apiserver finalizes namespaces without looking", async () => {
    const kv = readAsRelease(await storeWith(JOB_KEY, JOB), "1.35");
    const [start, end] = ["/registry/jobs/n/", "/registry/jobs/n0"];
    expect((await kv.range({ start, end, countOnly: true })).count).toBe(0);
    expect((await kv.range({ start, end })).count).toBe(1);
  });
});
