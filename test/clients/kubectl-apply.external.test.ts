import { afterAll, beforeAll } from "vitest";
import { startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { testApplyOfOthers, testKustomize, testPruning, testThreeWayMerge } from "./kubectl-apply-suite.ts";
import { testDescribing, testWaitingForCreation } from "./kubectl-describe-suite.ts";
import { testEditing } from "./kubectl-edit-suite.ts";
import { testDaemonRollouts, testRollouts } from "./kubectl-rollout-suite.ts";
import { testConflicts, testServerSideApply, testServerSideMigration } from "./kubectl-server-side-suite.ts";
import { forEachKubectl } from "./kubectl-suite.ts";
import { testExposing, testNodes, testPatching, testSetting } from "./kubectl-workload-suite.ts";
import { findTools, versionsToRun } from "./tools.ts";

const RELEASE = "1.36";
const NEWEST = "1.36";
/** The oldest tested kubectl, one in between, and the newest. */
const SUBSET = versionsToRun(["1.27", NEWEST], ["1.31"]);

let server: Evenkeel;
beforeAll(async () => {
  server = await startEvenkeel({ flags: ["--release", RELEASE] });
});
afterAll(() => server[Symbol.asyncDispose]());

/**
 * Only these versions run the tests of apply and edit, which kubectl mostly does itself and differently in each
 * release. The other tests run with the newest.
 */
const kubectls = findTools().kubectls.filter(({ version, path }) => SUBSET.has(version) && path !== "kubectl");
forEachKubectl(kubectls, { release: RELEASE, server: () => server }, (session, { version }) => {
  testThreeWayMerge(session);
  testPruning(session);
  testServerSideApply(session);
  testConflicts(session);
  testServerSideMigration(session);
  testEditing(session);
  if (version !== NEWEST) return;
  testApplyOfOthers(session);
  testKustomize(session);
  testRollouts(session);
  testDaemonRollouts(session);
  testPatching(session);
  testSetting(session);
  testExposing(session);
  testNodes(session);
  testDescribing(session);
  testWaitingForCreation(session);
});
