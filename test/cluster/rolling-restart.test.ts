import { describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { rollingRestart, WATCHES } from "./rolling-restart.ts";

/**
 * If an HTTP/1.1 server closes a connection, a write may be in flight that must not be repeated. A server gives its
 * clients this much time to close their connections first. Clients that stall for longer miss it.
 */
const STALL_MS_MAX = 200;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)("while three servers behind a load balancer restart in turn,", { timeout: 300_000 }, () => {
  test("no request of 200 a second fails, no response is wrong, and 200 watches miss nothing", async () => {
    const { report, gaps, events, summary } = await rollingRestart();
    console.info(summary);
    expect(report.failures).toEqual([]);
    if (report.stallMs <= STALL_MS_MAX) expect(report.undecided).toEqual([]);
    else console.warn("this machine is too busy to judge writes by HTTP/1.1 whose connection ended");
    expect(report.wire.wrong).toEqual([]);
    expect(gaps).toEqual([]);
    expect(report.reported.map(({ stretches }) => stretches.length > 0)).toEqual(
      Array.from({ length: WATCHES }, () => true),
    );
    // Otherwise no client was moved to another server, and the test has covered nothing.
    expect([events > 0, report.goaways > 0, (report.watchEnds["ended"] ?? 0) >= WATCHES]).toEqual([true, true, true]);
  });
});
