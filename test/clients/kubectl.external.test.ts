import { afterAll, beforeAll } from "vitest";
import { startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { testDeleting, testEvents, testWaiting, testWatching } from "./kubectl-lasting-suite.ts";
import { forEachKubectl, testApplying, testChanging, testCreating, testReading } from "./kubectl-suite.ts";
import { findTools } from "./tools.ts";

const RELEASE = "1.36";
const { kubectls, missing } = findTools();
if (missing !== undefined) console.warn(missing);

let server: Evenkeel;
beforeAll(async () => {
  server = await startEvenkeel({ flags: ["--release", RELEASE] });
});
afterAll(() => server[Symbol.asyncDispose]());

forEachKubectl(kubectls, { release: RELEASE, server: () => server }, (session) => {
  testReading(RELEASE, session);
  testCreating(session);
  testApplying(session);
  testChanging(session);
  testDeleting(session);
  testWaiting(session);
  testWatching(session);
  testEvents(session);
});
