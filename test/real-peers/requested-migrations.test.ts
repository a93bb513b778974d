/**
 * StorageVersionMigrations with a real kube-controller-manager, which KUBE_CONTROLLER_MANAGER names: it carries out
 * migrations through Evenkeel with the permissions of its default role, alone and while Evenkeel does the same.
 */
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { Json } from "../smoke/client.ts";
import { runProgram, startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { minorOf } from "./real-binaries.ts";
import { CONTROLLER_MANAGER, whyNoControllerManager } from "./real-controller-manager.ts";

const GATE = "StorageVersionMigrator=true";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION = `${DEFINITIONS}/shapes.example.com`;
const SHAPES = "/apis/example.com/v1/shapes";
const COUNT = 20;
/** Before this release, the controller is off by default, and uses the version before v1. */
const GA_MINOR = 37;
const DEADLINE_MS = 180_000;
const POLL_MS = 500;

const why = whyNoControllerManager();
const printed = why === undefined ? execFileSync(CONTROLLER_MANAGER, ["--version"], { encoding: "utf8" }) : "";
const release = /v(1\.\d+)\./.exec(printed)?.[1] ?? "1.36";
const isStable = minorOf(release) >= GA_MINOR;
const version = isStable ? "v1" : "v1beta1";
const MIGRATIONS = `/apis/storagemigration.k8s.io/${version}/storageversionmigrations`;

async function make({ request }: Evenkeel, path: string, body: object): Promise<void> {
  const { status, text } = await request("POST", path, body);
  expect([status, text]).toEqual([201, expect.anything()]);
}

function versions(storage: string): Json[] {
  const schema = { openAPIV3Schema: { type: "object" } };
  return ["v1", "v2"].map((name) => ({ name, served: true, storage: name === storage, schema }));
}

function shape(name: string): Json {
  return { apiVersion: "example.com/v1", kind: "Shape", metadata: { name } };
}

/** Custom resources that are stored in v1 while their CRD stores v2. */
async function makeOutdated(server: Evenkeel): Promise<void> {
  const names = { plural: "shapes", kind: "Shape" };
  const spec = { group: "example.com", scope: "Cluster", names, versions: versions("v1") };
  const apiVersion = "apiextensions.k8s.io/v1";
  const metadata = { name: "shapes.example.com" };
  await make(server, DEFINITIONS, { apiVersion, kind: "CustomResourceDefinition", metadata, spec });
  await until(async () => (await server.request("GET", SHAPES)).status === 200);
  for (let index = 0; index < COUNT; index++) await make(server, SHAPES, shape(`s${index}`));
  const { body } = await server.request("GET", DEFINITION);
  const changed = { ...body, spec: { ...body.spec, versions: versions("v2") } };
  expect((await server.request("PUT", DEFINITION, changed)).status).toBe(200);
}

async function revisions({ request }: Evenkeel): Promise<string[]> {
  const { items } = (await request("GET", SHAPES)).body;
  return items.map(({ metadata }: Json) => metadata.resourceVersion);
}

async function until<T>(read: () => Promise<T | undefined | false>): Promise<T> {
  const end = Date.now() + DEADLINE_MS;
  while (Date.now() < end) {
    const value = await read();
    if (value !== undefined && value !== false) return value;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`it did not happen within ${DEADLINE_MS} ms: ${read.toString()}`);
}

function startManager({ kubeconfig }: Evenkeel): ReturnType<typeof runProgram> {
  return runProgram(CONTROLLER_MANAGER, [
    ...["--kubeconfig", kubeconfig, "--secure-port=0", "--use-service-account-credentials"],
    ...(isStable ? [] : [`--feature-gates=${GATE}`]),
  ]);
}

describe.skipIf(why !== undefined).each([
  ["alone", "*,-storage-version-migrator,-storage-version-migrator-controller"],
  ["beside Evenkeel's controller", "*,-storage-version-migrator"],
])("kube-controller-manager %s", { timeout: 2 * DEADLINE_MS }, (_with, controllers) => {
  test("carries out a migration of custom resources, after which their CRD stores only the new version", async () => {
    const alpha = [`--feature-gates=${GATE}`, `--runtime-config=storagemigration.k8s.io/${version}=true`];
    await using server = await startEvenkeel({
      flags: ["--release", release, `--controllers=${controllers}`, ...(isStable ? [] : alpha)],
    });
    await makeOutdated(server);
    const before = await revisions(server);
    await using manager = startManager(server);
    const metadata = { name: "shapes" };
    const spec = { resource: { group: "example.com", resource: "shapes" } };
    const apiVersion = `storagemigration.k8s.io/${version}`;
    await make(server, MIGRATIONS, { apiVersion, kind: "StorageVersionMigration", metadata, spec });
    const ended = await until(async () => {
      // The controller waits until its cache is as new as its checkpoint, which a quiet cluster does not make it.
      await server.request("POST", SHAPES, shape("more"));
      await server.request("DELETE", `${SHAPES}/more`);
      const { conditions = [] } = (await server.request("GET", `${MIGRATIONS}/shapes`)).body.status;
      const isRunning = conditions.some(({ type, status }: Json) => type === "Running" && status === "True");
      return conditions.length > 1 && !isRunning && conditions;
    }).catch((thrown: unknown) => {
      throw new Error(`${String(thrown)}: ${manager.stderr.slice(-4_000)}`);
    });
    expect(ended).toMatchObject([
      { type: "Running", status: "False", reason: "MigrationCompleted", message: "Migration completed" },
      { type: "Succeeded", status: "True", reason: "StorageVersionMigrationSucceeded" },
    ]);
    const storedVersions = await until(async () => {
      const { status } = (await server.request("GET", DEFINITION)).body;
      return status.storedVersions.length === 1 && status.storedVersions;
    });
    expect(storedVersions).toEqual(["v2"]);
    const after = await revisions(server);
    expect(after.filter((revision) => before.includes(revision))).toEqual([]);
    expect(after.length).toBeGreaterThanOrEqual(COUNT);
  });
});
