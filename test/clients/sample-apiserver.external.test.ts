/**
 * Runs the sample API server as its users do: with the packed package, in a separate process, alone and registered with
 * a main API server.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EVENKEEL, NODE, ROOT } from "../smoke/built.ts";
import { ask, type SmokeResponse, type Json, type Target } from "../smoke/client.ts";
import { freePorts } from "../smoke/free-ports.ts";
import { disposableDirectory, runProgram, startEvenkeel, type Command } from "../smoke/start-evenkeel.ts";
import { installPackage } from "./client-package-tarball.ts";

const GROUP = "/apis/wardle.example.com";
const FLUNDERS = `${GROUP}/v1beta1/namespaces/default/flunders`;
const OLD_FLUNDERS = `${GROUP}/v1alpha1/namespaces/default/flunders`;
const TOKEN = "sample-token";

let directory: ReturnType<typeof disposableDirectory>;
const inDirectory = (name: string): string => join(directory.path, name);

beforeAll(() => {
  directory = disposableDirectory();
  installPackage(directory.path);
  cpSync(join(ROOT, "examples/sample-apiserver"), inDirectory("sample"), { recursive: true });
  writeFileSync(inDirectory("package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(inDirectory("tokens.csv"), `${TOKEN},tester,tester\n`);
  symlinkSync(join(ROOT, "node_modules/@types"), inDirectory("node_modules/@types"));
});
afterAll(() => directory[Symbol.dispose]());

interface Sample extends Target, AsyncDisposable {
  readonly command: Command;
}

async function startSample(...flags: string[]): Promise<Sample> {
  const tokens = ["--token-auth-file", inDirectory("tokens.csv"), "--ca-file", inDirectory("sample-ca.crt")];
  const program = runProgram(NODE, [inDirectory("sample/main.ts"), "--secure-port", "0", ...tokens, ...flags]);
  const [, url] = await program.printed(/ at (https:\/\/\S+)/);
  await program.printed(/^Ready\.$/m);
  return {
    ...{ command: program, url: url!, port: Number(new URL(url!).port), token: TOKEN },
    ca: readFileSync(inDirectory("sample-ca.crt"), "utf8"),
    agent: new Agent({ keepAlive: true }),
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
}

function flunder(name: string, spec: Json, version = "v1beta1"): Json {
  return { apiVersion: `wardle.example.com/${version}`, kind: "Flunder", metadata: { name }, spec };
}

const post = (target: Target, path: string, body: Json): Promise<SmokeResponse> =>
  ask(target, { method: "POST", path, body });
const get = (target: Target, path: string): Promise<SmokeResponse> => ask(target, { method: "GET", path });

function typeErrors(file: string): string {
  const compilerOptions = {
    ...{ target: "es2024", lib: ["es2024", "esnext.disposable"], module: "nodenext", types: ["node"], strict: true },
    ...{ noEmit: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noUnusedLocals: true },
    ...{ allowImportingTsExtensions: true, erasableSyntaxOnly: true, verbatimModuleSyntax: true },
  };
  writeFileSync(inDirectory("sample/tsconfig.json"), JSON.stringify({ compilerOptions, files: [file] }));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  return spawnSync(NODE, [tsc, "-p", inDirectory("sample")], { encoding: "utf8" }).stdout;
}

test("the strictest compiler accepts the sample API server with the types of the package", () => {
  expect(typeErrors("main.ts")).toBe("");
});

test("the program of docs/library.md compiles and runs", async () => {
  const [, block = ""] = /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(join(ROOT, "docs/library.md"), "utf8")) ?? [];
  writeFileSync(
    inDirectory("sample/program.ts"),
    block.replace("port: 8443", "port: 0").replace("./data", inDirectory("data")),
  );
  expect(typeErrors("program.ts")).toBe("");
  await using program = runProgram(NODE, [inDirectory("sample/program.ts")]);
  const [url] = await program.printed(/^https:\S+/);
  // The certificate is not verified, because the document does not show where it comes from.
  const agent = new Agent({ rejectUnauthorized: false });
  const target: Target = { url, port: Number(new URL(url).port), ca: "", token: "secret", agent };
  const pencil = (name: string): Json => ({
    ...{ apiVersion: "stationery.example.com/v1", kind: "Pencil", metadata: { name }, spec: {} },
  });
  const path = "/apis/stationery.example.com/v1/namespaces/desk/pencils";
  expect(await post(target, path, pencil("one"))).toMatchObject({ status: 201, body: { spec: { hardness: "HB" } } });
  expect(await post(target, path, pencil("pen-one"))).toMatchObject({ status: 422 });
  program.child.kill("SIGTERM");
  expect(await program.exited, program.stderr).toEqual({ code: 0, signal: null });
});

test("the sample API server alone serves and stores its resources, and exits on SIGTERM", async () => {
  using data = disposableDirectory();
  {
    await using sample = await startSample("--data-dir", data.path);
    expect(await post(sample, OLD_FLUNDERS, flunder("a", { reference: "b" }, "v1alpha1"))).toMatchObject({
      status: 201,
      body: { spec: { reference: "b", referenceType: "Flunder" } },
      headers: { warning: expect.stringContaining("use wardle.example.com/v1beta1 Flunder") },
    });
    const rejected = await post(sample, FLUNDERS, flunder("b", { flunderReference: "x", fischerReference: "y" }));
    expect(rejected).toMatchObject({
      status: 422,
      body: {
        message:
          'Flunder.wardle.example.com "b" is invalid: spec.fischerReference: Invalid value: "y": cannot be set with flunderReference at the same time',
      },
    });
    sample.command.child.kill("SIGTERM");
    expect(await sample.command.exited).toEqual({ code: 0, signal: null });
    expect(sample.command.stderr).toBe("");
  }
  await using again = await startSample("--data-dir", data.path);
  expect((await get(again, `${FLUNDERS}/a`)).body.spec).toEqual({ flunderReference: "b", referenceType: "Flunder" });
});

test("the sample API server serves its resources through a main API server, and has entries in storage versions until it stops", async () => {
  const pki = inDirectory("pki");
  execFileSync(EVENKEEL, ["certs", "--out", pki], { stdio: "ignore" });
  const [port] = await freePorts(1);
  const proxyCa = ["--requestheader-client-ca-file", join(pki, "front-proxy-ca.crt")];
  await using main = await startEvenkeel({
    flags: [
      ...["--peer-ca-file", join(pki, "ca.crt"), ...proxyCa],
      ...["--proxy-client-cert-file", join(pki, "front-proxy-client.crt")],
      ...["--proxy-client-key-file", join(pki, "front-proxy-client.key")],
      ...["--service-endpoint-override", `api.wardle=127.0.0.1:${port}`],
    ],
  });
  const flags = [...proxyCa, "--kubeconfig", main.kubeconfig, "--secure-port", String(port)];
  await using sample = await startSample(...flags);
  const services = readFileSync(inDirectory("sample/apiservices.yaml"), "utf8");
  const caBundle = Buffer.from(sample.ca).toString("base64");
  for (const service of services.replaceAll("CA_BUNDLE", caBundle).split("---\n"))
    expect(await ask(main, { ...registration(service) })).toMatchObject({ status: 201 });
  for (const path of [FLUNDERS, OLD_FLUNDERS])
    await eventually(async () => expect((await get(main, path)).status).toBe(200));
  expect(await post(main, OLD_FLUNDERS, flunder("a", { reference: "b" }, "v1alpha1"))).toMatchObject({ status: 201 });
  expect((await get(main, `${FLUNDERS}/a`)).body.spec.flunderReference).toBe("b");
  const groups = (await get(main, "/apis")).body.groups.map(({ name }: Json) => name);
  expect(groups).toContain("wardle.example.com");
  expect(Object.keys((await get(main, "/openapi/v3")).body.paths)).toContain("apis/wardle.example.com/v1beta1");

  const leases = await get(main, `${LEASES}?labelSelector=${LABEL}`);
  const names = leases.body.items.map(({ metadata }: Json) => metadata.name);
  expect(names).toHaveLength(1);
  const entries = async (): Promise<Json> => (await get(main, STORAGE_VERSION)).body.status?.storageVersions ?? [];
  expect(await entries()).toMatchObject([{ apiServerID: names[0], encodingVersion: "wardle.example.com/v1beta1" }]);
  sample.command.child.kill("SIGTERM");
  expect(await sample.command.exited).toEqual({ code: 0, signal: null });
  await eventually(async () => expect(await entries()).toEqual([]));
  await eventually(async () => expect((await get(main, FLUNDERS)).status).toBe(503));
});

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const LABEL = "apiserver.kubernetes.io/identity%3Dwardle-apiserver";
const STORAGE_VERSION = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions/wardle.example.com.flunders";

function registration(yaml: string): { method: string; path: string; body: Buffer; headers: Record<string, string> } {
  const path = "/apis/apiregistration.k8s.io/v1/apiservices";
  return { method: "POST", path, body: Buffer.from(yaml), headers: { "content-type": "application/yaml" } };
}

async function eventually(expectation: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await expectation();
    } catch (thrown) {
      if (attempt === 150) throw thrown;
      await sleep(200);
    }
  }
}
