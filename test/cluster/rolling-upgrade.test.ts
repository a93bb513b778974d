import { describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../../src/storage/kv-etcd/testing/start-etcd.ts";
import { PER_SECOND, rollingUpgrade } from "./rolling-upgrade.ts";

/** With less than this, servers starve each other and their probes. */
const RATE_SHARE_MIN = 0.85;
const FAILED_SHARE_MAX = 0.01;

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
      expect(report.proxied).toBeGreaterThan(0);
      if (report.perSecond < PER_SECOND * RATE_SHARE_MIN)
        console.warn(
          "this machine is too busy for such load, so how many requests were refused meanwhile was not judged",
        );
      else expect(report.proxiedFailed.length / report.proxied).toBeLessThanOrEqual(FAILED_SHARE_MAX);
    });
  },
);
