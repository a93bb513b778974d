/**
 * Lists the known weaknesses of kube-apiserver's storage versions, and for each the test that proves that this server
 * does not have it.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const PUBLISHER = "src/cluster/storageversion/publisher.test.ts";
const COLLECTOR = "src/cluster/storageversion/stale-entry-collector.test.ts";
const ENCODINGS = "src/cluster/storageversion/encodings.test.ts";
const GATE = "src/cluster/storageversion/write-gate.test.ts";
const SERVERS = "test/api/storage-version-agreement.test.ts";
const BY_REQUEST = "src/cluster/storageversion/migration/svm-controller.test.ts";
const PASS = "src/cluster/storageversion/migration/migrate-resource.test.ts";

type Held = readonly [weakness: string, file: string, name: string];

const HELD: readonly Held[] = [
  ["1 conflicts are retried forever", PUBLISHER, "a conflict that never ends is an error like any other"],
  ["2 one failure delays readiness ten minutes", SERVERS, "a failed publication is retried within seconds"],
  [
    "3 updates are sequential",
    SERVERS,
    "an entry that is slow to publish does not delay the entries of other resources",
  ],
  [
    "4 an error of the lease at the start is fatal",
    "src/cluster/peers/identity-lease.test.ts",
    "the renewal is retried until it succeeds",
  ],
  ["5 the lease of an earlier run is treated as its own", ENCODINGS, "is closed until this run has published"],
  [
    "6 the lease is deleted while writes are served",
    "test/api/shutdown.test.ts",
    "keeps its identity lease until it is closed",
  ],
  ["7 any error makes an entry stale", COLLECTOR, "after errors, and with incomplete data"],
  ["7 deletes without precondition", COLLECTOR, "if the object was about to be deleted"],
  ["7 empty objects stay", COLLECTOR, "is deleted after the grace period"],
  [
    "8 a crashed member stays two hours",
    "test/cluster/storage-versions.test.ts",
    "remove those of a server that does not return",
  ],
  ["9 an absent member is invisible", PUBLISHER, "a server that has not published yet makes the condition Unknown"],
  ["10 stale entries are not dropped on publish", PUBLISHER, "stale ones are dropped in the same write"],
  ["11 no Retry-After", GATE, "is rejected with its resource and Retry-After"],
  ["12 a request that persists nothing waits", GATE, "a closed gate, for every client"],
  [
    "13 any client may write storage versions",
    GATE,
    "writes that publishing needs pass a closed gate only for the server itself",
  ],
  [
    "14 custom resources are written before their version is published",
    ENCODINGS,
    "passes the gate before it is published, and its writes wait for the publication",
  ],
  [
    "14 a write continues although publishing takes too long",
    ENCODINGS,
    "has its writes rejected if its publication takes too long",
  ],
  [
    "14 a changed storage version of a custom resource is used before it is published",
    "test/api/custom-storage-versions.test.ts",
    "a changed storage version is published and used for all later writes",
  ],
  [
    "15 an old writer continues after the new version is published",
    SERVERS,
    "the newer server switches to a version that a joining older server can decode, before its next write",
  ],
  [
    "16 aggregated servers cannot join",
    "test/api/component-api-server.test.ts",
    "has an identity lease and StorageVersion entries in the main API server while it is live",
  ],
  ["17 unordered lists and writes without changes", SERVERS, "a restart without changes writes no StorageVersion"],
  ["19 no metric of blocked writes", GATE, "is counted by resource, and passing requests are not"],
  ["19 no metric of the time to agreement", COLLECTOR, "is measured from the first observed disagreement"],
  ["20 no component uses the API", SERVERS, "skips objects that are stored in the agreed version"],
  ["21 no pages, no bounds", PASS, "lists in pages of the given size"],
  ["21 no resume", BY_REQUEST, "is followed by one that resumes its position"],
  ["21 a migration of events never ends", BY_REQUEST, "of events fails instead of never ending"],
  [
    "22 a failed migration removes stored versions of a CRD",
    "src/cluster/storageversion/migration/custom-resources.test.ts",
    "that leaves an object behind keeps all stored versions",
  ],
  [
    "22 stored versions of a CRD are removed while an object is not migrated",
    "test/api/custom-resource-migrations.test.ts",
    "keeps both stored versions while an object cannot be decoded, until the object is repaired",
  ],
  ["27 tight loops on requests that always fail", BY_REQUEST, "an object whose patch is rejected fails the migration"],
];

/** Weaknesses without a test, with the reason. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "18": "The paths and the generation are kept for compatibility.",
  "23": "Defects of one implementation that cannot occur here.",
  "24": "The server evaluates its readiness itself, whether or not a client calls /readyz: test/api/access.test.ts.",
  "25": "The server recognizes its own calls by their connection: src/cluster/storageversion/write-gate.test.ts.",
  "26": "A failed pre-shutdown hook is logged, and the shutdown continues: src/server/shutdown.ts. No test covers it.",
};

test("every weakness has a test or a note", () => {
  const numbers = Array.from({ length: 27 }, (_, at) => String(at + 1));
  const held = new Set(HELD.map(([weakness]) => weakness.split(" ")[0]));
  expect(numbers.filter((number) => !held.has(number) && ELSEWHERE[number] === undefined)).toEqual([]);
});

test.each(HELD)('the weakness "%s" has a test in %s', (_, file, name) => {
  expect(readFileSync(file, "utf8")).toContain(name);
});
