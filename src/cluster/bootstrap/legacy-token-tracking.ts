/**
 * Records the date since which the server tracks the last use of Secret-based tokens. A controller deletes tokens that
 * have been unused for a long time, and counts from this date.
 */
import { objectAt, stringAt } from "../../meta/json.ts";
import type { OwnedObject } from "./owned-object.ts";
import type { Serves } from "./served-version.ts";

const NAME = "kube-apiserver-legacy-service-account-token-tracking";

export function legacyTokenTracking(serves: Serves, nowMs: () => number): OwnedObject[] {
  const at = serves("", "configmaps", "kube-system");
  if (at === undefined) return [];
  const { apiVersion, namespace } = at;
  const data = { since: new Date(nowMs()).toISOString().slice(0, "2026-08-24".length) };
  return [
    {
      at,
      object: { apiVersion, kind: "ConfigMap", metadata: { name: NAME, namespace }, data },
      correct: (existing) => (isDate(stringAt(objectAt(existing, "data"), "since")) ? undefined : { data }),
    },
  ];
}

function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}
