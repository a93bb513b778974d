/**
 * Publishes the findings of repairs as Events of the Services and IPAddress objects, as kube-apiserver does. A finding that
 * recurs counts up the series of its Event.
 */
import type { Clock } from "../../base/clock.ts";
import { microTimestampAt } from "../../meta/timestamp.ts";
import type { Log } from "../../base/log.ts";
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { dnsSubdomainErrors } from "../../meta/names.ts";
import { parseEntry } from "../../storage/watch-cache/entry.ts";
import type { Finding } from "./repair-findings.ts";

interface RepairEventsOptions {
  /** Sends a request as this server. */
  readonly call: (request: EventRequest) => Promise<{ readonly status: number }>;
  readonly clock: Clock;
  readonly log: Log;
  /** The name of this server in the Events. */
  readonly instance: string;
}

interface EventRequest {
  readonly method: "POST" | "PATCH";
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

export interface RepairEvents {
  /**
   * Called with all findings of a repair, or with further ones after it; a finding that a repair does not repeat ends its
   * series. Never throws an error: an Event that cannot be written is dropped.
   */
  publish(findings: readonly Finding[], of: "a repair" | "further"): Promise<void>;
}

/** Maximum number of Events that one repair writes, and that are remembered for their series. */
const EVENTS_MAX = 100;

interface Recorded {
  readonly target: string;
  readonly count: number;
}

export function createRepairEvents(options: RepairEventsOptions): RepairEvents {
  const { clock, call, log, instance } = options;
  let recorded = new Map<string, Recorded>();
  /** Makes the names of Events of the same millisecond unique. */
  let written = 0;
  const write = async (finding: Finding, before: Recorded | undefined): Promise<Recorded | undefined> => {
    const now = microTimestampAt(clock.now());
    const count = (before?.count ?? 0) + 1;
    if (before !== undefined) {
      const series = { count, lastObservedTime: now };
      const headers = { "content-type": "application/merge-patch+json" };
      const { status } = await call({ method: "PATCH", target: before.target, headers, body: { series } });
      if (status === 200) return { ...before, count };
    }
    const nanos = BigInt(clock.now()) * 1_000_000n + BigInt(written++ % 1_000_000);
    const event = eventOf(finding, { now, instance, nanos });
    const { namespace, name } = objectAt(event, "metadata");
    const collection = `/apis/events.k8s.io/v1/namespaces/${String(namespace)}/events`;
    const { status } = await call({ method: "POST", target: collection, body: event });
    return status === 201 ? { target: `${collection}/${String(name)}`, count: 1 } : undefined;
  };
  return {
    async publish(findings, of) {
      const next = new Map<string, Recorded>(of === "further" ? recorded : []);
      for (const finding of findings.slice(0, EVENTS_MAX)) {
        const key = [finding.subject.key, finding.reason, finding.note].join("\n");
        try {
          const event = await write(finding, recorded.get(key));
          if (event !== undefined) next.set(key, event);
        } catch (thrown) {
          log.warn("writing an Event of the repair failed", { error: String(thrown) });
        }
      }
      recorded = next;
    },
  };
}

function eventOf(
  { subject, reason, action, note }: Finding,
  { now, instance, nanos }: { readonly now: string; readonly instance: string; readonly nanos: bigint },
): JsonObject {
  const object = parseEntry(subject);
  const metadata = objectAt(object, "metadata");
  const name = stringAt(metadata, "name");
  const namespace = stringAt(metadata, "namespace");
  const controller = `${action === "PortAllocation" ? "port" : "ip"}allocator-repair-controller`;
  // The name of an IPv6 address is no valid name of an Event.
  const base = dnsSubdomainErrors(name).length === 0 ? name : stringAt(metadata, "uid");
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: `${base}.${nanos.toString(16)}`, namespace: namespace === "" ? "default" : namespace },
    eventTime: now,
    reportingController: controller,
    reportingInstance: `${controller}-${instance}`.slice(0, 128),
    action,
    reason,
    regarding: {
      kind: stringAt(object, "kind"),
      apiVersion: stringAt(object, "apiVersion"),
      ...(namespace === "" ? {} : { namespace }),
      name,
      uid: stringAt(metadata, "uid"),
      resourceVersion: String(subject.modRevision),
    },
    note,
    type: "Warning",
  };
}
