/** What the reference is known to do badly around storage versions, and which test holds that it is done better here. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const PUBLISHER = "src/cluster/storageversion/publisher.test.ts";
const COLLECTOR = "src/cluster/storageversion/stale-entry-collector.test.ts";
const GATE = "src/cluster/storageversion/write-gate.test.ts";
const SERVERS = "test/api/storage-version-agreement.test.ts";
const BY_REQUEST = "src/cluster/storageversion/migration/svm-controller.test.ts";
const PASS = "src/cluster/storageversion/migration/migrate-resource.test.ts";

type Held = readonly [weakness: string, file: string, name: string];

const HELD: readonly Held[] = [
  ["1 conflicts retried for ever", PUBLISHER, "a conflict that never ends is an error like any other"],
  ["2 one failure delays readiness ten minutes", SERVERS, "an error is tried again within seconds"],
  ["3 updates one after the other", SERVERS, "one slow resource does not hold the rest"],
  [
    "4 an error of the lease at the start is fatal",
    "src/cluster/peers/identity-lease.test.ts",
    "is retried soon, and then at most as often",
  ],
  [
    "5 the lease of an earlier run is taken for one's own",
    "src/cluster/storageversion/encodings.test.ts",
    "is closed until this run has published",
  ],
  ["6 the lease goes while writes are served", "test/peers/settings.test.ts", "a server that leaves is draining first"],
  ["7 any error makes an entry stale", COLLECTOR, "errors prove nothing"],
  ["7 deletes without precondition", COLLECTOR, "if the object was about to be deleted"],
  ["7 empty objects stay", COLLECTOR, "is deleted after the grace period"],
  ["8 a crashed member stays two hours", "test/cluster/storage-versions.test.ts", "one that stays away is forgotten"],
  ["9 an absent member is invisible", PUBLISHER, "a server that has not published yet makes the condition Unknown"],
  ["10 stale entries are not dropped on publish", PUBLISHER, "stale ones are dropped in the same write"],
  ["11 no Retry-After", GATE, "is rejected with its resource and Retry-After"],
  ["12 what persists nothing waits", GATE, "a closed gate, for every client"],
  [
    "13 anybody may write storage versions",
    GATE,
    "writes that publishing needs pass a closed gate only for the server itself",
  ],
  [
    "15 an old writer goes on when the new version is told",
    SERVERS,
    "a server changes over to what an older one that joins can read, before it writes again",
  ],
  [
    "16 aggregated servers cannot join",
    "test/api/own-api-server.test.ts",
    "has an identity and entries there for as long as it lives",
  ],
  [
    "17 lists in no order, writes that change nothing",
    SERVERS,
    "a restart that has nothing to say writes no storage version",
  ],
  ["19 no metric of blocked writes", GATE, "is counted by resource, and passing requests are not"],
  ["19 no metric of the time to agreement", COLLECTOR, "is measured from the first observed disagreement"],
  ["20 nobody consumes the API", SERVERS, "finds what lies in the version agreed on already"],
  ["21 no pages, no bounds", PASS, "lists in pages of 500"],
  ["21 no resume", BY_REQUEST, "is followed by one that resumes its position"],
  ["21 an end that never comes for events", BY_REQUEST, "of events fails instead of never ending"],
  ["27 tight loops on what will never pass", BY_REQUEST, "one that is rejected fails the migration"],
];

/** Not of this part of the server, or not yet. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "14": "Custom resources come with their own step.",
  "18": "The paths are kept for compatibility, and generation stays as clients know it.",
  "22": "Stored versions of custom resources come with them.",
  "23": "Defects of one implementation, with no counterpart here.",
  "24": "Readiness is evaluated inside: test/api/health.test.ts; the rest comes with retry during initialization.",
  "25": "Own calls are known by their connection: src/cluster/storageversion/write-gate.test.ts.",
  "26": "Shutdown comes with retry during initialization.",
};

test("every weakness is held by a test that exists, or is said to be elsewhere", () => {
  const numbers = Array.from({ length: 27 }, (_, at) => String(at + 1));
  const held = new Set(HELD.map(([weakness]) => weakness.split(" ")[0]));
  expect(numbers.filter((number) => !held.has(number) && ELSEWHERE[number] === undefined)).toEqual([]);
});

test.each(HELD)("%s: %s holds it", (_, file, name) => {
  expect(readFileSync(file, "utf8")).toContain(name);
});
