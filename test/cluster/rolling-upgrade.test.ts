import { describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { NOTHING_WRONG } from "./rolling-upgrade-report.ts";
import { PER_SECOND, rollingUpgrade } from "./rolling-upgrade.ts";

/**
 * The minimum share of the planned request rate. At a lower rate, servers compete for the processor and miss their
 * probes.
 */
const RATE_SHARE_MIN = 0.85;
/**
 * The interval of probes. If a ready server takes longer to respond, the machine is too busy to limit the share of
 * failed requests.
 */
const WAIT_MS_MAX = 500;
const FAILED_SHARE_MAX = 0.01;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)(
  "while three servers are upgraded and downgraded, one at a time, under load,",
  { timeout: 300_000 },
  () => {
    test("no response is wrong, controllers keep their guarantees, and the discovery of every server shows every change", async () => {
      const report = await rollingUpgrade();
      console.info(report.summary);
      expect(report.wrong).toEqual(NOTHING_WRONG);
      expect(Object.keys(report.scenes).sort()).toEqual(["Background", "Foreground", "Orphan", "kept", "namespace"]);
      expect(report.events).toBeGreaterThan(0);
      expect(report.proxied).toBeGreaterThan(0);
      if (report.perSecond < PER_SECOND * RATE_SHARE_MIN || report.longestWaitMs > WAIT_MS_MAX)
        console.warn("this machine is too busy for this load, so the share of failed proxied requests was not checked");
      else expect(report.proxiedFailed.length / report.proxied).toBeLessThanOrEqual(FAILED_SHARE_MAX);
    });
  },
);
