/**
 * The conformance suite of the storage port. It does not assume that the store is empty or exclusive, that its
 * revisions begin at a certain number, or that watchers see a change before its commit resolves.
 */
import { describe } from "vitest";
import { commitTests } from "./kv-commits.ts";
import { DEADLINE_MS, type KvCapabilities, type KvFixture, type KvSuiteContext } from "./kv-fixture.ts";
import { guardTests } from "./kv-guards.ts";
import { leaseTests } from "./kv-leases.ts";
import { lifecycleTests } from "./kv-lifecycle.ts";
import { rangeTests } from "./kv-ranges.ts";
import { watchTests } from "./kv-watches.ts";

export function kvSuite(name: string, open: () => Promise<KvFixture>, capabilities: KvCapabilities = {}): void {
  let prefixes = 0;
  const context: KvSuiteContext = {
    open,
    prefix: () => `/registry/test-${++prefixes}/`,
    capabilities: { isExclusive: false, canCompact: true, leaseSeconds: 1, ...capabilities },
  };
  describe(`${name} conforms to the storage port`, { timeout: DEADLINE_MS }, () => {
    describe("commits", () => commitTests(context));
    describe("guards", () => guardTests(context));
    describe("ranges", () => rangeTests(context));
    describe("watches", () => watchTests(context));
    describe("leases", () => leaseTests(context));
    describe("lifecycle", () => lifecycleTests(context));
  });
}
