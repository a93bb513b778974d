/**
 * Checks that tests cover every item of the specification of the mixed version proxy: the scenarios that kube-apiserver
 * tests (§8.1 to §8.8), scenarios that it does not test (§8-NAME), and its known weaknesses (§9), which this server
 * does not have. A test names the items that it covers, such as §9-13, in its own name.
 */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

function rows(section: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${section}-${at + 1}`);
}

const REQUIRED: readonly string[] = [
  ...rows("§8.1", 9),
  ...rows("§8.2", 6),
  ...rows("§8.3", 4),
  ...rows("§8.4", 7),
  ...rows("§8.5", 3),
  ...rows("§8.6", 19),
  "§8.7-vectors",
  ...["json", "protobuf", "v2beta1", "etag", "update", "sources", "readers", "versions", "priorities"].map(
    (part) => `§8.8-${part}`,
  ),
  ...[
    "upgrade",
    "watch",
    "bodies",
    "identity",
    "guard",
    "failover",
    "api-only",
    "last-peer",
    "404-vs-503",
    "freshness",
    "subresource",
    "many",
  ].map((gap) => `§8-${gap}`),
  ...rows("§9", 37),
];

const MERGE = "src/serving/discovery/merge.test.ts";
const HANDLERS = "src/serving/discovery/handlers.test.ts";
const EXCLUSIONS = "src/cluster/peers/exclusions.test.ts";

/** Tests that cover an item without naming the item: the file, and the name of the test or of one of its cases. */
const COVERED_ELSEWHERE: Readonly<Record<string, readonly [file: string, name: string]>> = {
  "§8.1-9": [HANDLERS, "the groups of two peers are added to those of this server"],
  "§8.3-4": ["src/cluster/peers/served-set.test.ts", "of an empty document is empty"],
  "§8.4-1": [EXCLUSIONS, "do not contain a resource that only a peer has seen"],
  "§8.4-2": [EXCLUSIONS, "is excluded until its own grace period has passed"],
  "§8.4-3": [EXCLUSIONS, "is forgotten beyond the limit, the oldest first"],
  "§8.4-4": [EXCLUSIONS, "that is created again is excluded for as long as it exists"],
  "§8.4-5": [EXCLUSIONS, "stays the same value if nothing is excluded"],
  "§8.4-6": [EXCLUSIONS, "contain an aggregated group version with all its resources"],
  "§8.4-7": [EXCLUSIONS, "loses an excluded group version without resources, and keeps other empty group versions"],
  "§8.6-4": [HANDLERS, "the groups of two peers are added to those of this server"],
  "§8.6-6": [HANDLERS, "a server without groups shows those of its peers"],
  "§8.6-7": [HANDLERS, "the merged document equals the local one, including its ETag"],
  "§8.6-8": [MERGE, "a server with another version"],
  "§8.6-10": [MERGE, "does not depend on the order of the servers"],
  "§8.6-12": [MERGE, "unites and sorts the verbs of resources and subresources"],
  "§8.6-13": [MERGE, "a server that serves nothing"],
  "§8.6-15": [HANDLERS, "counts neither hits nor misses if the server never has peers"],
  "§8.6-19": [
    "test/stories/custom-resources.test.ts",
    "adds its group to the discovery of every server as soon as its resource is served, and removes the group within two seconds after the CRD is deleted",
  ],
  "§8.7-vectors": [MERGE, "merging groups that are not built in"],
  "§8.8-json": [HANDLERS, "the body ends with a line break, and the ETag is 128 hexadecimal digits in quotes"],
  "§8.8-v2beta1": [HANDLERS, "a release without v2beta1 rejects Accept: v2beta1, or returns the next accepted form"],
  "§8.8-update": [HANDLERS, "is rebuilt when a local group is added or removed, without a change of the generation"],
  "§8.8-readers": [HANDLERS, "is rebuilt at the next request if the peers change during the build"],
  "§8.8-versions": ["src/serving/discovery/order.test.ts", "the order of API versions"],
  "§8.8-priorities": ["src/serving/discovery/order.test.ts", "equals the order of %s in every group"],
  "§9-4": [HANDLERS, "is rebuilt at the next request if the peers change during the build"],
  "§9-20": [MERGE, "the newest release decides"],
  "§9-22": [EXCLUSIONS, "loses an excluded group version without resources, and keeps other empty group versions"],
  "§9-23": [EXCLUSIONS, "contain a custom resource, but not other resources of its group version"],
};

/** Items that do not apply to this server, with the reason. */
const WITHOUT_OBJECT: Readonly<Record<string, string>> = {
  "§8.8-protobuf": "Discovery is JSON and YAML; a client that accepts only protobuf is rejected.",
  "§8.8-sources": "A server has one source for its resources: the catalog.",
  "§9-5": "There are no subscriptions: a reader of a document compares generations.",
};

function testFiles(): string[] {
  const files = globSync(["src/**/*.test.ts", "test/**/*.test.ts"]).map((file) => file.replaceAll("\\", "/"));
  return files.filter((file) => file !== "test/peers/coverage.test.ts");
}

function isComment(line: string): boolean {
  return /^\s*(\/\/|\/\*|\*)/.test(line);
}

function named(): Set<string> {
  const code = testFiles().flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => !isComment(line)),
  );
  return new Set(code.flatMap((line) => line.match(/§[0-9.]+-[a-z0-9-]*[a-z0-9]/g) ?? []));
}

test("every item of the specification is covered by a test or listed as not applicable", () => {
  const names = named();
  const isHeld = (item: string): boolean =>
    names.has(item) || COVERED_ELSEWHERE[item] !== undefined || WITHOUT_OBJECT[item] !== undefined;
  expect(REQUIRED.filter((item) => !isHeld(item))).toEqual([]);
});

test("the tests in COVERED_ELSEWHERE exist", () => {
  const missing = Object.entries(COVERED_ELSEWHERE).filter(
    ([, [file, name]]) => !readFileSync(file, "utf8").includes(name),
  );
  expect(missing).toEqual([]);
});

test("no test names an item that the specification does not have", () => {
  const listed = new Set(REQUIRED);
  expect(
    [...named(), ...Object.keys(COVERED_ELSEWHERE), ...Object.keys(WITHOUT_OBJECT)].filter((item) => !listed.has(item)),
  ).toEqual([]);
});
