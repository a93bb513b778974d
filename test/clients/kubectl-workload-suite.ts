/** Tests of commands that change workloads and nodes: set, autoscale, expose, run, patch, cordon, drain, taint. */
import { expect, test } from "vitest";
import type { Json } from "../smoke/client.ts";
import { IN_ORDER, type KubectlSession } from "./kubectl-session.ts";
import { configMap, deployment, service } from "./manifests.ts";

const MAIN = { name: "main", image: "nginx:1" };
const SIDE = { name: "side", image: "busybox:1" };

export function testPatching(session: () => KubectlSession): void {
  test("patch supports each patch type, for objects and their subresources", IN_ORDER, async () => {
    const kubectl = session();
    const target = ["patch", "deployment", "patched"];
    const patched = "deployment.apps/patched patched\n";
    const made = deployment("patched", [MAIN, SIDE], { replicas: 1, strategy: { type: "RollingUpdate" } });
    await kubectl.server.request("POST", kubectl.path("deployments", "apps/v1"), made);
    const patch = (...commandLine: string[]): Promise<string> => kubectl.run(...target, ...commandLine);
    const strategic = {
      spec: {
        strategy: { $retainKeys: ["type"], type: "Recreate" },
        template: {
          spec: {
            containers: [
              { name: "main", env: [{ name: "A", value: "1" }] },
              { name: "side", $patch: "delete" },
            ],
          },
        },
      },
    };
    expect(await patch("-p", JSON.stringify(strategic))).toBe(patched);
    let { spec } = await kubectl.object("deployments/patched", "apps/v1");
    expect(spec.strategy).toEqual({ type: "Recreate" });
    expect(spec.template.spec.containers).toMatchObject([{ ...MAIN, env: [{ name: "A", value: "1" }] }]);
    expect(await patch("-p", JSON.stringify(strategic))).toBe("deployment.apps/patched patched (no change)\n");

    const file = kubectl.file("patch.yaml", "spec: { template: { spec: { containers: [{ name: only, image: x }] } } }");
    expect(await patch("--type=merge", "--patch-file", file)).toBe(patched);
    const images = '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"y"}]';
    expect(await patch("--type=json", "-p", images, "-o", "name")).toBe("deployment.apps/patched\n");
    ({ spec } = await kubectl.object("deployments/patched", "apps/v1"));
    expect(spec.template.spec.containers.map(({ name, image }: Json) => `${name} ${image}`)).toEqual(["only y"]);

    const status = JSON.stringify({ status: { replicas: 1, readyReplicas: 1 }, spec: { replicas: 7 } });
    expect(await patch("--subresource=status", "-p", status)).toBe(patched);
    const now = await kubectl.object("deployments/patched", "apps/v1");
    expect({ status: now.status, replicas: now.spec.replicas }).toEqual({
      status: { replicas: 1, readyReplicas: 1 },
      replicas: 1,
    });
    const scale = ["--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":3}}'];
    expect(await patch(...scale)).toMatch(/^(scale\.autoscaling|deployment\.apps)\/patched patched\n$/);
    expect((await kubectl.object("deployments/patched", "apps/v1")).spec.replicas).toBe(3);
    expect(await kubectl.fails(...target, "-p", '{"spec":{"replicas":-1}}')).toBe(
      'The Deployment "patched" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0\n',
    );
  });
}

export function testSetting(session: () => KubectlSession): void {
  test("set changes images, environments, resources, service accounts, selectors and subjects", IN_ORDER, async () => {
    const kubectl = session();
    await kubectl.server.request("POST", kubectl.path("deployments", "apps/v1"), deployment("set", [MAIN, SIDE]));
    const set = (what: string, ...flags: string[]): Promise<string> => kubectl.run("set", what, ...flags);
    expect(await set("image", "deployment/set", "main=nginx:2", "side=busybox:2")).toBe(
      "deployment.apps/set image updated\n",
    );
    expect(await set("env", "deployment/set", "A=1", "B=2", "--containers=main")).toBe(
      "deployment.apps/set env updated\n",
    );
    expect(await set("env", "deployment/set", "A-", "--containers=main")).toBe("deployment.apps/set env updated\n");
    const limits = ["--limits=cpu=200m,memory=64Mi", "--requests=cpu=100m", "--containers=main"];
    expect(await set("resources", "deployment/set", ...limits)).toBe(
      "deployment.apps/set resource requirements updated\n",
    );
    expect(await set("serviceaccount", "deployment/set", "robot")).toBe("deployment.apps/set serviceaccount updated\n");
    const { spec } = (await kubectl.object("deployments/set", "apps/v1")).spec.template;
    expect(spec).toMatchObject({
      serviceAccountName: "robot",
      containers: [
        {
          image: "nginx:2",
          env: [{ name: "B", value: "2" }],
          resources: { limits: { cpu: "200m", memory: "64Mi" }, requests: { cpu: "100m" } },
        },
        { image: "busybox:2" },
      ],
    });
    expect(spec.containers[1].env).toBeUndefined();
    expect(await set("env", "deployment/set", "--list", "--containers=main")).toMatch(
      /^# Deployment set, container main\nB=2\n$/,
    );

    const binding = ["rolebinding", "set", "--role=reader", "--user=me"];
    await kubectl.run("create", ...binding);
    expect(await set("subject", "rolebinding/set", "--group=us")).toBe(
      "rolebinding.rbac.authorization.k8s.io/set subjects updated\n",
    );
    const { subjects } = await kubectl.object("rolebindings/set", "rbac.authorization.k8s.io/v1");
    expect(subjects).toMatchObject([
      { kind: "User", name: "me" },
      { kind: "Group", name: "us" },
    ]);
    await kubectl.server.request("POST", kubectl.path("services"), service("set", [{ port: 80 }]));
    expect(await set("selector", "service/set", "tier=front")).toBe("service/set selector updated\n");
    expect((await kubectl.object("services/set")).spec.selector).toEqual({ tier: "front" });
  });

  test("autoscale creates an autoscaler for a workload", IN_ORDER, async () => {
    const kubectl = session();
    await kubectl.server.request("POST", kubectl.path("deployments", "apps/v1"), deployment("scaled-by", [MAIN]));
    expect(await kubectl.run("autoscale", "deployment/scaled-by", "--min=2", "--max=5", "--name=scaler")).toBe(
      "horizontalpodautoscaler.autoscaling/scaler autoscaled\n",
    );
    expect((await kubectl.object("horizontalpodautoscalers/scaler", "autoscaling/v2")).spec).toMatchObject({
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "scaled-by" },
      minReplicas: 2,
      maxReplicas: 5,
    });
  });
}

export function testExposing(session: () => KubectlSession): void {
  test(
    "run, expose and create make objects as their flags say, and the server sets the defaults",
    IN_ORDER,
    async () => {
      const kubectl = session();
      const flags = ["--image=nginx:1", "--port=80", "--expose", "--env=A=1", "--labels=app=exposed"];
      expect(await kubectl.run("run", "exposed", ...flags)).toBe("service/exposed created\npod/exposed created\n");
      expect((await kubectl.object("services/exposed")).spec).toMatchObject({
        selector: { app: "exposed" },
        ports: [{ port: 80, targetPort: 80, protocol: "TCP" }],
        type: "ClusterIP",
        sessionAffinity: "None",
      });
      expect((await kubectl.object("pods/exposed")).spec).toMatchObject({
        containers: [{ name: "exposed", env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }] }],
        restartPolicy: "Always",
        dnsPolicy: "ClusterFirst",
        terminationGracePeriodSeconds: 30,
      });
      const expose = [
        "expose",
        "pod",
        "exposed",
        "--name=outside",
        "--type=NodePort",
        "--port=8080",
        "--target-port=80",
      ];
      expect(await kubectl.run(...expose)).toBe("service/outside exposed\n");
      const { ports } = (await kubectl.object("services/outside")).spec;
      expect(ports).toMatchObject([{ port: 8080, targetPort: 80, nodePort: expect.any(Number) }]);

      const file = kubectl.file("forced.json", configMap("forced", { a: "1" }));
      await kubectl.run("create", "-f", file);
      const { uid } = (await kubectl.object("configmaps/forced")).metadata;
      expect(await kubectl.run("replace", "--force", "-f", file)).toMatch(
        /^configmap "forced" deleted.*\nconfigmap\/forced replaced\n$/,
      );
      expect((await kubectl.object("configmaps/forced")).metadata.uid).not.toBe(uid);
    },
  );
}

export function testNodes(session: () => KubectlSession): void {
  test("cordon, taint, drain and uncordon change a node, and drain evicts its pods", IN_ORDER, async () => {
    const kubectl = session();
    const name = `node-of-${kubectl.namespace}`;
    const node = async (): Promise<Json> => (await kubectl.server.request("GET", `/api/v1/nodes/${name}`)).body.spec;
    await kubectl.server.request("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
    expect(await kubectl.run("cordon", name)).toBe(`node/${name} cordoned\n`);
    expect(await kubectl.run("cordon", name)).toBe(`node/${name} already cordoned\n`);
    expect((await node()).unschedulable).toBe(true);
    expect(await kubectl.run("taint", "node", name, "a=1:NoSchedule", "b:NoExecute")).toBe(`node/${name} tainted\n`);
    expect(await kubectl.fails("taint", "node", name, "a=2:NoSchedule")).toMatch(/--overwrite is false/);
    expect(await kubectl.run("taint", "node", name, "a=2:NoSchedule", "--overwrite")).toBe(`node/${name} modified\n`);
    expect(await kubectl.run("taint", "node", name, "b-")).toBe(`node/${name} untainted\n`);
    expect((await node()).taints).toContainEqual({ key: "a", value: "2", effect: "NoSchedule" });

    const pod = { nodeName: name, tolerations: [{ operator: "Exists" }], containers: [MAIN] };
    const bound = { apiVersion: "v1", kind: "Pod", metadata: { name: "bound" }, spec: pod };
    expect((await kubectl.server.request("POST", kubectl.path("pods"), bound)).status).toBe(201);
    await using rejected = kubectl.start("drain", name);
    expect((await rejected.exited).code).toBe(1);
    expect(rejected.stderr).toMatch(
      /cannot delete Pods (that )?declare no controller \(use --force to override\): .*\/bound/,
    );
    const drained = await kubectl.both("drain", name, "--force", "--grace-period=0", "--timeout=30s");
    expect(drained.stderr).toMatch(/^Warning: deleting Pods that declare no controller: .*\/bound\n$/);
    expect(drained.stdout).toMatch(
      new RegExp(
        `^node/${name} already cordoned\\nevicting pod ${kubectl.namespace}/bound\\npod/bound evicted\\nnode/${name} drained\\n$`,
      ),
    );
    expect(await kubectl.run("uncordon", name)).toBe(`node/${name} uncordoned\n`);
    expect((await node()).unschedulable).toBeUndefined();
    await kubectl.server.request("DELETE", `/api/v1/nodes/${name}`);
  });
}
