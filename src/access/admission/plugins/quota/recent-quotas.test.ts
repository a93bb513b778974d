import { expect, test } from "vitest";
import { StoreEpochs } from "../../../../base/store-epoch.ts";
import type { JsonObject } from "../../../../meta/json.ts";
import { createRecentQuotas } from "./recent-quotas.ts";

function quota(resourceVersion: number): JsonObject {
  return { metadata: { namespace: "n", name: "q", resourceVersion: String(resourceVersion) } };
}

test("a charged quota replaces an older one, until the store has another history", () => {
  const epochs = new StoreEpochs();
  const recent = createRecentQuotas(epochs);
  recent.remember(quota(9));
  expect(recent.newer(quota(8))).toEqual(quota(9));
  epochs.advance("test");
  expect(recent.newer(quota(8))).toEqual(quota(8));
});
