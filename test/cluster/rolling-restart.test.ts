import { describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { rollingRestart, WATCHES } from "./rolling-restart.ts";

/**
 * A server that shuts down closes its HTTP/1.1 connections after 250 ms without a request. A client that stalls for
 * longer than STALL_MS_MAX may send a write on a connection that the server closes. It must not repeat that write,
 * because its result is unknown.
 */
const STALL_MS_MAX = 200;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)(
  "while three servers behind a load balancer restart one after the other,",
  { timeout: 300_000 },
  () => {
    test("none of 200 requests per second fails, no response is wrong, and 200 watches miss no event", async () => {
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
      // Otherwise no client would have been moved to another server.
      expect([events > 0, report.goaways > 0, (report.watchEnds["ended"] ?? 0) >= WATCHES]).toEqual([true, true, true]);
    });
  },
);
