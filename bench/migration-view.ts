/**
 * Observes the progress of a server's migration of ResourceClaims. The server migrates objects in the order of their
 * names, so the resourceVersion of one object shows whether all objects before it are migrated. Reading it costs the
 * server next to nothing, while reading its metrics would disturb the measurement.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { openHttp1, type Requester } from "./client/http1.ts";
import { CLAIM_PATH, claimName, NUMBER_MARK } from "./objects.ts";
import { ROOT, TOKEN, type RunningServer } from "./servers.ts";

const GROUP = "resource.k8s.io";
const RESOURCE = "resourceclaims";
const STATE_KEY = `${GROUP}.${RESOURCE}`;
const STATE_PATH = "/api/v1/namespaces/kube-system/configmaps/evenkeel-storage-state";
const MIGRATED = new RegExp(
  `^evenkeel_storage_migration_objects_total\\{resource="${STATE_KEY.replaceAll(".", "\\.")}",result="migrated"\\} ([0-9]+)$`,
  "m",
);
const POLL_MS = 50;
/** Long, because a killed migration resumes only when the leader lease of the killed server has expired. */
const GIVE_UP_MS = 600_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

export class MigrationView {
  readonly #requester: Requester;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  static async open({ port }: RunningServer): Promise<MigrationView> {
    return new MigrationView(await openHttp1({ port }, TOKEN));
  }

  close(): void {
    this.#requester.close();
  }

  async resourceVersionOf(number: number): Promise<string> {
    const { metadata } = await this.#get<{ metadata: { resourceVersion: string } }>(
      `${CLAIM_PATH}/${claimName(String(number).padStart(NUMBER_MARK.length, "0"))}`,
    );
    return metadata.resourceVersion;
  }

  /** The number of objects that the server has migrated since it started. */
  async objectsDone(): Promise<number> {
    return Number(MIGRATED.exec(await this.#text("/metrics"))?.[1] ?? "0");
  }

  /** Whether the server has recorded that all objects are stored in this version only. */
  async isStoredAs(apiVersion: string): Promise<boolean> {
    const { data = {} } = await this.#get<{ data?: Record<string, string> }>(STATE_PATH);
    const { persistedVersions = [] } = JSON.parse(data[STATE_KEY] ?? "{}") as { persistedVersions?: string[] };
    return persistedVersions.length === 1 && persistedVersions[0] === apiVersion;
  }

  async #get<Value>(path: string): Promise<Value> {
    return JSON.parse(await this.#text(path)) as Value;
  }

  async #text(path: string): Promise<string> {
    return (await this.#requester.fetch({ method: "GET", path, expectStatus: 200 }, 0)).body;
  }
}

export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + GIVE_UP_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting for the storage migration: not ${what}`);
    await sleep(POLL_MS);
  }
}

/**
 * The number of stored ResourceClaims by version, from `evenkeel stored-versions`; throws if any of them is unreadable.
 */
export async function storedClaims(dataDirectory: string): Promise<Readonly<Record<string, number>>> {
  const { stdout } = await promisify(execFile)(
    join(ROOT, "bin", "evenkeel"),
    ["stored-versions", "--kubeconfig", join(dataDirectory, "kubeconfig"), "--output", "json"],
    { maxBuffer: OUTPUT_BYTES_MAX },
  );
  const { resources } = JSON.parse(stdout) as {
    resources: {
      group: string;
      resource: string;
      unreadable: number;
      versions: { apiVersion: string; objects: number }[];
    }[];
  };
  const claims = resources.find(({ group, resource }) => group === GROUP && resource === RESOURCE);
  if (claims === undefined || claims.unreadable > 0) throw new Error("the store contains unreadable claims");
  return Object.fromEntries(claims.versions.map(({ apiVersion, objects }) => [apiVersion, objects]));
}
