import { describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../../src/storage/kv-etcd/testing/start-etcd.ts";
import { rollingUpgrade } from "./rolling-upgrade.ts";

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)(
  "three servers upgraded and downgraded one at a time under load",
  { timeout: 120_000 },
  () => {
    test("clients are told no wrong 404, and every server comes to show every change", async () => {
      const report = await rollingUpgrade();
      console.info(report.summary);
      expect(report.wrongNotFound).toEqual([]);
      expect(report.unexpected).toEqual([]);
      expect(report.neverShown).toEqual([]);
      expect(report.proxied).toBeGreaterThan(0);
      expect(report.proxiedFailed / report.proxied).toBeLessThanOrEqual(0.01);
    });
  },
);
