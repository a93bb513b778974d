import { expect, test } from "vitest";
import { sampleFinding, sampleInspection } from "../../../../test/testing/tools/upgrade/sample-inspection.ts";
import { OTHERS, type Inspection } from "../inspect/inspection.ts";
import { inStableOrder } from "./stable-order.ts";

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed).toReversed();
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, reversed(inner)]));
}

test("lists with ties have the same order, whichever order the source returned", () => {
  const sample = sampleInspection();
  const [client] = sample.clients;
  const [state] = sample.storageVersions;
  const [resource] = sample.resources;
  const [lease] = sample.identityLeases;
  const names = ["b", "a", "c"];
  const inspection = sampleInspection({
    clients: names.map((manager) => ({ ...client!, manager })),
    storageVersions: names.map((name) => ({ ...state!, name })),
    resources: [...names, OTHERS].map((name) => ({ ...resource!, resource: name })),
    identityLeases: names.map((name) => ({ ...lease!, name })),
    largestObjects: names.map((name) => ({ name, bytes: 1 })),
    findings: [sampleFinding("error", "one", { subjects: names.map((name) => ({ name })) })],
  });
  const sorted = inStableOrder(inspection);
  const { hops: _, from: __, customResources: ___, encryption: ____, namespaces: _____, ...lists } = sorted;
  const other = inStableOrder({ ...inspection, ...pick(reversed(inspection) as Inspection) });
  expect(other).toMatchObject(lists);
  expect(sorted.resources.map(({ resource: name }) => name)).toEqual(["a", "b", "c", OTHERS]);
  expect(sorted.findings[0]!.subjects.map(({ name }) => name)).toEqual(["a", "b", "c"]);
});

function pick({ clients, storageVersions, resources, identityLeases, largestObjects, findings }: Inspection): object {
  const fixes = findings.map((finding) => ({ ...finding, fix: finding.fix.toReversed() }));
  const tallies = resources.map((tally) => ({ ...tally, versions: tally.versions.toReversed() }));
  return { clients, storageVersions, resources: tallies, identityLeases, largestObjects, findings: fixes };
}
