import { describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { CLIENTS, restartUnderClients } from "./restarting-clients.ts";

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)("200 clients that send X-Kubernetes-If-Ready", { timeout: 240_000 }, () => {
  test("get a response to every request and no wrong response, both before three servers have started and while the servers restart one after the other", async () => {
    const { before, during, summary } = await restartUnderClients();
    console.info(summary);
    for (const report of [before, during]) {
      expect(report.wire.wrong).toEqual([]);
      expect(report.failures).toEqual([]);
      expect(report.finished).toBe(CLIENTS);
      // Otherwise no client would have reached a server that was not ready.
      expect(report.wire.answers["503 false"] ?? 0).toBeGreaterThan(0);
    }
  });
});
