/** Installs the package as npm packs it, and runs and compiles programs that use it. */
import { spawnSync } from "node:child_process";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, afterAll, describe, expect, test } from "vitest";
import { NODE, ROOT } from "../smoke/built.ts";
import { disposableDirectory } from "../smoke/start-evenkeel.ts";
import { installPackage } from "./client-package-tarball.ts";

const PROGRAM = `
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { createClient, createFetchTransport, createSystemClock, createSystemRandom, type Ready } from "evenkeel/client";
import { createNodeTransport } from "evenkeel/client/node";
import { readyOf, withEvenkeel, type Evenkeel } from "evenkeel/client/client-node";

const config = new KubeConfig();
config.loadFromClusterAndUser({ name: "c", server: "https://127.0.0.1:1", skipTLSVerify: true }, { name: "u" });
const evenkeel: Evenkeel = withEvenkeel(config, { ifReadyHeader: true, compatibilityVersion: "1.36", retriesMax: 3 });
const core: CoreV1Api = config.makeApiClient(CoreV1Api);
const ready: Ready | undefined = evenkeel.ready;
const transports = [createNodeTransport({ url: "https://127.0.0.1:1" }), createFetchTransport({ fetch: async () => { throw new Error("unused"); }, url: "" })];
const clients = transports.map((transport) =>
  createClient({ transport, clock: createSystemClock(), random: createSystemRandom(), ifReadyHeader: true, waitForServerMs: 0 }));
console.log(core instanceof CoreV1Api, ready, readyOf({ "x-kubernetes-ready": "false" }), clients.map((client) => client.ready));
`;

const REFUSED = `
// @ts-expect-error: the name of the option is another one
withEvenkeel(new KubeConfig(), { ifReady: true });
// @ts-expect-error: this is no config
withEvenkeel({});
// @ts-expect-error: a client needs a transport
createClient({});
`;

let directory: ReturnType<typeof disposableDirectory>;
beforeAll(() => {
  directory = disposableDirectory();
  installPackage(directory.path);
  symlinkSync(join(ROOT, "node_modules/@types"), join(directory.path, "node_modules/@types"));
});
afterAll(() => directory[Symbol.dispose]());

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(NODE, [program, ...args], { cwd: directory.path, encoding: "utf8" });
  return status === 0 ? stdout : `${stdout}${stderr}`;
}

describe.each([
  ["1.x", "client-node-1"],
  ["2.x", "@kubernetes/client-node"],
])("with client-node %s,", (major, installed) => {
  const folder = `major-${major}`;
  beforeAll(() => {
    const scope = join(directory.path, folder, "node_modules/@kubernetes");
    mkdirSync(scope, { recursive: true });
    symlinkSync(realpathSync(join(ROOT, "node_modules", installed)), join(scope, "client-node"));
    writeFileSync(join(directory.path, folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(directory.path, folder, "program.ts"), PROGRAM);
    writeFileSync(join(directory.path, folder, "refused.ts"), REFUSED);
  });

  test("a program that uses the package runs", () => {
    expect(run(`${folder}/program.ts`)).toBe("true undefined false [ undefined, undefined ]\n");
  });

  test("the strictest compiler accepts a correct program, and finds the expected errors in a wrong one", () => {
    const compilerOptions = {
      target: "es2024",
      lib: ["es2024", "esnext.disposable"],
      module: "nodenext",
      types: ["node"],
      strict: true,
      noEmit: true,
      exactOptionalPropertyTypes: true,
      // The types of client-node are not checked.
      skipLibCheck: true,
    };
    const config = { compilerOptions, files: ["program.ts", "refused.ts"] };
    writeFileSync(join(directory.path, folder, "tsconfig.json"), JSON.stringify(config));
    expect(run(join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder)).toBe("");
  });
});

test("a program without client-node can use the package, which has no dependencies", () => {
  writeFileSync(
    join(directory.path, "alone.mjs"),
    'console.log(Object.keys(await import("evenkeel/client/client-node")));',
  );
  expect(run("alone.mjs")).toBe("[ 'readyOf', 'withEvenkeel' ]\n");
});
