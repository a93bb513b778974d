import { describe, expect, test } from "vitest";
import { createServedSet } from "../../cluster/peers/served-set.ts";
import type { LiveServer } from "../../cluster/peers/live-servers.ts";
import type { NumberRecords } from "../../cluster/allocation/number-records.ts";
import { localGroups } from "../../serving/discovery/local.ts";
import { resolveOptions } from "../config.ts";
import { liveNumberRecords } from "./live-number-records.ts";

const LIVE: LiveServer = {
  id: "kube",
  incarnation: undefined,
  record: undefined,
  address: undefined,
  evidence: "masterlease",
  release: undefined,
};

/** The records of a server of release `own` beside a kube-apiserver that serves the resources of another release. */
function besideKube(own: string, release: string, runtimeConfig: readonly string[]): NumberRecords {
  const { catalog } = resolveOptions({ release, runtimeConfig: [...runtimeConfig], storage: { kind: "memory" } });
  const document = { served: createServedSet(localGroups(catalog)) };
  return liveNumberRecords(own, {
    records: { liveness: () => ({ servers: [LIVE], overdue: [], ignored: [] }) },
    view: () => ({ peers: [{ id: LIVE.id, document }] }),
  });
}

describe("the records beside a kube-apiserver", () => {
  test.each([
    ["1.32", "1.32", [], { usesBitmap: true, usesAddresses: false, bitmapDecides: true }],
    // It may have the feature gate MultiCIDRServiceAllocator, which is off by default.
    [
      "1.32",
      "1.32",
      ["networking.k8s.io/v1beta1=true"],
      { usesBitmap: true, usesAddresses: true, bitmapDecides: true },
    ],
    ["1.36", "1.32", [], { usesBitmap: true, usesAddresses: true, bitmapDecides: true }],
    ["1.36", "1.33", [], { usesBitmap: true, usesAddresses: true, bitmapDecides: false }],
    ["1.36", "1.34", [], { usesBitmap: false, usesAddresses: true, bitmapDecides: false }],
    ["1.36", "1.36", [], { usesBitmap: false, usesAddresses: true, bitmapDecides: false }],
  ])(
    "of a server of %s follow from the discovery document of one of %s with the runtime config %j",
    (own, release, runtimeConfig, expected) => {
      expect(besideKube(own, release, runtimeConfig)).toEqual(expected);
    },
  );
});
