import { afterAll, beforeAll } from "vitest";
import { startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { testDeleting, testEvents, testWaiting, testWatching } from "./kubectl-waiting-suite.ts";
import { forEachKubectl, testApplying, testChanging, testCreating, testReading } from "./kubectl-suite.ts";
import { findTools, kubectlsToRun, versionsToRun } from "./tools.ts";

const RELEASE = "1.36";
const { kubectls, missing } = findTools();
if (missing !== undefined) console.warn(missing);

let server: Evenkeel;
beforeAll(async () => {
  server = await startEvenkeel({ flags: ["--release", RELEASE] });
});
afterAll(() => server[Symbol.asyncDispose]());

/** The oldest and the newest kubectl run all tests; those in between only the tests whose results differ among releases. */
const ENDS = ["1.27", "1.36"];
const BETWEEN = ["1.28", "1.31", "1.33"];
const subject = { release: RELEASE, server: () => server };

const between = versionsToRun([], BETWEEN);
forEachKubectl(
  kubectls.filter(({ version }) => between.has(version)),
  subject,
  (session) => {
    testReading(RELEASE, session);
    testApplying(session);
    testWatching(session);
  },
);

forEachKubectl(kubectlsToRun(kubectls, new Set(ENDS)), subject, (session) => {
  testReading(RELEASE, session);
  testCreating(session);
  testApplying(session);
  testChanging(session);
  testDeleting(session);
  testWaiting(session);
  testWatching(session);
  testEvents(session);
});
