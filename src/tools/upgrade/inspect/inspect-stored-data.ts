/**
 * Analyzes the stored data of a cluster before an upgrade. All knowledge about the source is behind the port
 * `StoredData`, so a snapshot and a live etcd give the same result.
 */
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import { objectAt, specOf, stringAt, stringsAt } from "../../../meta/json.ts";
import { timestampAt } from "../../../meta/timestamp.ts";
import { SUBJECTS_MAX, type FindingSubject } from "../finding.ts";
import type { StoredData, WalkedData, ReadProgress, WalkRequest } from "../stored-data.ts";
import { clientTallies } from "./clients.ts";
import { ValueCollector } from "./collect/collector.ts";
import { EncryptedValues, type DecryptionOptions } from "./collect/encrypted-values.ts";
import { bounded } from "./collect/resource-stats.ts";
import { createSecondWalk, namedCounts, walkForNames, type SecondWalk } from "./collect/second-walk.ts";
import { isIdentityLease } from "./collect/special-objects.ts";
import { customDefinitions } from "./custom-definitions.ts";
import type { Facts } from "./facts.ts";
import { allFindings } from "./findings/all-findings.ts";
import type { Inspection, TerminatingNamespace } from "./inspection.ts";
import { missingOwners } from "./missing-owners.ts";
import { detectRelease, kubeletVersion } from "./releases/detect-release.ts";
import { hopsBetween, openView } from "./releases/release-views.ts";
import { externalGroups } from "./releases/served-group-versions.ts";
import { identityLeaseStates, newestRenewal, storageVersionStates } from "./servers.ts";
import { largestObjects, managerTallies, resourceTallies } from "./tallies.ts";

export interface InspectOptions {
  /** Undefined to detect it from the data. */
  readonly from?: ReleaseName | undefined;
  /** Every release between `from` and the last of these is considered; if it is empty, the release after `from`. */
  readonly to: readonly ReleaseName[];
  /** The key prefix of the API server, "/registry/" by default. */
  readonly prefix?: string;
  /** Without it, encrypted values are only counted. */
  readonly encryption?: DecryptionOptions | undefined;
  readonly signal: AbortSignal;
  /** Called with the progress of each walk of the data; `walk` is "keys", "values" or "names". */
  readonly onProgress: (progress: ReadProgress, walk: WalkName) => void;
}

/** "keys" fetches data keys from KMS plugins, "values" examines all values, "names" names the objects of findings. */
type WalkName = "keys" | "values" | "names";

const DEFAULT_PREFIX = "/registry/";
/** Terminating and missing namespaces whose content is listed. */
const NAMESPACES_MAX = 100;
/** How often values may wait for data keys. */
const KEY_WALKS_MAX = 4;
const MS_PER_SECOND = 1000;

/** Rejects as `StoredData.walk` does. The data stays open. */
export async function inspectStoredData(data: StoredData, options: InspectOptions): Promise<Inspection> {
  const encrypted = new EncryptedValues(options.encryption);
  try {
    return await inspect(data, encrypted, options);
  } finally {
    encrypted.close();
  }
}

async function inspect(data: StoredData, encrypted: EncryptedValues, options: InspectOptions): Promise<Inspection> {
  const prefix = withSlash(options.prefix ?? DEFAULT_PREFIX);
  const request = (walk: WalkName): WalkRequest => ({
    prefix,
    signal: options.signal,
    onProgress: (progress) => options.onProgress(progress, walk),
  });
  const collector = new ValueCollector(prefix, encrypted);
  await fetchDataKeys(data, { collector, encrypted }, request("keys"));
  const walked = await data.walk(request("values"), (item) => collector.visit(item));
  const facts = factsOf(collector, encrypted, { ...options, prefix });
  const owners = missingOwners(collector, {
    views: [...(facts.from === undefined ? [] : [facts.from]), ...facts.hops],
    definitions: facts.definitions,
    aggregatedGroups: facts.aggregatedGroups,
  });
  const terminating = collector.special.namespaces.map((namespace) =>
    stringAt(objectAt(namespace, "metadata"), "name"),
  );
  const missing = collector.namespaces.missing();
  const wanted = [...terminating.slice(0, NAMESPACES_MAX), ...missing.slice(0, NAMESPACES_MAX).map(({ name }) => name)];
  const names = createSecondWalk(
    wanted.map((name) => ({ name, objects: collector.namespaces.objectsIn(name) })),
    owners.positions,
  );
  await walkForNames(names, { collector, encrypted }, data, request("names"));
  const complete: Facts = {
    ...facts,
    terminating: terminatingNamespaces(collector, names),
    missingNamespaces: {
      count: missing.length,
      objects: missing.reduce((sum, { objects }) => sum + objects, 0),
      subjects: missingSubjects(missing, names),
    },
    missingOwners: { owners: owners.positions.size, dependents: owners.dependents, subjects: names.dependents },
  };
  return inspectionOf(complete, { collector, walked, data, names, missing });
}

/** Data keys of KMS plugins arrive later than a walk can wait, so they are fetched before. */
async function fetchDataKeys(
  data: StoredData,
  { collector, encrypted }: { readonly collector: ValueCollector; readonly encrypted: EncryptedValues },
  request: WalkRequest,
): Promise<void> {
  if (!encrypted.needsDataKeys) return;
  for (let walks = 0; walks < KEY_WALKS_MAX; walks++) {
    await data.walk(request, ({ key, value }) => {
      const located = collector.resources.locate(key);
      if (located !== undefined) encrypted.prefetch(value, key, located.stat);
    });
    if (!(await encrypted.fetched())) return;
  }
}

type KnownFacts = Omit<Facts, "terminating" | "missingNamespaces" | "missingOwners">;

function factsOf(
  collector: ValueCollector,
  encrypted: EncryptedValues,
  options: InspectOptions & { readonly prefix: string },
): KnownFacts {
  const { special, resources, types, strings, writers } = collector;
  const detected = detectRelease(
    { ...special, identityLeases: special.identityLeases.filter(isIdentityLease) },
    options.from,
  );
  const { release, binary } = detected;
  const flags = { runtimeConfig: detected.servingConfig, featureGates: detected.featureGates };
  const from =
    release === undefined
      ? undefined
      : openView(release, flags, binary === undefined ? undefined : { release, binary });
  const hops = hopsBetween(release, options.to, binary).map((hop) => openView(hop, flags));
  const definitions = customDefinitions(special.crds, resources.all, types);
  const definitionStat = resources.all.find(({ resource }) => resource === "customresourcedefinitions");
  const nowMs = Math.max(writers.newest * MS_PER_SECOND, newestRenewal(special.identityLeases));
  const leases = identityLeaseStates(special.identityLeases, nowMs);
  return {
    prefix: options.prefix,
    detected,
    from,
    hops,
    resources: resources.all,
    types,
    definitions,
    areDefinitionsComplete:
      !special.dropped.has("crds") && (definitionStat?.sealed ?? 0) + (definitionStat?.unreadable ?? 0) === 0,
    aggregatedGroups: externalGroups(special.apiServices),
    clients: clientTallies({
      writers: writers.writers,
      resources: resources.all,
      strings,
      served: detected.served,
      areFlagsKnown: detected.areFlagsKnown,
      from,
      hops,
      definitions: new Map(definitions.map((definition) => [definition.name, definition])),
    }),
    unreadable: { count: collector.unreadableCount, values: collector.unreadable },
    encryption: { isConfigured: encrypted.isConfigured, keys: encrypted.tallies() },
    clearValues: encrypted.clear,
    leases,
    storageVersions: storageVersionStates(special.storageVersions, leases),
    kubelets: special.nodes.map((node) => ({
      node: bounded(stringAt(objectAt(node, "metadata"), "name")),
      version: bounded(kubeletVersion(node)),
    })),
    largest: largestObjects(collector),
    hasService: (name) => collector.hasService(name),
  };
}

function terminatingNamespaces(collector: ValueCollector, names: SecondWalk): TerminatingNamespace[] {
  return collector.special.namespaces.map((namespace) => {
    const metadata = objectAt(namespace, "metadata");
    const name = stringAt(metadata, "name");
    const since = stringAt(metadata, "deletionTimestamp");
    const content = names.namespaces.get(name);
    const finalizers = [...stringsAt(specOf(namespace), "finalizers"), ...stringsAt(metadata, "finalizers")];
    return {
      name: bounded(name),
      ...(since === "" ? {} : { since: bounded(since) }),
      objects: collector.namespaces.objectsIn(name),
      content: namedCounts(content?.content ?? new Map()),
      finalizers: finalizers.slice(0, SUBJECTS_MAX).map(bounded),
      contentFinalizers: namedCounts(content?.finalizers ?? new Map()),
    };
  });
}

type NamespaceCount = ReturnType<ValueCollector["namespaces"]["missing"]>[number];

function missingSubjects(missing: readonly NamespaceCount[], { namespaces }: SecondWalk): FindingSubject[] {
  const subjects = missing.flatMap(({ name }) =>
    (namespaces.get(name)?.names ?? []).map((object) => ({ name: object, detail: `namespace: ${bounded(name)}` })),
  );
  return subjects.slice(0, SUBJECTS_MAX);
}

interface Parts {
  readonly collector: ValueCollector;
  readonly walked: WalkedData;
  readonly data: StoredData;
  readonly names: SecondWalk;
  readonly missing: readonly NamespaceCount[];
}

function inspectionOf(facts: Facts, { collector, walked, data, names, missing }: Parts): Inspection {
  const { detected } = facts;
  const { findings, dropped } = allFindings(facts);
  const newestMs = Math.max(collector.writers.newest * MS_PER_SECOND, newestRenewal(collector.special.identityLeases));
  const { binary: _binary, servingConfig: _servingConfig, served: _served, ...from } = detected;
  return {
    kind: "Inspection",
    apiVersion: "evenkeel.io/v1",
    read: {
      source: data.source,
      revision: data.revision,
      ...walked,
      objects: collector.objects,
      privateKeys: collector.privateKeys,
      ...(newestMs === 0 ? {} : { newestTime: timestampAt(newestMs) }),
      warnings: [...data.warnings, ...limitsReached(collector, dropped)],
    },
    from,
    hops: facts.hops.map(({ release }) => release),
    findings,
    resources: resourceTallies(facts.resources, facts.types, new Set(facts.definitions.map(({ name }) => name))),
    largestObjects: facts.largest,
    managers: managerTallies(collector),
    clients: facts.clients,
    customResources: facts.definitions.map(({ stat: _stat, kind: _kind, ...definition }) => definition),
    encryption: facts.encryption,
    storageVersions: facts.storageVersions,
    identityLeases: facts.leases,
    namespaces: {
      namespaces: collector.namespaces.existing,
      terminating: facts.terminating,
      missing: missing.slice(0, NAMESPACES_MAX).map(({ name, objects }) => ({
        name: bounded(name),
        objects,
        content: namedCounts(names.namespaces.get(name)?.content ?? new Map()),
      })),
    },
    unreadable: facts.unreadable,
  };
}

/** The parts of the data that were not examined, so that an absent finding proves nothing about them. */
function limitsReached({ special, owners, namespaces, objects }: ValueCollector, findings: number): string[] {
  return [
    ...(objects === 0 ? ["no object was found: check the key prefix"] : []),
    ...(owners.isComplete ? [] : ["there are too many UIDs, so owners that do not exist were not searched"]),
    ...(namespaces.isComplete ? [] : ["there are too many namespaces, so missing ones were not searched"]),
    ...[...special.dropped].map(([kind, count]) => `${count} objects of the kind ${kind} were not examined`),
    ...(special.undecodable.length === 0
      ? []
      : [
          `the content of ${special.undecodable.length} objects could not be decoded: ${special.undecodable.slice(0, 5).map(bounded).join(", ")}`,
        ]),
    ...(findings === 0 ? [] : [`${findings} more findings are not listed`]),
  ];
}

function withSlash(prefix: string): string {
  const trimmed = prefix.replaceAll(/^\/+|\/+$/g, "");
  return trimmed === "" ? "/" : `/${trimmed}/`;
}
