import { afterAll, beforeAll } from "vitest";
import { startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { forEachHelm, testServerSideHelm, testTinyChart, testWholeChart } from "./helm-suite.ts";
import { findTools, versionsToRun } from "./tools.ts";

/** The newest tested version of each major version, which runs all tests. */
const NEWEST = new Set(["3.17", "4.2"]);
const { helms, missing } = findTools();
if (missing !== undefined) console.warn(missing);

let server: Evenkeel;
beforeAll(async () => {
  server = await startEvenkeel();
});
afterAll(() => server[Symbol.asyncDispose]());

const versions = versionsToRun(["3.12", ...NEWEST], ["3.16", "4.1"]);
forEachHelm(
  helms.filter(({ version }) => versions.has(version)),
  () => server,
  (helm, tool) => {
    testTinyChart(helm, tool);
    if (!NEWEST.has(tool.version)) return;
    testWholeChart(helm, tool);
    if (tool.version.startsWith("4.")) testServerSideHelm(helm);
  },
);
