import { afterAll, beforeAll } from "vitest";
import { startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { testThreeWayMerge } from "./kubectl-apply-suite.ts";
import { testWatching } from "./kubectl-waiting-suite.ts";
import { testConflicts, testServerSideApply } from "./kubectl-server-side-suite.ts";
import { forEachKubectl, testApplying, testReading } from "./kubectl-suite.ts";
import { findTools } from "./tools.ts";

const RELEASE = "1.28";
/** The kubectl of the server's release, and a much newer one. */
const SUBSET = new Set(["1.28", "1.36"]);

let server: Evenkeel;
beforeAll(async () => {
  server = await startEvenkeel({ flags: ["--release", RELEASE] });
});
afterAll(() => server[Symbol.asyncDispose]());

const kubectls = findTools().kubectls.filter(({ version }) => SUBSET.has(version));
forEachKubectl(kubectls, { release: RELEASE, server: () => server }, (session) => {
  testReading(RELEASE, session);
  testApplying(session);
  testThreeWayMerge(session);
  testServerSideApply(session);
  testConflicts(session);
  testWatching(session);
});
