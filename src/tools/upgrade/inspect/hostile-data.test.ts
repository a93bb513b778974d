import { expect, test } from "vitest";
import { protobuf, storedData, type StoredValue } from "../../../../test/testing/tools/upgrade/stored-objects.ts";
import { inspectStoredData } from "./inspect-stored-data.ts";
import type { Inspection } from "./inspection.ts";

async function inspect(values: Readonly<Record<string, StoredValue>>): Promise<Inspection> {
  const rest = { signal: new AbortController().signal, onProgress: () => {} };
  return inspectStoredData(storedData(values), { from: "1.33", to: ["1.36"], ...rest });
}

function configMap(name: string, manager: string): StoredValue {
  const owner = { apiVersion: "v1", kind: "Secret", name, uid: `gone-${name}` };
  const managedFields = [{ manager, operation: "Update", apiVersion: "v1", time: "2026-01-02T03:04:05Z" }];
  return protobuf({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name, uid: name, ownerReferences: [owner], finalizers: [`example.com/${name}`], managedFields },
  });
}

test("every key counts, whatever bytes of the values have changed", async () => {
  let seed = 7;
  const random = (bound: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >>> 8) % bound;
  };
  const original = configMap("a", "kubectl") as Buffer;
  const json = Buffer.from(JSON.stringify({ kind: "Widget", apiVersion: "shop.example/v1", metadata: { uid: "x" } }));
  const values: Record<string, StoredValue> = {};
  for (let index = 0; index < 2_000; index++) {
    const value = Buffer.from(index % 2 === 0 ? original : json);
    for (let changes = random(6); changes > 0; changes--) value[random(value.length)] = random(256);
    const key = index % 2 === 0 ? `configmaps/shop/${index}` : `shop.example/widgets/shop/${index}`;
    values[key] = random(3) === 0 ? value.subarray(0, random(value.length)) : value;
  }
  const inspection = await inspect(values);
  const counts = inspection.resources.map(({ encodings, versions, unreadable }) => {
    const readable = versions.reduce((sum, { objects }) => sum + objects, 0);
    expect(encodings.json + encodings.protobuf).toBe(readable);
    return readable + unreadable;
  });
  expect(counts).toEqual([1_000, 1_000]);
  expect(inspection.unreadable.count).toBeGreaterThan(500);
});

test("a report about many different names stays small", async () => {
  const values: Record<string, StoredValue> = {};
  for (let index = 0; index < 6_000; index++) {
    const long = `${index}-${"x".repeat(400)}`;
    values[`group${index}.example/widgets/ns${index}/${long}`] = configMap(long, `manager-${index}`);
  }
  const inspection = await inspect(values);
  expect(inspection.read.objects).toBe(6_000);
  expect(inspection.resources.length).toBeLessThanOrEqual(5_001);
  expect(inspection.findings.length).toBeLessThanOrEqual(1_000);
  expect(inspection.managers).toHaveLength(101);
  expect(inspection.clients.length).toBeLessThanOrEqual(2_001);
  expect(inspection.namespaces.missing).toHaveLength(100);
  for (const { subjects } of inspection.findings) expect(subjects.length).toBeLessThanOrEqual(100);
  expect(inspection.resources.reduce((sum, { objects }) => sum + objects, 0)).toBe(6_000);
});

test("names with control characters do not reach the report", async () => {
  const inspection = await inspect({ "configmaps/ghost/\u001b[31m": configMap("a", "\u001b[2J") });
  expect(JSON.stringify(inspection)).not.toContain(String.raw`\u001b`);
});
