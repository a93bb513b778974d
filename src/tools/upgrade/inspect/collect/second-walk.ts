/**
 * Names the objects behind the problems that the first walk has only counted: the content of namespaces that are being
 * deleted or do not exist, and the dependents of missing owners. To keep the names of all objects would need too much
 * memory. The walk ends as soon as nothing is left to find.
 */
import { isJsonObject, objectAt, stringAt } from "../../../../meta/json.ts";
import { formatGroupResource } from "../../../../meta/group-version.ts";
import { SUBJECTS_MAX, type FindingSubject } from "../../finding.ts";
import type { StoredData, StoredItem, WalkRequest } from "../../stored-data.ts";
import type { NamedCount } from "../inspection.ts";
import type { ValueCollector } from "./collector.ts";
import type { EncryptedValues } from "./encrypted-values.ts";
import { bounded, objectName, subjectName, type LocatedKey } from "./resource-stats.ts";
import { decodedObject } from "./special-objects.ts";

const KINDS_MAX = 200;
const NAMES_PER_NAMESPACE_MAX = 10;

interface NamespaceContent {
  readonly content: Map<string, number>;
  readonly finalizers: Map<string, number>;
  /** The first objects. */
  readonly names: string[];
  left: number;
}

export interface SecondWalk {
  /** The namespaces of which the content is needed. */
  readonly namespaces: ReadonlyMap<string, NamespaceContent>;
  /** The positions of missing owners. */
  readonly owners: ReadonlySet<number>;
  readonly dependents: FindingSubject[];
}

export function createSecondWalk(
  namespaces: readonly { readonly name: string; readonly objects: number }[],
  owners: ReadonlySet<number>,
): SecondWalk {
  return {
    namespaces: new Map(
      namespaces.map(({ name, objects }) => [
        name,
        { content: new Map(), finalizers: new Map(), names: [], left: objects },
      ]),
    ),
    owners,
    dependents: [],
  };
}

export async function walkForNames(
  walk: SecondWalk,
  { collector, encrypted }: { readonly collector: ValueCollector; readonly encrypted: EncryptedValues },
  data: StoredData,
  request: WalkRequest,
): Promise<void> {
  let left = [...walk.namespaces.values()].reduce((sum, { left: objects }) => sum + objects, 0);
  const hasAllDependents = (): boolean => walk.owners.size === 0 || walk.dependents.length >= SUBJECTS_MAX;
  if (left === 0 && hasAllDependents()) return;
  const done = new AbortController();
  const isDone = (): boolean => left === 0 && hasAllDependents();
  const visit = (item: StoredItem): void => {
    if (done.signal.aborted) return;
    const located = collector.resources.locate(item.key);
    if (located === undefined) return;
    const content = walk.namespaces.get(located.namespace);
    const isScanned = (content !== undefined || !hasAllDependents()) && isRead(item, located, { collector, encrypted });
    if (content !== undefined && located.namespace !== "") {
      left--;
      countContent(content, located, isScanned ? collector : undefined);
    }
    if (isScanned && !hasAllDependents()) addDependent(walk, item, located, { collector, encrypted });
    if (isDone()) done.abort();
  };
  try {
    await data.walk({ ...request, signal: AbortSignal.any([request.signal, done.signal]) }, visit);
  } catch (thrown) {
    if (!done.signal.aborted || request.signal.aborted) throw thrown;
  }
}

interface Readers {
  readonly collector: ValueCollector;
  readonly encrypted: EncryptedValues;
}

/** Fills the head of the collector. */
function isRead({ key, value }: StoredItem, { stat }: LocatedKey, { collector, encrypted }: Readers): boolean {
  const clear = encrypted.reopen(value, key, stat);
  return clear !== undefined && collector.scan(clear) === undefined;
}

function countContent(content: NamespaceContent, located: LocatedKey, collector: ValueCollector | undefined): void {
  content.left--;
  addOne(content.content, bounded(formatGroupResource(located.stat)));
  if (content.names.length < NAMES_PER_NAMESPACE_MAX) content.names.push(subjectName(located));
  if (collector === undefined) return;
  const { head, strings } = collector;
  for (let at = 0; at < head.finalizers; at++)
    addOne(content.finalizers, bounded(strings.textOf(head.finalizerIds[at]!)));
}

function addOne(counts: Map<string, number>, name: string): void {
  if (counts.has(name) || counts.size < KINDS_MAX) counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** Sorted, the largest first. */
export function namedCounts(counts: ReadonlyMap<string, number>): NamedCount[] {
  return [...counts].map(([name, count]) => ({ name, count })).toSorted((a, b) => b.count - a.count);
}

function addDependent(walk: SecondWalk, item: StoredItem, located: LocatedKey, readers: Readers): void {
  const { head, owners } = readers.collector;
  for (let owner = 0; owner < head.owners; owner++) {
    if (!walk.owners.has(owners.positionOf(head, owner))) continue;
    const clear = readers.encrypted.reopen(item.value, item.key, located.stat);
    const detail = clear === undefined ? undefined : ownerText(clear, owner);
    walk.dependents.push({ name: subjectName(located), ...(detail === undefined ? {} : { detail }) });
    return;
  }
}

function ownerText(clear: Buffer, owner: number): string | undefined {
  const references = objectAt(decodedObject(clear) ?? {}, "metadata")["ownerReferences"];
  const reference: unknown = Array.isArray(references) ? references[owner] : undefined;
  if (!isJsonObject(reference)) return undefined;
  return `owner: ${bounded(stringAt(reference, "kind"))} ${objectName("", stringAt(reference, "name"))}`;
}
