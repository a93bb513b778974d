import { expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { configuration } from "../../../../test/testing/access/admission/webhooks/fake-webhooks.ts";
import { createWebhookTables, type WebhookTable } from "./webhook-table.ts";

const ids = (table: WebhookTable): string[] => table.webhooks().map(({ id }) => id);

function tableOf(): WebhookTable {
  return createWebhookTables(() => ({ evaluate: () => ({ kind: "match" }) })).mutating;
}

test("webhooks are ordered by the name of their configuration, then by their position in it", () => {
  const table = tableOf();
  table.reset([configuration("b", { name: "z" }, { name: "y" }, { name: "z" }), configuration("a", { name: "x" })]);
  expect(ids(table)).toEqual(["a/x/0", "b/z/0", "b/y/0", "b/z/1"]);
  table.put(configuration("aa", { name: "new" }));
  table.remove("", "b");
  expect(ids(table)).toEqual(["a/x/0", "aa/new/0"]);
  table.reset([]);
  expect(ids(table)).toEqual([]);
});

test("match conditions are compiled once for each revision, on first use", () => {
  const compiled: (readonly JsonObject[])[] = [];
  const { mutating: table } = createWebhookTables((conditions) => {
    compiled.push(conditions);
    return { evaluate: () => ({ kind: "match" }) };
  });
  const matchConditions = [{ name: "c", expression: "true" }];
  const object = configuration("a", { matchConditions }, { name: "b" });
  table.put(object);
  const [first, second] = table.webhooks();
  expect(compiled).toEqual([]);
  expect(second?.conditions).toBeUndefined();
  expect(first?.conditions?.()).toBe(first?.conditions?.());
  table.reset([object]);
  table.webhooks()[0]?.conditions?.();
  expect(compiled).toEqual([matchConditions]);
  table.put({ ...object, metadata: { name: "a", uid: "a", resourceVersion: "2" } });
  table.webhooks()[0]?.conditions?.();
  expect(compiled).toHaveLength(2);
});

test("malformed stored configurations are read without an error", () => {
  const table = tableOf();
  table.reset([{}, { metadata: 5, webhooks: 7 }, { metadata: { name: "x" }, webhooks: [1, null, {}] }]);
  expect(table.webhooks()).toMatchObject([{ name: "", timeoutMs: 10_000, ignoresFailures: false }]);
});
