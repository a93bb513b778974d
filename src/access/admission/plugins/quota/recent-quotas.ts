/**
 * Remembers quotas that this server has just charged, because its cache may not contain the charge yet when the next
 * request arrives.
 */
import type { StoreEpoch } from "../../../../base/store-epoch.ts";
import { objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";

const REMEMBERED_MAX = 100;

export interface RecentQuotas {
  remember(quota: JsonObject): void;
  /** Returns the remembered quota if it is newer than the cached quota `known`, otherwise `known`. */
  newer(known: JsonObject): JsonObject;
}

export function createRecentQuotas(epoch?: StoreEpoch): RecentQuotas {
  const charged = new Map<string, JsonObject>();
  epoch?.onChange(() => charged.clear());
  return {
    remember(quota) {
      const key = keyOf(quota);
      charged.delete(key);
      charged.set(key, quota);
      if (charged.size > REMEMBERED_MAX) for (const oldest of charged.keys()) return void charged.delete(oldest);
    },
    newer(known) {
      const key = keyOf(known);
      const recent = charged.get(key);
      if (recent === undefined) return known;
      if (revisionOf(recent) > revisionOf(known)) return recent;
      charged.delete(key);
      return known;
    },
  };
}

function keyOf(quota: JsonObject): string {
  const metadata = objectAt(quota, "metadata");
  return `${stringAt(metadata, "namespace")}/${stringAt(metadata, "name")}`;
}

function revisionOf(quota: JsonObject): number {
  return Number(stringAt(objectAt(quota, "metadata"), "resourceVersion"));
}
