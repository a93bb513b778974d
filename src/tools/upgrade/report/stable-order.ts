/**
 * Sorts the lists of an inspection. A live etcd and a snapshot return keys in different orders, and the same data must
 * give the same report.
 */
import type { FindingSubject } from "../finding.ts";
import {
  OTHERS,
  type ClientStatus,
  type Inspection,
  type NamedCount,
  type NamespaceTally,
} from "../inspect/inspection.ts";

const CLIENT_ORDER: Readonly<Record<ClientStatus, number>> = {
  removed: 6,
  disabled: 5,
  deprecated: 4,
  unserved: 3,
  older: 2,
  current: 1,
};

export function inStableOrder(inspection: Inspection): Inspection {
  const { findings, resources, largestObjects, managers, clients, encryption, unreadable } = inspection;
  return {
    ...inspection,
    findings: findings.map((finding) => ({ ...finding, subjects: sortedSubjects(finding.subjects) })),
    resources: resources.toSorted(
      by(({ resource, bytes, objects, group }) => [isRest(resource), bytes, objects, resource, group]),
    ),
    largestObjects: largestObjects.toSorted(by(({ bytes, name }) => [bytes, name])),
    managers: managers.toSorted(by(({ manager, bytes, objects }) => [isRest(manager), bytes, objects, manager])),
    clients: clients.toSorted(
      by(({ status, objects, manager, apiVersion, group, resource }) => [
        ...[isRest(manager), CLIENT_ORDER[status], objects],
        ...[manager, apiVersion, resource, group],
      ]),
    ),
    customResources: inspection.customResources.toSorted(by(({ name }) => [name])),
    encryption: {
      ...encryption,
      keys: encryption.keys.toSorted(
        by(({ key, values, provider, version }) => [isRest(key), values, provider, version, key]),
      ),
    },
    storageVersions: inspection.storageVersions
      .map((state) => ({ ...state, servers: state.servers.toSorted(by(({ server }) => [server])) }))
      .toSorted(by(({ name }) => [name])),
    identityLeases: inspection.identityLeases.toSorted(by(({ name }) => [name])),
    namespaces: sortedNamespaces(inspection.namespaces),
    unreadable: { ...unreadable, values: unreadable.values.toSorted(by(({ key }) => [key])) },
  };
}

function sortedNamespaces({ namespaces, terminating, missing }: NamespaceTally): NamespaceTally {
  return {
    namespaces,
    terminating: terminating
      .map((one) => ({
        ...one,
        content: sortedCounts(one.content),
        contentFinalizers: sortedCounts(one.contentFinalizers),
      }))
      .toSorted(by(({ objects, name }) => [objects, name])),
    missing: missing
      .map((one) => ({ ...one, content: sortedCounts(one.content) }))
      .toSorted(by(({ objects, name }) => [objects, name])),
  };
}

function sortedCounts(counts: readonly NamedCount[]): readonly NamedCount[] {
  return counts.toSorted(by(({ name, count }) => [isRest(name), count, name]));
}

function sortedSubjects(subjects: readonly FindingSubject[]): readonly FindingSubject[] {
  return subjects.toSorted(by(({ name, detail = "" }) => [name, detail]));
}

/** Sorts the element that counts all others last: 1 precedes 0, as for all numbers. */
function isRest(name: string): number {
  return name === OTHERS ? 0 : 1;
}

/** Compares by one value after the other: the largest number first, texts in the order of their characters. */
function by<T>(valuesOf: (element: T) => readonly (number | string)[]): (left: T, right: T) => number {
  return (left, right) => {
    const others = valuesOf(right);
    for (const [index, value] of valuesOf(left).entries()) {
      const other = others[index];
      if (value === other || other === undefined) continue;
      if (typeof value === "number" && typeof other === "number") return other - value;
      return value < other ? -1 : 1;
    }
    return 0;
  };
}
