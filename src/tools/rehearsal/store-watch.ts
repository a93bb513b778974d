/**
 * Watches the commits of the store before any server sees them, and finds lost writes and objects that were left
 * behind.
 */
import { storagePlaces } from "../../objects/catalog/storage-places.ts";
import { isReleaseName } from "../../objects/catalog/release.ts";
import { openSchemas } from "../../objects/catalog/schema-source.ts";
import { hasUnknownFields } from "../../objects/unknown-fields.ts";
import { objectAt, stringAt } from "../../meta/json.ts";
import type { Commit, StoreHistory } from "../simulator/history.ts";
import { decodeStatus } from "../../cluster/storageversion/decode-status.ts";
import { ledgerKeyText, type JudgeFinding } from "./judge.ts";
import type { LedgerEntry, Ledger } from "./ledger.ts";
import type { Recorder } from "./recorder.ts";
import { schemaOf } from "./kube-store.ts";
import type { StorageLane, StoragePoint } from "./report.ts";
import type { ServerRun } from "./stage.ts";

const STORAGE_VERSIONS = "storageversions/";
const NAMESPACES = "namespaces/";

interface StoreWatchOptions {
  readonly history: Pick<StoreHistory, "onCommit" | "get" | "under">;
  readonly ledger: Ledger;
  readonly recorder: Recorder;
  readonly serverRuns: readonly Pick<ServerRun, "serverId" | "release">[];
  /** Whether the servers publish the versions that they write. If not, the lanes come from their writes. */
  readonly isAgreed: boolean;
  /** The key prefixes of the custom resources that have objects in namespaces. */
  readonly customPrefixes?: readonly string[];
}

export class StoreWatch {
  readonly #options: StoreWatchOptions;
  readonly #lanes = new Map<string, StoragePoint[]>();

  constructor(options: StoreWatchOptions) {
    this.#options = options;
    options.history.onCommit((commit) => this.#observe(commit));
  }

  /** The lanes of the resources on which the servers did not always agree, or whose common version changed. */
  lanes(): StorageLane[] {
    return [...this.#lanes]
      .filter(([, points]) => isEventful(points))
      .map(([resource, points]) => ({ resource, points }))
      .sort((left, right) => (left.resource < right.resource ? -1 : 1));
  }

  /**
   * Checks at the end that every stored object has all its acknowledged changes. An object that is missing was reported
   * when it was deleted.
   */
  checkAll(): void {
    for (const entry of this.#options.ledger.all()) {
      const object = this.#options.history.get(entry.storeKey);
      if (entry.state !== "there" || object === undefined) continue;
      const annotations = objectAt(objectAt(object, "metadata"), "annotations");
      const missing = entry.marks.filter((mark) => annotations[mark] === undefined);
      if (missing.length === 0) continue;
      const said = `${ledgerKeyText(entry)} is stored without ${missing.length} acknowledged changes`;
      this.#wrong({ kind: "write-lost", said, right: `${missing[0]} was acknowledged` }, "store", entry.storeKey);
    }
  }

  /**
   * Returns the stored objects whose deletion was acknowledged. Omits objects that no server serves, because they
   * cannot be deleted, and the namespaces of such objects.
   */
  leftBehind(isServed: (entry: Pick<LedgerEntry, "group" | "resource">) => boolean): LedgerEntry[] {
    const { history, ledger } = this.#options;
    const stored = ledger.all().filter(({ mustGo, storeKey }) => mustGo && history.get(storeKey) !== undefined);
    const held = new Set(stored.filter((entry) => !isServed(entry)).map(({ namespace }) => namespace));
    return stored.filter(
      (entry) => isServed(entry) && !(entry.storeKey === `${NAMESPACES}${entry.name}` && held.has(entry.name)),
    );
  }

  checkLeftBehind(left: readonly LedgerEntry[]): void {
    for (const entry of left) {
      const said = `${ledgerKeyText(entry)} is still stored at the end`;
      const right = "its deletion, or that of its owner or namespace, was acknowledged";
      this.#wrong({ kind: "left-behind", said, right }, "store", entry.storeKey);
    }
  }

  #observe(commit: Commit): void {
    const { key, after, sending } = commit;
    if (key.startsWith(STORAGE_VERSIONS)) return this.#observeAgreement(key.slice(STORAGE_VERSIONS.length), commit);
    if (!this.#options.isAgreed) this.#observeWrite(commit);
    if (after !== undefined) return this.#checkFields(commit);
    const server = sending?.serverId ?? "store";
    if (key.startsWith(NAMESPACES)) this.#checkNamespace(key.slice(NAMESPACES.length), server);
    const entry = this.#options.ledger.atStoreKey(key);
    if (entry === undefined) return;
    if (entry.state === "there") this.#wrong(lost(entry), server, `delete ${key}`);
    this.#options.ledger.forget(entry);
  }

  /** Checks that an update keeps the fields that the release of its server does not know. */
  #checkFields({ key, before, after, sending }: Commit): void {
    const release = this.#options.serverRuns.findLast(({ serverId }) => serverId === sending?.serverId)?.release;
    if (before === undefined || after === undefined || sending === undefined) return;
    if (release === undefined || !isReleaseName(release) || before["apiVersion"] !== after["apiVersion"]) return;
    const schema = schemaOf(before, openSchemas(release));
    if (schema === undefined || !hasUnknownFields(before, schema) || hasUnknownFields(after, schema)) return;
    const said = `${sending.serverId} (${release}) stored ${key} without fields that ${release} does not know`;
    this.#wrong(
      { kind: "field-dropped", said, right: "the client did not remove them" },
      sending.serverId,
      `put ${key}`,
    );
  }

  #checkNamespace(namespace: string, server: string): void {
    const left = storedIn(this.#options, namespace);
    if (left.length === 0) return;
    const said = `namespace ${namespace} is deleted, and ${left.length} of its objects are still stored`;
    const right = `it must remain until ${left[0]} is deleted`;
    this.#wrong({ kind: "namespace-gone-with-content", said, right }, server, `delete ${NAMESPACES}${namespace}`);
  }

  #observeAgreement(resource: string, { after }: Commit): void {
    if (after === undefined) return;
    const { storageVersions = [], commonEncodingVersion: common = null } = decodeStatus(after);
    const isSingle = storageVersions.every(({ decodableVersions }) => decodableVersions.length <= 1);
    if (isSingle && !this.#lanes.has(resource)) return;
    const entries = storageVersions.map(({ apiServerID, encodingVersion }) => [apiServerID, encodingVersion] as const);
    this.#addPoint(resource, common, entries);
  }

  /** Notes the version in which a server has written an object of a client. */
  #observeWrite({ key, after, sending }: Commit): void {
    const entry = after === undefined ? undefined : this.#options.ledger.atStoreKey(key);
    if (entry === undefined || after === undefined || sending === undefined) return;
    const resource = `${entry.group === "" ? "core" : entry.group}.${entry.resource}`;
    const last = this.#lanes.get(resource)?.at(-1)?.encodings;
    const encodings = { ...last, [sending.serverId]: stringAt(after, "apiVersion") };
    const [version, ...others] = new Set(Object.values(encodings));
    this.#addPoint(resource, others.length === 0 ? (version ?? null) : null, Object.entries(encodings));
  }

  #addPoint(resource: string, common: string | null, entries: readonly (readonly [string, string])[]): void {
    const points = this.#lanes.get(resource) ?? [];
    this.#lanes.set(resource, points);
    const encodings = Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)));
    const last = points.at(-1);
    if (last !== undefined && last.common === common && sameVersions(last.encodings, encodings)) return;
    const atMs = this.#options.recorder.nowMs();
    // Only the last state at a given time is kept, for example when several servers start together.
    if (last?.atMs === atMs) points.pop();
    points.push({ atMs, common, encodings });
  }

  #wrong(finding: JudgeFinding, server: string, request: string): void {
    this.#options.recorder.wrong(finding, { client: "store", server, request });
  }
}

function lost(entry: LedgerEntry): JudgeFinding {
  const { owner } = entry;
  const said = `${ledgerKeyText(entry)} is not in the store`;
  if (owner?.state !== "there")
    return { kind: "write-lost", said, right: "it was acknowledged, and no client deleted it" };
  return { kind: "collected-although-owned", said, right: `its owner ${ledgerKeyText(owner)} exists` };
}

/** The keys of all objects in a namespace. */
function storedIn({ history, customPrefixes = [] }: StoreWatchOptions, namespace: string): string[] {
  const builtIn = storagePlaces().filter(({ namespaced }) => namespaced);
  return [...builtIn.map(({ prefix }) => prefix), ...customPrefixes].flatMap((prefix) =>
    history.under(`${prefix}/${namespace}/`).map(([key]) => key),
  );
}

function sameVersions(left: StoragePoint["encodings"], right: StoragePoint["encodings"]): boolean {
  const versions = (of: StoragePoint["encodings"]): string => [...new Set(Object.values(of))].sort().join();
  return versions(left) === versions(right);
}

function isEventful(points: readonly StoragePoint[]): boolean {
  const said = new Set(points.flatMap(({ common, encodings }) => [common, ...Object.values(encodings)]));
  said.delete(null);
  return said.size > 1;
}
