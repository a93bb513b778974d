import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findKubectl } from "./find-kubectl.ts";
import { runProgram, startEvenkeel, type Command, type Evenkeel } from "./start-evenkeel.ts";

const found = findKubectl();
const kubectlPath = "path" in found ? found.path : "";
if ("missing" in found) console.warn(found.missing);

const MANIFESTS = {
  "config-map.json": JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings" },
    data: { colour: "blue" },
  }),
  "workloads.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: alone, labels: {app: alone}}
spec: {containers: [{name: main, image: "nginx:1"}]}
`,
};

describe.skipIf(kubectlPath === "").each(["1.36", "1.28"])(
  "kubectl with the kubeconfig that a server of release %s wrote",
  { timeout: 30_000 },
  (release) => {
    let server: Evenkeel;
    beforeAll(async () => {
      server = await startEvenkeel({ flags: ["--release", release] });
      for (const [name, text] of Object.entries(MANIFESTS)) writeFileSync(join(server.dataDir, name), text);
    });
    afterAll(() => server[Symbol.asyncDispose]());

    function start(...commandLine: string[]): Command {
      // A home of its own: kubectl keeps what it has discovered there.
      const home = join(server.dataDir, "home");
      mkdirSync(home, { recursive: true });
      return runProgram(kubectlPath, commandLine, {
        PATH: process.env["PATH"],
        HOME: home,
        KUBECONFIG: server.kubeconfig,
      });
    }

    async function kubectl(...commandLine: string[]): Promise<string> {
      await using command = start(...commandLine);
      const { code } = await command.exited;
      expect({ code, stderr: command.stderr.replace(/^WARNING: version difference.*\n/m, "") }).toEqual({
        code: 0,
        stderr: "",
      });
      return command.stdout;
    }

    test("reads: get, get -o yaml, get --raw, api-resources, api-versions, version", async () => {
      expect(await kubectl("get", "ns", "-o", "name")).toBe(
        "namespace/default\nnamespace/kube-node-lease\nnamespace/kube-public\nnamespace/kube-system\n",
      );
      expect(await kubectl("get", "ns", "default")).toMatch(/^NAME .*\ndefault .*\n$/);
      expect(await kubectl("get", "namespace", "default", "-o", "yaml")).toMatch(
        /^apiVersion: v1\nkind: Namespace\n[^]*phase: Active/,
      );
      expect(await kubectl("get", "--raw", "/readyz")).toBe("ok");
      expect(await kubectl("get", "--raw", "/api/v1/namespaces/default")).toContain('"kind":"Namespace"');
      expect(await kubectl("api-resources", "--api-group=apps", "--no-headers")).toMatch(
        /^controllerrevisions .*\ndaemonsets +ds .*\ndeployments +deploy /,
      );
      expect((await kubectl("api-versions")).split("\n")).toContain("apps/v1");
      expect(await kubectl("version")).toContain(`Server Version: v${release}.`);
    });

    test("writes: create -f of JSON and YAML, get, label, annotate, delete", async () => {
      const file = (name: string): string => join(server.dataDir, name);
      expect(await kubectl("create", "--validate=false", "-f", file("config-map.json"))).toBe(
        "configmap/settings created\n",
      );
      expect(await kubectl("create", "--validate=false", "-f", file("workloads.yaml"))).toBe(
        "deployment.apps/web created\npod/alone created\n",
      );
      expect(await kubectl("get", "pods,deployments", "-o", "name")).toBe("pod/alone\ndeployment.apps/web\n");
      expect(await kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}")).toBe("blue");
      expect(await kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}")).toBe("2");
      expect(await kubectl("label", "configmap", "settings", "tier=front")).toBe("configmap/settings labeled\n");
      expect(await kubectl("annotate", "configmap", "settings", "note=seen")).toBe("configmap/settings annotated\n");
      expect(await kubectl("get", "configmaps", "-l", "tier=front", "-o", "name")).toBe("configmap/settings\n");
      expect(await kubectl("label", "configmap", "settings", "tier-")).toBe("configmap/settings unlabeled\n");
      expect(await kubectl("get", "configmaps", "-l", "tier=front", "-o", "name")).toBe("");
      expect(await kubectl("delete", "-f", file("workloads.yaml"))).toMatch(
        /^deployment.apps "web" deleted.*\npod "alone" deleted.*\n$/,
      );
      expect(await kubectl("delete", "configmap", "settings", "--wait=true")).toMatch(/^configmap "settings" deleted/);
      expect(await kubectl("get", "pods,deployments,configmaps", "-o", "name")).toBe("");
    });

    test("an error is the server's own sentence", async () => {
      await using command = start("get", "configmap", "absent");
      expect((await command.exited).code).toBe(1);
      expect(command.stderr).toBe('Error from server (NotFound): configmaps "absent" not found\n');
    });

    test("get -w prints the events of an object that is created and deleted meanwhile", async () => {
      const secrets = "/api/v1/namespaces/default/secrets";
      const secret = (name: string): object => ({ apiVersion: "v1", kind: "Secret", metadata: { name } });
      await server.request("POST", secrets, secret("before"));
      await using watching = start("get", "secrets", "-w", "--output-watch-events", "--no-headers");
      await watching.printed(/^ADDED +before /m);
      await server.request("POST", secrets, secret("meanwhile"));
      await watching.printed(/^ADDED +meanwhile /m);
      await server.request("DELETE", `${secrets}/meanwhile`);
      await watching.printed(/^DELETED +meanwhile /m);
    });
  },
);
