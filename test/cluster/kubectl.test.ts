/** Tests of kubectl of several releases through a server that does not serve the requested resource. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { findTools, versionsToRun } from "../clients/tools.ts";
import { KubectlSession } from "../clients/kubectl-session.ts";
import { Watch, type Json } from "../smoke/client.ts";
import { EXCLUSIVE, untilStatus } from "./settle.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

/** Releases of kubectl: much older than both servers, equal to the older server, and equal to the newer server. */
const SUBSET = versionsToRun(["1.28", "1.36"], ["1.33"]);
const TEST_TIMEOUT_MS = 60_000;
/** Longer than the minute between two bookmarks. */
const IDLE_TIMEOUT_MS = 110_000;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);
const { kubectls, missing } = findTools();
if (missing !== undefined) console.warn(missing);
const chosen = kubectls.filter(({ version, path }) => SUBSET.has(version) && path !== "kubectl");

interface Subject {
  readonly resource: string;
  readonly manifest: Json;
  /** The name of the created object as `kubectl get -o name` prints it. */
  readonly printed: string;
  /** A field that `kubectl explain` must find. */
  readonly field: string;
}

function deviceClass(name: string): Subject {
  return {
    resource: "deviceclasses.v1.resource.k8s.io",
    manifest: { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name }, spec: {} },
    printed: `deviceclass.resource.k8s.io/${name}`,
    field: "selectors",
  };
}

function resourceClaim(name: string): Subject {
  const requests = [{ name: "one", exactly: { deviceClassName: "any" } }];
  return {
    resource: "resourceclaims.v1.resource.k8s.io",
    manifest: {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name },
      spec: { devices: { requests } },
    },
    printed: `resourceclaim.resource.k8s.io/${name}`,
    field: "devices",
  };
}

function job(name: string): Subject {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox:1" }] } };
  return {
    resource: "jobs.v1.batch",
    manifest: { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec: { template } },
    printed: `job.batch/${name}`,
    field: "parallelism",
  };
}

describe.skipIf(isMissing)("through a server that does not serve the resource,", { timeout: TEST_TIMEOUT_MS }, () => {
  let cluster: Cluster;
  let old: Member;
  let lacking: Member;
  let idle: Watch;
  beforeAll(async () => {
    cluster = await openCluster();
    [old, lacking] = await Promise.all([
      cluster.start({ id: "a", release: "1.33", prefix: "old" }),
      cluster.start({ id: "a", release: "1.36", prefix: "lacking", flags: ["--runtime-config", "batch/v1=false"] }),
      cluster.start({ id: "b", release: "1.36", prefix: "old" }),
      cluster.start({ id: "b", release: "1.36", prefix: "lacking" }),
    ]);
    await Promise.all([untilStatus(old, EXCLUSIVE, 200), untilStatus(lacking, "/apis/batch/v1/jobs", 200)]);
    // The watch starts at a resourceVersion, because a watch without one would get a bookmark at once.
    const { resourceVersion } = (await old.request("GET", EXCLUSIVE)).body.metadata;
    const only = "fieldSelector=metadata.name%3Dawaited";
    idle = new Watch(
      old,
      `${EXCLUSIVE}?watch=true&allowWatchBookmarks=true&resourceVersion=${resourceVersion}&${only}`,
    );
    await idle.opened;
  });
  afterAll(async () => {
    idle?.close();
    await cluster?.[Symbol.asyncDispose]();
  });

  for (const { name, path, version } of chosen) {
    describe.skipIf(path === undefined).concurrent(name, () => {
      const id = `k${version.replace(".", "")}`;
      test("lists, creates, watches, explains and deletes a resource that only 1.36 serves, on a server of 1.33", async () => {
        const kubectl = new KubectlSession({ path: path!, server: old, namespace: id });
        await kubectl.run("create", "namespace", id);
        for (const subject of [deviceClass(id), resourceClaim(id)]) await useAll(kubectl, subject);
        const listed = await kubectl.run("api-resources", "--api-group=resource.k8s.io", "-o", "name");
        expect(listed.split("\n").sort()).toEqual([
          "",
          "deviceclasses.resource.k8s.io",
          "resourceclaims.resource.k8s.io",
          "resourceclaimtemplates.resource.k8s.io",
          "resourceslices.resource.k8s.io",
        ]);
        const served = await reroutedCodes(old, "deviceclasses");
        expect(served).toEqual(expect.arrayContaining(["200", "201"]));
      });

      test("on a server of 1.33 reads the schemas of a resource that only 1.36 serves from OpenAPI v2 and v3, and validates objects with them", async () => {
        const kubectl = new KubectlSession({ path: path!, server: old, namespace: `${id}-schemas` });
        await kubectl.run("create", "namespace", kubectl.namespace);
        const explain = ["explain", "resourceclaim.spec", "--api-version=resource.k8s.io/v1"];
        expect(await kubectl.run(...explain)).toMatch(/^VERSION: +v1$/m);
        expect(await kubectl.run(...explain, "--output=plaintext-openapiv2")).toMatch(/^ {3}devices\t<Object>$/m);
        const { manifest } = resourceClaim(id);
        const wrong = kubectl.file("wrong.json", { ...manifest, spec: { ...manifest.spec, devicez: {} } });
        expect(await kubectl.fails("create", "--validate=strict", "-f", wrong)).toContain(
          'unknown field "spec.devicez"',
        );
        const right = kubectl.file("right.json", manifest);
        expect(await kubectl.run("create", "--validate=strict", "-f", right)).toBe(
          `resourceclaim.resource.k8s.io/${id} created\n`,
        );
      });

      test("lists, creates, watches, explains and deletes jobs on a server without batch/v1", async () => {
        const kubectl = new KubectlSession({ path: path!, server: lacking, namespace: id });
        await kubectl.run("create", "namespace", id);
        await useAll(kubectl, job(id));
        expect(await reroutedCodes(lacking, "jobs")).toEqual(expect.arrayContaining(["200", "201"]));
      });
    });
  }

  test(
    "a proxied watch stays open for a minute without events, and receives its bookmark and then its event",
    { timeout: IDLE_TIMEOUT_MS },
    async () => {
      expect(await idle.opened).toBe(200);
      await idle.until((events) => events.some(({ type }) => type === "BOOKMARK"));
      expect(idle.events.map(({ type }) => type)).toEqual(["BOOKMARK"]);
      expect((await old.request("POST", EXCLUSIVE, deviceClass("awaited").manifest)).status).toBe(201);
      await idle.until((events) => events.some(({ type, name }) => type === "ADDED" && name === "awaited"));
    },
  );
});

async function useAll(kubectl: KubectlSession, { resource, manifest, printed, field }: Subject): Promise<void> {
  const file = kubectl.file(`${manifest.kind}.json`, manifest);
  await using watch = kubectl.start("get", resource, "--watch", "-o", "name");
  expect(await kubectl.run("create", "-f", file)).toBe(`${printed} created\n`);
  await watch.printed(new RegExp(`^${printed}$`, "m"));
  watch.child.kill("SIGTERM");
  expect(await kubectl.run("get", resource, "-o", "name")).toContain(`${printed}\n`);
  expect(await kubectl.json("get", resource, manifest.metadata.name)).toMatchObject({ kind: manifest.kind });
  const plural = resource.split(".")[0]!;
  const { apiVersion } = manifest;
  expect(await kubectl.run("explain", `${plural}.spec`, `--api-version=${apiVersion}`)).toMatch(
    new RegExp(`^  ${field}\t<`, "m"),
  );
  // The standard error is ignored, because kubectl prints a note there for cluster-scoped resources.
  await using deleted = kubectl.start("delete", "-f", file, "--wait=false");
  expect({ ...(await deleted.exited), stdout: deleted.stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(new RegExp(`^${printed.replace("/", ' "')}" deleted( from \\S+ namespace)?\n$`)),
  });
}

/** The status codes of proxied requests for the resource, from the metrics of the server. */
async function reroutedCodes(member: Member, resource: string): Promise<string[]> {
  const { text } = await member.request("GET", "/metrics");
  const line = new RegExp(`^apiserver_rerouted_request_total\\{code="(\\d+)",.*resource="${resource}"\\} [1-9]`);
  return text.split("\n").flatMap((one) => line.exec(one)?.[1] ?? []);
}
