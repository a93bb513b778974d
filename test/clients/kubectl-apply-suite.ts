/** Tests of client-side apply: three-way merges with the last applied configuration, pruning, kustomizations. */
import { expect, test } from "vitest";
import type { Json } from "../smoke/client.ts";
import { IN_ORDER, type KubectlSession } from "./kubectl-session.ts";
import { configMap, deployment, list, service } from "./manifests.ts";

const JSON_PATCH = { "content-type": "application/json-patch+json" };
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

const MERGED_BEFORE = list(
  deployment("merged", [
    {
      name: "main",
      image: "nginx:1",
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "2" },
      ],
      ports: [{ containerPort: 80 }],
    },
    { name: "side", image: "busybox:1" },
  ]),
  service("merged", [
    { name: "http", port: 80 },
    { name: "metrics", port: 9090 },
  ]),
);
const MERGED_BY_OTHERS = [
  { op: "add", path: "/spec/template/spec/containers/-", value: { name: "injected", image: "proxy:1" } },
  { op: "add", path: "/spec/template/spec/containers/0/env/-", value: { name: "INJECTED", value: "yes" } },
  { op: "add", path: "/spec/replicas", value: 4 },
];
const MERGED_AFTER = list(
  deployment("merged", [
    {
      name: "main",
      image: "nginx:2",
      env: [
        { name: "A", value: "1" },
        { name: "C", value: "3" },
      ],
      ports: [{ containerPort: 80 }],
    },
    { name: "extra", image: "busybox:2" },
  ]),
  service("merged", [
    { name: "http", port: 80, targetPort: 8080 },
    { name: "https", port: 443 },
  ]),
);

export function testThreeWayMerge(session: () => KubectlSession): void {
  const name =
    "apply merges lists by their keys, removes fields that it no longer applies, and keeps fields that other clients set";
  test(name, IN_ORDER, async () => {
    const kubectl = session();
    const file = kubectl.file("merged.json", MERGED_BEFORE);
    const apply = ["apply", "-f", file];
    expect(await kubectl.run(...apply)).toBe("deployment.apps/merged created\nservice/merged created\n");
    const path = kubectl.path("deployments/merged", "apps/v1");
    const { status } = await kubectl.server.request("PATCH", path, MERGED_BY_OTHERS, JSON_PATCH);
    expect(status).toBe(200);
    kubectl.file("merged.json", MERGED_AFTER);
    expect(await kubectl.run(...apply)).toBe("deployment.apps/merged configured\nservice/merged configured\n");
    await expectMerged(kubectl);

    const version = async (): Promise<string> =>
      (await kubectl.object("deployments/merged", "apps/v1")).metadata.resourceVersion;
    const before = await version();
    // kubectl patches the order of the list to its own; the server treats the result as no change.
    expect(await kubectl.run(...apply)).toBe("deployment.apps/merged configured\nservice/merged unchanged\n");
    expect(await version()).toBe(before);
    const last = await kubectl.run("apply", "view-last-applied", "deployment/merged", "-o", "json");
    expect(JSON.parse(last)).toMatchObject({ spec: { template: { spec: { containers: [{}, { name: "extra" }] } } } });
  });
}

async function expectMerged(kubectl: KubectlSession): Promise<void> {
  const { spec } = await kubectl.object("deployments/merged", "apps/v1");
  expect(spec.replicas).toBe(4);
  const { containers } = spec.template.spec;
  expect(containers.map(({ name, image }: Json) => `${name} ${image}`)).toEqual([
    "main nginx:2",
    "injected proxy:1",
    "extra busybox:2",
  ]);
  expect(containers[0].env).toEqual([
    { name: "A", value: "1" },
    { name: "INJECTED", value: "yes" },
    { name: "C", value: "3" },
  ]);
  expect(containers[0].ports).toEqual([{ containerPort: 80, protocol: "TCP" }]);
  const { ports } = (await kubectl.object("services/merged")).spec;
  expect(ports).toEqual([
    { name: "http", port: 80, protocol: "TCP", targetPort: 8080 },
    { name: "https", port: 443, protocol: "TCP", targetPort: 443 },
  ]);
}

export function testApplyOfOthers(session: () => KubectlSession): void {
  test("apply adopts an object that was not created by apply, with a warning", IN_ORDER, async () => {
    const kubectl = session();
    const path = kubectl.path("configmaps");
    await kubectl.server.request("POST", path, configMap("adopted", { kept: "yes", changed: "no" }));
    const file = kubectl.file("adopted.json", configMap("adopted", { changed: "yes" }));
    expect(await kubectl.both("apply", "-f", file)).toEqual({
      stdout: "configmap/adopted configured\n",
      stderr: expect.stringMatching(
        /^Warning: resource configmaps\/adopted is missing the kubectl\.kubernetes\.io\/last-applied-configuration annotation which is required by (kubectl apply|apply)\. .*\n$/,
      ),
    });
    expect((await kubectl.object("configmaps/adopted")).data).toEqual({ kept: "yes", changed: "yes" });
  });

  test(
    "apply of a change to an immutable field fails with the server's message, and --force recreates the object",
    IN_ORDER,
    async () => {
      const kubectl = session();
      const made = (app: string): object => {
        const labels = { app };
        const containers = [{ name: "main", image: "nginx:1" }];
        return deployment("reselected", containers, {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers } },
        });
      };
      const file = kubectl.file("reselected.json", made("old"));
      await kubectl.run("apply", "-f", file);
      const { uid } = (await kubectl.object("deployments/reselected", "apps/v1")).metadata;
      kubectl.file("reselected.json", made("new"));
      expect(await kubectl.fails("apply", "-f", file)).toMatch(
        /^The Deployment "reselected" is invalid: (.*\n)*.*spec\.selector: Invalid value: .*: field is immutable\n$/,
      );
      const forced = await kubectl.run("apply", "-f", file, "--force", "--grace-period=0");
      expect(forced).toBe("deployment.apps/reselected configured\n");
      const now = await kubectl.object("deployments/reselected", "apps/v1");
      expect(now.metadata.uid).not.toBe(uid);
      expect(now.spec.selector).toEqual({ matchLabels: { app: "new" } });
    },
  );

  test("the last applied configuration can be set and edited", IN_ORDER, async () => {
    const kubectl = session();
    const path = kubectl.path("configmaps");
    await kubectl.server.request("POST", path, configMap("remembered", { a: "1", b: "2" }));
    const file = kubectl.file("remembered.json", configMap("remembered", { a: "1", b: "2" }));
    const set = ["apply", "set-last-applied", "-f", file];
    expect(await kubectl.fails(...set)).toMatch(/^error: no last-applied-configuration annotation found/);
    expect(await kubectl.run(...set, "--create-annotation")).toBe("configmap/remembered configured\n");
    const editor = kubectl.script("forget-b.sh", `sed -i '/^  b:/d' "$1"`);
    const edited = await kubectl.withEnv({ EDITOR: editor }).run("apply", "edit-last-applied", "configmap/remembered");
    expect(edited).toBe("configmap/remembered edited\n");
    const { metadata, data } = await kubectl.object("configmaps/remembered");
    expect(JSON.parse(metadata.annotations[LAST_APPLIED]).data).toEqual({ a: "1" });
    expect(data).toEqual({ a: "1", b: "2" });
  });
}

export function testPruning(session: () => KubectlSession): void {
  const first = list(configMap("pruned-a", {}, { app: "pruned" }), configMap("pruned-b", {}, { app: "pruned" }));
  const second = list(configMap("pruned-a", {}, { app: "pruned" }));

  test("apply --prune deletes objects with the label that are no longer applied", IN_ORDER, async () => {
    const kubectl = session();
    const file = kubectl.file("pruned.json", first);
    const path = kubectl.path("configmaps");
    await kubectl.server.request("POST", path, configMap("pruned-never", {}, { app: "pruned" }));
    const prune = ["apply", "-f", file, "--prune", "-l", "app=pruned", "--prune-allowlist=core/v1/ConfigMap"];
    expect(await kubectl.run(...prune)).toBe("configmap/pruned-a created\nconfigmap/pruned-b created\n");
    kubectl.file("pruned.json", second);
    expect(await kubectl.run(...prune)).toBe("configmap/pruned-a unchanged\nconfigmap/pruned-b pruned\n");
    expect(await kubectl.run("get", "configmaps", "-l", "app=pruned", "-o", "name")).toBe(
      "configmap/pruned-a\nconfigmap/pruned-never\n",
    );
  });

  test("apply --prune --applyset deletes objects of the set that are no longer applied", IN_ORDER, async () => {
    const kubectl = session().withEnv({ KUBECTL_APPLYSET: "true" });
    const file = kubectl.file("set.json", list(configMap("set-a"), service("set-b", [{ port: 80 }])));
    const apply = ["apply", "-f", file, "--prune", "--applyset=configmaps/the-set"];
    expect(await kubectl.run(...apply)).toBe("configmap/set-a created\nservice/set-b created\n");
    // The resources in the annotation of the set: the oldest kubectl writes resources where newer ones write kinds.
    const contained = async (): Promise<string> => {
      const { annotations } = (await kubectl.object("configmaps/the-set")).metadata;
      const [kinds, resources] = ["kinds", "resources"].map(
        (what) => annotations[`applyset.kubernetes.io/contains-group-${what}`],
      );
      return kinds ?? resources;
    };
    expect(await contained()).toMatch(/^(ConfigMap,Service|configmaps,services)$/);
    const id = (await kubectl.object("configmaps/the-set")).metadata.labels["applyset.kubernetes.io/id"];
    expect(id).toMatch(/^applyset-.*-v1$/);
    expect((await kubectl.object("services/set-b")).metadata.labels).toEqual({ "applyset.kubernetes.io/part-of": id });
    kubectl.file("set.json", list(configMap("set-a")));
    expect(await kubectl.run(...apply)).toBe("configmap/set-a unchanged\nservice/set-b pruned\n");
    expect(await contained()).toMatch(/^(ConfigMap|configmaps)$/);
  });
}

const KUSTOMIZATION = {
  "base/kustomization.yaml": `resources: [web.yaml]
labels: [{ pairs: { from: base }, includeSelectors: true }]
configMapGenerator: [{ name: settings, literals: [colour=blue] }]
`,
  "base/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: main, image: nginx, envFrom: [{ configMapRef: { name: settings } }] }] }
`,
  "over/kustomization.yaml": `resources: [../base]
namePrefix: over-
images: [{ name: nginx, newTag: "3" }]
replicas: [{ name: web, count: 3 }]
patches:
  - target: { kind: Deployment }
    patch: |-
      - { op: add, path: /metadata/annotations, value: { patched: "yes" } }
`,
};

export function testKustomize(session: () => KubectlSession): void {
  test("apply -k, diff -k and delete -k build and use a kustomization", IN_ORDER, async () => {
    const kubectl = session();
    const files = Object.entries(KUSTOMIZATION).map(([name, text]) => kubectl.file(`kustomize/${name}`, text));
    const over = files.at(-1)!.replace(/\/[^/]*$/, "");
    const [, generated] = /^configmap\/(over-settings-\w+) created\ndeployment\.apps\/over-web created\n$/.exec(
      await kubectl.run("apply", "-k", over),
    ) ?? [undefined, "none"];
    expect(await kubectl.object("deployments/over-web", "apps/v1")).toMatchObject({
      metadata: { annotations: { patched: "yes" }, labels: { from: "base" } },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: "web", from: "base" } },
        template: { spec: { containers: [{ image: "nginx:3", envFrom: [{ configMapRef: { name: generated } }] }] } },
      },
    });
    expect(await kubectl.run("diff", "-k", over)).toBe("");
    const deleted = await kubectl.run("delete", "-k", over);
    expect(deleted).toMatch(/^configmap "over-settings-\w+" deleted.*\ndeployment\.apps "over-web" deleted.*\n$/);
  });
}
