/**
 * The tests that every version of helm must pass. The test does the work of the controllers (simulated-controllers.ts).
 */
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../smoke/client.ts";
import type { Evenkeel } from "../smoke/start-evenkeel.ts";
import { TINY_CHART, WHOLE_CHART } from "./helm-charts.ts";
import { HelmSession, writeChart } from "./helm-session.ts";
import type { Tool } from "./tools.ts";

const TEST_TIMEOUT_MS = 120_000;
type Place = readonly [resource: string, groupVersion?: string];
const OBJECTS: readonly Place[] = [
  ["configmaps/whole"],
  ["serviceaccounts/whole"],
  ["services/whole"],
  ["deployments/whole", "apps/v1"],
  ["jobs/whole", "batch/v1"],
  ["horizontalpodautoscalers/whole", "autoscaling/v2"],
  ["poddisruptionbudgets/whole", "policy/v1"],
  ["ingresses/whole", "networking.k8s.io/v1"],
  ["roles/whole", "rbac.authorization.k8s.io/v1"],
  ["rolebindings/whole", "rbac.authorization.k8s.io/v1"],
];

export function forEachHelm(
  helms: readonly Tool[],
  server: () => Evenkeel,
  tests: (helm: () => HelmSession, tool: Tool) => void,
): void {
  for (const tool of helms)
    describe.skipIf(tool.path === undefined)(tool.name, { timeout: TEST_TIMEOUT_MS }, () => {
      let helm: HelmSession;
      beforeAll(() => {
        helm = new HelmSession(server(), tool);
      });
      tests(() => helm, tool);
    });
}

const isNew = ({ version }: Tool): boolean => !version.startsWith("3.");

/** Uses client-side apply with every version, because only Helm 4 uses server-side apply by default. */
export function testTinyChart(session: () => HelmSession, tool: Tool): void {
  test("installs a chart, lists it, shows its manifest and uninstalls it", async () => {
    const helm = session();
    const chart = writeChart(join(helm.server.dataDir, "tiny"), TINY_CHART);
    const clientSide = isNew(tool) ? ["--server-side=false"] : [];
    const flags = ["--create-namespace", "--set", "colour=green", ...clientSide];
    expect(await helm.run("install", "tiny", chart, ...flags)).toContain("STATUS: deployed");
    const made = await helm.get("configmaps/tiny");
    expect(made.body.data).toEqual({ colour: "green" });
    expect(made.body.metadata.labels["app.kubernetes.io/managed-by"]).toBe("Helm");
    expect((await helm.get("deployments/tiny", "apps/v1")).body.spec.replicas).toBe(2);
    const record = await helm.get("secrets/sh.helm.release.v1.tiny.v1");
    expect(record.body).toMatchObject({ type: "helm.sh/release.v1", metadata: { labels: { status: "deployed" } } });

    expect(JSON.parse(await helm.run("list", "-o", "json"))).toMatchObject([
      { name: "tiny", revision: "1", status: "deployed", chart: "tiny-0.1.0" },
    ]);
    expect(await helm.run("get", "manifest", "tiny")).toContain("  colour: green\n");
    expect(await helm.run("status", "tiny")).toContain("STATUS: deployed");
    expect(await helm.run("uninstall", "tiny")).toBe('release "tiny" uninstalled\n');
    const objects: readonly Place[] = [["configmaps/tiny"], ["deployments/tiny", "apps/v1"], ["services/tiny"]];
    for (const object of objects) expect((await helm.get(...object)).status).toBe(404);
    expect(JSON.parse(await helm.run("list", "-o", "json"))).toEqual([]);
  });
}

const chartOf = (helm: HelmSession): string => writeChart(join(helm.server.dataDir, "whole"), WHOLE_CHART);
const deployment = async (helm: HelmSession): Promise<Json> => (await helm.get("deployments/whole", "apps/v1")).body;
const history = async (helm: HelmSession): Promise<string[]> =>
  (JSON.parse(await helm.run("history", "whole", "-o", "json")) as Json[]).map(
    ({ revision, status, description }) => `${revision} ${status}: ${description}`,
  );

export function testWholeChart(session: () => HelmSession, tool: Tool): void {
  test("install creates objects of every kind of the chart, and waits for its hooks and for the workload", async () => {
    const helm = session();
    const installed = await helm.run("install", "whole", chartOf(helm), "--create-namespace", "--wait", ...TIMEOUT);
    expect(installed).toContain("STATUS: deployed");
    for (const object of OBJECTS) expect((await helm.get(...object)).status).toBe(200);
    expect((await helm.get("configmaps/whole")).body.data).toEqual({ colour: "blue", "looked-up": "default" });
    expect((await helm.get("configmaps/prepared")).status).toBe(200);
    expect((await helm.get("configmaps/upgraded")).status).toBe(404);
    expect((await helm.get("jobs/prepare", "batch/v1")).status).toBe(404);
    const operation = isNew(tool) ? "Apply" : "Update";
    expect((await deployment(helm)).metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: "helm", operation }),
    );
  });

  test("a server dry run changes nothing, and an upgrade updates, creates and deletes objects", async () => {
    const helm = session();
    const upgrade = ["upgrade", "whole", chartOf(helm), "--set", UPGRADE];
    const dry = await helm.run(...upgrade, "--dry-run=server");
    expect(dry).toContain("colour: red\n");
    expect(dry).toContain("looked-up: default\n");
    expect((await helm.get("configmaps/whole")).body.data.colour).toBe("blue");
    const { clusterIP } = (await helm.get("services/whole")).body.spec;

    expect(await helm.run(...upgrade)).toContain("REVISION: 2\n");
    await expectUpgraded(helm);
    expect((await helm.get("services/whole")).body.spec.clusterIP).toBe(clusterIP);
    expect(await history(helm)).toEqual(["1 superseded: Install complete", "2 deployed: Upgrade complete"]);
    expect(JSON.parse(await helm.run("list", "-o", "json"))).toMatchObject([{ name: "whole", revision: "2" }]);
    expect(await helm.run("get", "manifest", "whole")).toContain("  colour: red\n");
  });

  test("a failed upgrade is rolled back if requested", async () => {
    const helm = session();
    const rollback = isNew(tool) ? "--rollback-on-failure" : "--atomic";
    const flags = ["--reuse-values", "--set", "selected=other,colour=green", rollback, ...TIMEOUT];
    const said = await helm.fails("upgrade", "whole", chartOf(helm), ...flags);
    expect(said).toMatch(
      /release whole failed, and has been rolled back due to (atomic|rollback-on-failure) being set/,
    );
    expect(said).toMatch(/Deployment\.apps "whole" is invalid: .*field is immutable/);
    await expectUpgraded(helm);
    expect((await history(helm)).slice(-2)).toEqual([
      expect.stringMatching(/^3 failed: Upgrade "whole" failed: /),
      "4 deployed: Rollback to 2",
    ]);
  });

  test("rollback restores an older revision, and uninstall deletes everything except the objects to be kept", async () => {
    const helm = session();
    expect(await helm.run("rollback", "whole", "1", "--wait", ...TIMEOUT)).toContain("Rollback was a success");
    expect((await helm.get("configmaps/whole")).body.data.colour).toBe("blue");
    expect((await helm.get("configmaps/extra")).status).toBe(404);
    for (const object of OBJECTS) expect((await helm.get(...object)).status).toBe(200);
    expect(containersOf(await deployment(helm))).toEqual(["main nginx:1", "side busybox:1"]);
    const gone = await helm.run("uninstall", "whole", "--wait", ...TIMEOUT);
    expect(gone).toContain('release "whole" uninstalled\n');
    expect(gone).toContain("[Secret] whole\n");
    for (const object of OBJECTS) expect((await helm.get(...object)).status).toBe(404);
    expect((await helm.get("secrets/whole")).status).toBe(200);
    expect(JSON.parse(await helm.run("list", "-o", "json"))).toEqual([]);
  });
}

const TIMEOUT = ["--timeout=30s"];
const UPGRADE = "colour=red,image=nginx:2,replicas=3,sidecar=false,metrics=false,budget=false,extra=true";

const containersOf = ({ spec }: Json): string[] =>
  spec.template.spec.containers.map(({ name, image }: Json) => `${name} ${image}`);

async function expectUpgraded(helm: HelmSession): Promise<void> {
  expect((await helm.get("configmaps/whole")).body.data.colour).toBe("red");
  expect((await helm.get("configmaps/extra")).status).toBe(200);
  expect((await helm.get("poddisruptionbudgets/whole", "policy/v1")).status).toBe(404);
  const { body } = await helm.get("deployments/whole", "apps/v1");
  expect(containersOf(body)).toEqual(["main nginx:2"]);
  expect(body.spec.replicas).toBe(3);
  const { ports } = (await helm.get("services/whole")).body.spec;
  expect(ports.map(({ name }: Json) => name)).toEqual(["http"]);
  expect((await helm.get("configmaps/upgraded")).body.data).toEqual({ colour: "red" });
}

/** Tests for versions of helm that use server-side apply. */
export function testServerSideHelm(session: () => HelmSession): void {
  test("an upgrade conflicts with a field that another manager changed, unless it is forced", async () => {
    const helm = session();
    const chart = writeChart(join(helm.server.dataDir, "tiny"), TINY_CHART);
    await helm.run("install", "contested", chart);
    const path = `/apis/apps/v1/namespaces/${helm.namespace}/deployments/contested?fieldManager=other`;
    const scaled = { spec: { replicas: 7 } };
    await helm.server.request("PATCH", path, scaled, { "content-type": "application/merge-patch+json" });
    const upgrade = ["upgrade", "contested", chart, "--set", "replicas=4"];
    expect(await helm.fails(...upgrade)).toMatch(
      /Apply failed with 1 conflict: conflict with "other" using apps\/v1: \.spec\.replicas/,
    );
    expect(await helm.run(...upgrade, "--force-conflicts")).toContain("STATUS: deployed");
    expect((await helm.get("deployments/contested", "apps/v1")).body.spec.replicas).toBe(4);
    await helm.run("uninstall", "contested");
  });
}
