/**
 * Inspects a cluster through its API alone, as for a managed cluster. The API converts every object, so it does not show
 * how objects are stored: the report is limited, and lists the missing facts.
 */
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import type { UpgradeFinding } from "../finding.ts";
import { inspectStoredData } from "../inspect/inspect-stored-data.ts";
import type { Inspection } from "../inspect/inspection.ts";
import { bySeverity } from "../report/failing.ts";
import { StoredDataError, type WalkRequest } from "../stored-data.ts";
import { API_PREFIX, openApiData } from "./api-data.ts";
import { readApiFacts, type ApiFacts } from "./api-facts.ts";
import { apiFindings } from "./api-findings.ts";
import type { ApiRequests } from "./api-requests.ts";

interface ApiInspectionOptions extends Pick<WalkRequest, "signal" | "onProgress"> {
  readonly requests: ApiRequests;
  /** Returns requests over a new connection, which a load balancer may send to another server. */
  readonly reconnect: () => ApiRequests;
  readonly from?: ReleaseName;
  readonly to?: readonly ReleaseName[];
}

const NOT_KNOWN: readonly string[] = [
  "the version and encoding in which each object is stored, and so what must be migrated before which hop",
  "what would be unreadable after a rollback",
  "values that cannot be read, and the keys with which values are encrypted",
  "the sizes of objects",
];

export async function inspectApi(options: ApiInspectionOptions): Promise<Inspection> {
  const { requests, reconnect, signal, onProgress, from, to } = options;
  const facts = await readApiFacts(requests, reconnect);
  const data = await openApiData(requests);
  const release = from ?? facts.release;
  const inspection = await inspectStoredData(data, {
    prefix: API_PREFIX,
    signal,
    onProgress,
    ...(release && { from: release }),
    to: to ?? [],
  });
  if (inspection.read.keys === 0)
    throw new StoredDataError(`${requests.url} shows no objects: use a user that may list all resources`);
  const notRead = [...data.notRead, ...(facts.deprecated === undefined ? ["the metrics of the API servers"] : [])];
  return asLimited(inspection, facts, { notRead, isGiven: from !== undefined });
}

interface Seen {
  readonly notRead: readonly string[];
  readonly isGiven: boolean;
}

/** Removes all that the made-up stored values seem to show. */
function asLimited(inspection: Inspection, facts: ApiFacts, { notRead, isGiven }: Seen): Inspection {
  const { read, from, hops, findings, resources, managers, customResources, encryption } = inspection;
  const evidence = facts.versions.map((version) => `an API server reports version ${version}`);
  const known = findings.filter(isKnown);
  const added = apiFindings(facts, hops);
  const isFound = !isGiven && facts.release !== undefined;
  return {
    ...inspection,
    read: { ...read, bytes: 0, notKnown: [...NOT_KNOWN, ...notRead.map((what) => `not read: ${what}`)] },
    from: isFound ? { ...from, origin: "found", evidence } : { ...from, evidence: [...from.evidence, ...evidence] },
    findings: bySeverity([...known, ...added.filter(({ id }) => !known.some((finding) => finding.id === id))]),
    resources: resources.map((tally) => ({
      ...tally,
      bytes: 0,
      encodings: { json: 0, protobuf: 0, encrypted: 0 },
      versions: [],
      unreadable: 0,
    })),
    largestObjects: [],
    managers: managers.map((tally) => ({ ...tally, bytes: 0 })),
    customResources: customResources.map((crd) => ({
      ...crd,
      droppable: [],
      versions: crd.versions.map((version) => ({ ...version, objects: 0 })),
    })),
    encryption: { ...encryption, keys: [] },
    unreadable: { count: 0, values: [] },
  };
}

/** The findings that depend on stored values. */
const OF_STORED_VALUES: ReadonlySet<string> = new Set([
  "crd-old-version-stored",
  "crd-stored-version-droppable",
  "crd-stored-versions-incomplete",
  "crd-unserved-version-stored",
  "crd-version-removed",
  "encrypted-not-inspected",
  "object-large",
  "rollback-unreadable",
  "stored-by-newer-release",
  "stored-version-undecodable",
  "value-unreadable",
]);

function isKnown({ id }: UpgradeFinding): boolean {
  return !OF_STORED_VALUES.has(id);
}
