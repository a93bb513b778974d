/** Facts that the API shows and stored data does not: running versions, requests to deprecated APIs, and conditions. */
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { isReleaseName, type ReleaseName } from "../../../objects/catalog/release.ts";
import type { FindingSubject } from "../finding.ts";
import type { ApiRequests } from "./api-requests.ts";
import { deprecatedRequests, type DeprecatedRequest } from "./deprecated-requests.ts";

export interface ApiFacts {
  /** The versions that the API servers reported, such as "v1.33.4" or "v1.36.4, which emulates 1.33", sorted. */
  readonly versions: readonly string[];
  /** The release as which the oldest of them behaves. */
  readonly release: ReleaseName | undefined;
  /** Undefined if the user may not read the metrics. */
  readonly deprecated: readonly DeprecatedRequest[] | undefined;
  /** Namespaces that are being deleted, with the conditions that explain why they are still there. */
  readonly terminating: readonly FindingSubject[];
  /** StorageVersionMigrations that have not succeeded. */
  readonly migrations: readonly FindingSubject[];
}

/** A load balancer sends requests of several connections to several servers. */
const VERSION_TRIES = 8;
const PAGE = 500;
const SUBJECTS_READ_MAX = 1_000;
const MESSAGE_LENGTH_MAX = 500;
const MIGRATIONS: readonly string[] = [
  "/apis/storagemigration.k8s.io/v1/storageversionmigrations",
  "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations",
  "/apis/storagemigration.k8s.io/v1alpha1/storageversionmigrations",
];

/** `reconnect` returns requests over a new connection. */
export async function readApiFacts(requests: ApiRequests, reconnect: () => ApiRequests): Promise<ApiFacts> {
  const { versions, release } = await serverVersions(reconnect);
  const metrics = await requests.text("/metrics", "text/plain");
  return {
    versions,
    release,
    deprecated: "value" in metrics ? deprecatedRequests(metrics.value) : undefined,
    terminating: await terminatingNamespaces(requests),
    migrations: await pendingMigrations(requests),
  };
}

async function serverVersions(reconnect: () => ApiRequests): Promise<Pick<ApiFacts, "versions" | "release">> {
  const versions = new Set<string>();
  const releases = new Set<ReleaseName>();
  for (let attempt = 0; attempt < VERSION_TRIES; attempt++) {
    const received = await reconnect().json("/version");
    if ("missing" in received) break;
    const { value } = received;
    // A server of a newer binary also reports the release as which it behaves.
    const binary = stringAt(value, "minor");
    const minor = stringAt(value, "emulationMinor") || binary;
    const name = `1.${minor.replace(/\D.*$/, "")}`;
    versions.add(stringAt(value, "gitVersion") + (minor === binary ? "" : `, which emulates ${name}`));
    if (isReleaseName(name)) releases.add(name);
  }
  const [release] = [...releases].toSorted((left, right) => Number(left.slice(2)) - Number(right.slice(2)));
  return { versions: [...versions].toSorted(), release };
}

async function terminatingNamespaces(requests: ApiRequests): Promise<FindingSubject[]> {
  const found: FindingSubject[] = [];
  await requests.list({ path: "/api/v1/namespaces", limit: PAGE }, (namespace) => {
    const status = objectAt(namespace, "status");
    if (stringAt(status, "phase") !== "Terminating" || found.length >= SUBJECTS_READ_MAX) return;
    found.push({ name: `namespaces ${nameOf(namespace)}`, detail: activeConditions(status) });
  });
  return found;
}

function activeConditions(status: JsonObject): string {
  const messages = objectsAt(status, "conditions")
    .filter((condition) => stringAt(condition, "status") === "True")
    .map((condition) => `${stringAt(condition, "type")}: ${stringAt(condition, "message")}`);
  return messages.length === 0 ? "no condition" : messages.join("; ").slice(0, MESSAGE_LENGTH_MAX);
}

async function pendingMigrations(requests: ApiRequests): Promise<FindingSubject[]> {
  for (const path of MIGRATIONS) {
    const found: FindingSubject[] = [];
    const missing = await requests.list({ path, limit: PAGE }, (migration) => {
      const conditions = objectsAt(objectAt(migration, "status"), "conditions");
      const active = conditions.filter((condition) => stringAt(condition, "status") === "True");
      const types = active.map((condition) => stringAt(condition, "type"));
      if (types.includes("Succeeded") || found.length >= SUBJECTS_READ_MAX) return;
      found.push({ name: `storageversionmigrations ${nameOf(migration)}`, detail: types.join(", ") || "not started" });
    });
    if (missing === undefined) return found;
  }
  return [];
}

function nameOf(object: JsonObject): string {
  return stringAt(objectAt(object, "metadata"), "name");
}
