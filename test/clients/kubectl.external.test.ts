import { afterAll, beforeAll } from "vitest";
import { startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { testDeleting, testEvents, testWaiting, testWatching } from "./kubectl-waiting-suite.ts";
import { forEachKubectl, testApplying, testChanging, testCreating, testReading } from "./kubectl-suite.ts";
import { findTools, type Tool } from "./tools.ts";

const RELEASE = "1.36";
const { kubectls, missing } = findTools();
if (missing !== undefined) console.warn(missing);

let server: Evenkeel;
beforeAll(async () => {
  server = await startEvenkeel({ flags: ["--release", RELEASE] });
});
afterAll(() => server[Symbol.asyncDispose]());

/**
 * The oldest, the newest and the installed kubectl run all tests. These versions in between run only the tests whose
 * results differ among releases.
 */
const BETWEEN = new Set(["1.28", "1.31", "1.33"]);
const isBetween = ({ version, path }: Tool): boolean => BETWEEN.has(version) && path !== "kubectl";
const subject = { release: RELEASE, server: () => server };

forEachKubectl(kubectls.filter(isBetween), subject, (session) => {
  testReading(RELEASE, session);
  testApplying(session);
  testWatching(session);
});

const others = kubectls.filter((tool) => !isBetween(tool));
forEachKubectl(others, subject, (session) => {
  testReading(RELEASE, session);
  testCreating(session);
  testApplying(session);
  testChanging(session);
  testDeleting(session);
  testWaiting(session);
  testWatching(session);
  testEvents(session);
});
