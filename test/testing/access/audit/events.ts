/** Audit events and a backend that collects them, for tests. */
import type { AuditBackend } from "../../../../src/access/audit/backend.ts";
import { jsonLine, type AuditEvent } from "../../../../src/access/audit/event.ts";

export function auditEvent(changes: Partial<AuditEvent> = {}): AuditEvent {
  return {
    level: "Metadata",
    auditID: "id-1",
    stage: "ResponseComplete",
    requestURI: "/api/v1/pods?a=1&b=<2>",
    verb: "list",
    user: { name: "alice", uid: "", groups: ["devs"], extra: {} },
    impersonatedUser: undefined,
    impersonationConstraint: "",
    sourceIPs: ["127.0.0.1"],
    userAgent: "curl/8",
    objectRef: undefined,
    responseStatus: { code: 200 },
    requestObject: undefined,
    responseObject: undefined,
    requestReceivedMs: Date.UTC(2030, 0, 1),
    stageMs: Date.UTC(2030, 0, 1) + 1.5,
    annotations: new Map(),
    ...changes,
  };
}

/** An audit backend that keeps the events as clients would read them: serialized and parsed again. */
export interface CollectingBackend extends AuditBackend {
  readonly events: EventJson[];
  isStoring: boolean;
}

export interface EventJson {
  readonly [field: string]: unknown;
  readonly stage: string;
}

export function collectingBackend(): CollectingBackend {
  const events: EventJson[] = [];
  return {
    events,
    isStoring: true,
    process(event) {
      if (this.isStoring) events.push(JSON.parse(jsonLine(event)) as EventJson);
      return this.isStoring;
    },
    close: () => Promise.resolve(),
  };
}
