import { expect, test } from "vitest";
import { SILENT_LOG } from "../../base/log.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { textResponse } from "../../serving/http/respond.ts";
import { apiRequest, infoRequest } from "../../../test/testing/serving/http/requests.ts";
import { World } from "../../tools/simulator/world.ts";
import type { AuditOutput } from "./backend.ts";
import { openAudit, type OpenAuditParts } from "./open-audit.ts";
import { NO_AUDIT, type AuditConfig } from "./options.ts";

const CONFIG: AuditConfig = {
  policy: {
    omitStages: [],
    omitManagedFields: false,
    rules: [
      {
        ...{ level: "Metadata", users: [], userGroups: [], verbs: [], resources: [], namespaces: [] },
        ...{ nonResourceURLs: [], omitStages: ["RequestReceived"], omitManagedFields: undefined },
      },
    ],
  },
  log: {
    file: { path: "/audit.log", bytesMax: 0, backupsMax: 0, ageDaysMax: 0, compress: false },
    ...{ format: "json", mode: "blocking", eventBytesMax: undefined },
    batch: { bufferSize: 1, sizeMax: 1, waitMaxMs: 0, throttle: undefined },
  },
  warnings: [],
};

function parts(changes: Partial<OpenAuditParts> = {}): OpenAuditParts & { metrics: MetricsRegistry } {
  const { clock, random } = new World({ seed: 1 }).env;
  return { config: CONFIG, clock, random, log: SILENT_LOG, ...changes, metrics: new MetricsRegistry() };
}

test("events are written, and closing the audit closes the log", async () => {
  const written: string[] = [];
  let isClosed = false;
  const output: AuditOutput = {
    write: (lines) => {
      written.push(...lines.map(String));
      return Promise.resolve([]);
    },
    close: () => Promise.resolve(void (isClosed = true)),
  };
  const audit = await openAudit(parts({ openOutput: () => Promise.resolve(output) }));
  const user = { name: "alice", uid: "", groups: [], extra: {} };
  const request = { ...infoRequest({ url: "/healthz" }), user, isVerifiedPeer: false, isProxied: false };
  await audit.record(() => Promise.resolve(textResponse(200, "ok")))(request);
  expect(written).toHaveLength(1);
  expect(written[0]).toContain('"stage":"ResponseComplete","requestURI":"/healthz"');
  await audit.close();
  expect(isClosed).toBe(true);
});

test("the server does not start if the audit log cannot be opened", async () => {
  const openOutput = (): Promise<never> => Promise.reject(new Error("EROFS"));
  await expect(openAudit(parts({ openOutput }))).rejects.toThrow("failed to open the audit log /audit.log: EROFS");
});

test.each([
  ["a policy and a log", { config: NO_AUDIT }],
  ["a place to write to", {}],
])("without %s, requests get an audit ID, and shared responses are not modified", async (_, changes) => {
  const given = parts(changes);
  const audit = await openAudit(given);
  const shared = textResponse(200, "ok");
  const response = await audit.identify(() => Promise.resolve(shared))(apiRequest());
  expect(response.headers["audit-id"]).toHaveLength(36);
  expect(shared.headers).not.toHaveProperty("audit-id");
  expect(given.metrics.render()).toContain("apiserver_audit_event_total 0");
  await audit.close();
});

test("warnings about the configuration are logged at startup", async () => {
  const reported: string[] = [];
  const log = { ...SILENT_LOG, warn: (message: string) => void reported.push(message) };
  await openAudit(parts({ log, config: { ...NO_AUDIT, warnings: ["a warning"] } }));
  expect(reported).toEqual(["a warning"]);
});
