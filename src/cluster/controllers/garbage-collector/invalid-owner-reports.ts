/**
 * Writes Events about owner references that cross namespaces, as kubernetes does. Each reference is reported once, and
 * the rate is limited.
 */
import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import { randomInteger, type Random } from "../../../base/random.ts";
import { messageOf } from "../../../base/within.ts";
import type { Client } from "../../../client/client.ts";
import type { ResourceType, UnstructuredObject } from "../../../client/objects.ts";
import { formatGroupVersion } from "../../../meta/group-version.ts";
import { timestampAt } from "../../../meta/timestamp.ts";
import { isOfForeignNamespace, type GraphNode, type Ownership } from "./graph.ts";
import { CLUSTER_EVENTS_NAMESPACE, REPORT_REFILL_MS, REPORTED_MAX, REPORTS_BURST } from "./collector-limits.ts";
import { LruSet } from "./lru-set.ts";
import type { ServedResources } from "./served-resources.ts";

interface InvalidOwnerReportsOptions {
  readonly client: Client;
  readonly served: ServedResources;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const EVENTS: ResourceType = { group: "", version: "v1", resource: "events", namespaced: true };
const COMPONENT = "garbage-collector-controller";

export class InvalidOwnerReports {
  readonly #options: InvalidOwnerReportsOptions;
  readonly #reported = new LruSet(REPORTED_MAX);
  #tokens = REPORTS_BURST;
  #refilledAtMs: number;

  constructor(options: InvalidOwnerReportsOptions) {
    this.#options = options;
    this.#refilledAtMs = options.clock.monotonic();
  }

  /** Writes the Event. No decision depends on it, so a failure is only logged. */
  async report(node: GraphNode, signal: AbortSignal): Promise<void> {
    const invalid = node.owners.find(({ owner }) => isOfForeignNamespace(node, owner));
    if (invalid === undefined) return;
    const key = `${node.uid}\n${invalid.owner.uid}`;
    if (this.#reported.has(key) || !this.#takeToken()) return;
    this.#reported.add(key);
    const { client, log } = this.#options;
    try {
      await client.resource<UnstructuredObject>(EVENTS).create(this.#event(node, invalid), { signal });
    } catch (thrown) {
      const { namespace, name } = node;
      log.debug("event about an invalid owner not written", { namespace, name, error: messageOf(thrown) });
    }
  }

  #takeToken(): boolean {
    const nowMs = this.#options.clock.monotonic();
    const earned = Math.floor((nowMs - this.#refilledAtMs) / REPORT_REFILL_MS);
    this.#tokens = Math.min(REPORTS_BURST, this.#tokens + earned);
    this.#refilledAtMs += earned * REPORT_REFILL_MS;
    if (this.#tokens === 0) return false;
    this.#tokens--;
    return true;
  }

  #event(node: GraphNode, invalid: Ownership): UnstructuredObject {
    const { clock, random } = this.#options;
    const { uid, namespace, name, resource } = node;
    const { group, kind, owner } = invalid;
    const at = timestampAt(clock.now());
    const suffix = [0, 0]
      .map(() =>
        randomInteger(random, 2 ** 32)
          .toString(16)
          .padStart(8, "0"),
      )
      .join("");
    const home = namespace === "" ? CLUSTER_EVENTS_NAMESPACE : namespace;
    const said = `[${this.#apiVersion(group, kind)}/${kind}, namespace: ${namespace}, name: ${invalid.name}, uid: ${owner.uid}]`;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${name}.${suffix}`, namespace: home },
      involvedObject: {
        kind: resource?.kind,
        name,
        uid,
        apiVersion: this.#apiVersion(resource?.group ?? "", resource?.kind ?? ""),
        ...(namespace === "" ? {} : { namespace }),
      },
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef ${said} does not exist in namespace ${JSON.stringify(namespace)}`,
      type: "Warning",
      source: { component: COMPONENT },
      reportingComponent: COMPONENT,
      reportingInstance: "",
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    };
  }

  #apiVersion(group: string, kind: string): string {
    const version = this.#options.served.ofKind(group, kind)[0]?.versions[0] ?? "";
    return formatGroupVersion({ group, version });
  }
}
