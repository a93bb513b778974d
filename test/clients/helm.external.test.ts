import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runProgram, startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { findTools } from "./tools.ts";

const CHART = {
  "Chart.yaml": "apiVersion: v2\nname: tiny\nversion: 0.1.0\nappVersion: '1'\n",
  "values.yaml": "colour: blue\nreplicas: 2\n",
  "templates/all.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  colour: {{ .Values.colour }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: { app: {{ .Release.Name }} }
  template:
    metadata:
      labels: { app: {{ .Release.Name }} }
    spec:
      containers: [{ name: main, image: "nginx:1" }]
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector: { app: {{ .Release.Name }} }
  ports: [{ port: 80 }]
`,
};

const { helms, missing } = findTools();
if (missing !== undefined) console.warn(missing);

let server: Evenkeel;
let chart: string;
beforeAll(async () => {
  server = await startEvenkeel();
  chart = join(server.dataDir, "tiny");
  mkdirSync(join(chart, "templates"), { recursive: true });
  for (const [name, text] of Object.entries(CHART)) writeFileSync(join(chart, name), text);
});
afterAll(() => server[Symbol.asyncDispose]());

describe.each(helms)("$name", { timeout: 20_000 }, ({ version, path }) => {
  const release = `tiny-${version.replace(".", "-")}`;

  async function helm(...commandLine: string[]): Promise<string> {
    await using command = runProgram(path!, commandLine, {
      PATH: process.env["PATH"],
      HOME: join(server.dataDir, `home-of-${release}`),
      KUBECONFIG: server.kubeconfig,
    });
    const { code } = await command.exited;
    // Helm 4 logs what it waits for.
    const stderr = command.stderr.replaceAll(/^level=(INFO|DEBUG) .*\n/gm, "");
    expect({ said: commandLine.join(" "), code, stderr }).toEqual({ said: commandLine.join(" "), code: 0, stderr: "" });
    return command.stdout;
  }

  test.skipIf(path === undefined)("installs a chart, lists it, shows its manifest and uninstalls it", async () => {
    // From version 4 on helm applies on the server unless told not to.
    const clientSide = version.startsWith("3.") ? [] : ["--server-side=false"];
    const installed = await helm("install", release, chart, "--set", "colour=green", ...clientSide);
    expect(installed).toContain("STATUS: deployed");
    const namespace = "/api/v1/namespaces/default";
    const objects = [
      `${namespace}/configmaps/${release}`,
      `/apis/apps/v1/namespaces/default/deployments/${release}`,
      `${namespace}/services/${release}`,
    ];
    const [made, deployment] = await Promise.all(objects.map((object) => server.request("GET", object)));
    expect(made!.body.data).toEqual({ colour: "green" });
    expect(made!.body.metadata.labels["app.kubernetes.io/managed-by"]).toBe("Helm");
    expect(deployment!.body.spec.replicas).toBe(2);
    const record = await server.request("GET", `${namespace}/secrets/sh.helm.release.v1.${release}.v1`);
    expect(record.body).toMatchObject({ type: "helm.sh/release.v1", metadata: { labels: { status: "deployed" } } });

    expect(JSON.parse(await helm("list", "-o", "json"))).toMatchObject([
      { name: release, revision: "1", status: "deployed", chart: "tiny-0.1.0" },
    ]);
    expect(await helm("get", "manifest", release)).toContain("  colour: green\n");
    expect(await helm("status", release)).toContain("STATUS: deployed");
    expect(await helm("uninstall", release)).toBe(`release "${release}" uninstalled\n`);
    for (const object of objects) expect((await server.request("GET", object)).status).toBe(404);
    expect(JSON.parse(await helm("list", "-o", "json"))).toEqual([]);
  });
});
