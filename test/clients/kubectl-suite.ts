/** The tests that every kubectl must pass with every server: reading, creating and changing objects. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Evenkeel } from "../smoke/start-evenkeel.ts";
import { cells, IN_ORDER, KubectlSession } from "./kubectl-session.ts";
import { configMap, WORKLOADS } from "./manifests.ts";
import type { Tool } from "./tools.ts";

const TEST_TIMEOUT_MS = 120_000;

export interface Subject {
  readonly release: string;
  readonly server: () => Evenkeel;
}

/**
 * Defines the tests for each kubectl in its own namespace; the tests of a kubectl that is not available are skipped.
 * Different kubectls run in parallel, and the tests of one kubectl one after another.
 */
export function forEachKubectl(
  kubectls: readonly Tool[],
  subject: Subject,
  tests: (session: () => KubectlSession, tool: Tool) => void,
): void {
  for (const [index, tool] of kubectls.entries()) {
    const { name, path, version } = tool;
    const title = `${name} with a server of release ${subject.release}`;
    describe.skipIf(path === undefined).concurrent(title, { timeout: TEST_TIMEOUT_MS }, () => {
      let session: KubectlSession;
      beforeAll(async () => {
        session = new KubectlSession({
          path: path!,
          server: subject.server(),
          namespace: `client-${version.replace(".", "-")}-${index}`,
        });
        expect(await session.run("create", "namespace", session.namespace)).toBe(
          `namespace/${session.namespace} created\n`,
        );
      });
      tests(() => session, tool);
    });
  }
}

export function testReading(release: string, session: () => KubectlSession): void {
  test("version, cluster-info, api-versions, api-resources and get --raw describe the server", IN_ORDER, async () => {
    const kubectl = session();
    await using version = kubectl.start("version", "-o", "json");
    expect((await version.exited).code).toBe(0);
    // kubectl may warn about a large version difference.
    expect(version.stderr).toMatch(/^$|^warning: version difference [^\n]*\n$/i);
    expect(JSON.parse(version.stdout)).toMatchObject({
      serverVersion: { gitVersion: expect.stringContaining(`v${release}.`) },
    });
    expect(await kubectl.run("cluster-info")).toContain(kubectl.server.url);
    expect((await kubectl.run("api-versions")).split("\n")).toEqual(expect.arrayContaining(["apps/v1", "v1"]));
    expect(cells(await kubectl.run("api-resources", "--api-group=apps", "--no-headers"))).toEqual(
      expect.arrayContaining([
        ["deployments", "deploy", "apps/v1", "true", "Deployment"],
        ["controllerrevisions", expect.stringMatching(/^ *apps\/v1$/), "true", "ControllerRevision"],
      ]),
    );
    const clusterScoped = await kubectl.run(
      "api-resources",
      "--namespaced=false",
      "--verbs=watch,create",
      "-o",
      "name",
    );
    expect(clusterScoped.split("\n")).toEqual(expect.arrayContaining(["namespaces", "nodes", "persistentvolumes"]));
    expect(await kubectl.run("get", "--raw", "/readyz")).toBe("ok");
    expect(await kubectl.run("get", "--raw", "/api/v1/namespaces/default")).toContain('"kind":"Namespace"');
  });

  test("explain shows the fields of a kind, and with --recursive those of all levels", IN_ORDER, async () => {
    const kubectl = session();
    const plain = await kubectl.run("explain", "deployment.spec");
    expect(plain).toMatch(/^GROUP: +apps\nKIND: +Deployment\nVERSION: +v1\n\nFIELD: spec <DeploymentSpec>\n/);
    expect(plain).toMatch(/^ {2}replicas\t<integer>$/m);
    expect(plain).toMatch(/^ {2}template\t<PodTemplateSpec> -required-$/m);
    const recursive = await kubectl.run("explain", "pods", "--recursive");
    expect(recursive).toMatch(/^ {2}spec\t<PodSpec>\n/m);
    expect(recursive).toMatch(/^ {4}containers\t<\[\]Container> -required-\n(^ {6}.*\n)*^ {6}image\t<string>$/m);
    expect(await kubectl.fails("explain", "nonsense")).toBe('the server doesn\'t have a resource type "nonsense"\n');
  });

  testForms(session);
  testSelections(session);

  test("an error shows the message of the server", IN_ORDER, async () => {
    const kubectl = session();
    expect(await kubectl.fails("get", "configmap", "absent")).toBe(
      'Error from server (NotFound): configmaps "absent" not found\n',
    );
    expect(await kubectl.fails("get", "nonsense")).toBe('error: the server doesn\'t have a resource type "nonsense"\n');
    expect(await kubectl.fails("get", "--raw", "/api/v1/nonsense")).toBe(
      "Error from server (NotFound): the server could not find the requested resource\n",
    );
    expect(await kubectl.runWithMessages("get", "configmaps", "-l", "no=such")).toBe(
      `No resources found in ${kubectl.namespace} namespace.\n`,
    );
    expect(await kubectl.run("get", "configmap", "absent", "--ignore-not-found")).toBe("");
  });
}

function testForms(session: () => KubectlSession): void {
  test(
    "get prints tables, wide tables, YAML, JSON, names, JSON paths, templates and custom columns",
    IN_ORDER,
    async () => {
      const kubectl = session();
      expect(cells(await kubectl.run("get", "namespace", "default"))).toEqual([
        ["NAME", "STATUS", "AGE"],
        ["default", "Active", expect.stringMatching(/^\d+m?\d*s?$/)],
      ]);
      await kubectl.server.request("POST", kubectl.path("pods"), {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "shown", labels: { app: "shown" } },
        spec: { containers: [{ name: "main", image: "nginx:1" }] },
      });
      const row = ["shown", "0/1", "Pending", "0", expect.stringMatching(/s$/)];
      const header = ["NAME", "READY", "STATUS", "RESTARTS", "AGE"];
      expect(cells(await kubectl.run("get", "pods"))).toEqual([header, row]);
      const none = Array.from({ length: 4 }, () => "<none>");
      expect(cells(await kubectl.run("get", "pods", "-o", "wide"))).toEqual([
        [...header, "IP", "NODE", "NOMINATED NODE", "READINESS GATES"],
        [...row, ...none],
      ]);
      expect(cells(await kubectl.run("get", "pods", "-L", "app", "--show-labels", "--no-headers"))).toEqual([
        [...row, "shown", "app=shown"],
      ]);
      expect(cells(await kubectl.run("get", "pods", "--server-print=false"))).toEqual([
        ["NAME", "AGE"],
        ["shown", row[4]],
      ]);
      expect(await kubectl.run("get", "pod", "shown", "-o", "yaml")).toMatch(
        /^apiVersion: v1\nkind: Pod\nmetadata:\n {2}creationTimestamp: "[^]*^ {2}- image: nginx:1\n/m,
      );
      expect(await kubectl.json("get", "pods")).toMatchObject({
        kind: "List",
        items: [{ metadata: { name: "shown" } }],
      });
      expect(await kubectl.run("get", "pods", "-o", "name")).toBe("pod/shown\n");
      expect(await kubectl.run("get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}")).toBe("nginx:1");
      expect(await kubectl.run("get", "pod/shown", "-o", "go-template={{.metadata.name}}")).toBe("shown");
      expect(
        await kubectl.run("get", "pods", "-o", "custom-columns=N:.metadata.name,I:.spec.containers[0].image"),
      ).toBe("N       I\nshown   nginx:1\n");
    },
  );

  test("get shows managed fields only if requested", IN_ORDER, async () => {
    const kubectl = session();
    await kubectl.run("create", "configmap", "managed", "--from-literal=a=b");
    const get = ["get", "configmap", "managed", "-o", "yaml"];
    expect(await kubectl.run(...get)).not.toContain("managedFields");
    const shown = await kubectl.run(...get, "--show-managed-fields");
    expect(shown).toMatch(/f:data:\n +\.: {}\n +f:a: {}\n +manager: kubectl-create\n +operation: Update\n/);
  });
}

function testSelections(session: () => KubectlSession): void {
  test("get sorts, pages, and selects by namespace, label and field", IN_ORDER, async () => {
    const kubectl = session();
    for (const [name, order, tier] of [
      ["zebra", "1", "front"],
      ["aardvark", "2", "back"],
      ["moose", "3", "front"],
    ] as const) {
      const made = configMap(name, { order }, { zoo: "yes", tier });
      expect((await kubectl.server.request("POST", kubectl.path("configmaps"), made)).status).toBe(201);
    }
    const names = async (...flags: string[]): Promise<string[]> =>
      (await kubectl.run("get", "configmaps", "-o", "custom-columns=:.metadata.name", "--no-headers", ...flags))
        .trim()
        .split("\n");
    expect(await names("-l", "zoo")).toEqual(["aardvark", "moose", "zebra"]);
    expect(await names("-l", "zoo", "--chunk-size=1")).toEqual(["aardvark", "moose", "zebra"]);
    expect(await names("-l", "zoo", "--sort-by=.data.order")).toEqual(["zebra", "aardvark", "moose"]);
    expect(await names("-l", "tier=front")).toEqual(["moose", "zebra"]);
    expect(await names("-l", "zoo,tier notin (front)")).toEqual(["aardvark"]);
    expect(await names("--field-selector", "metadata.name=moose")).toEqual(["moose"]);
    expect(await names("-A", "-l", "zoo", "--field-selector", `metadata.namespace=${kubectl.namespace}`)).toEqual([
      "aardvark",
      "moose",
      "zebra",
    ]);
    // A table that is sorted by a field without a column needs the whole objects in its rows.
    const table = cells(await kubectl.run("get", "configmaps", "-l", "zoo", "--sort-by=.data.order"));
    expect(table.map(([name, data]) => [name, data])).toEqual([
      ["NAME", "DATA"],
      ["zebra", "1"],
      ["aardvark", "1"],
      ["moose", "1"],
    ]);
    const everywhere = cells(await kubectl.run("get", "configmaps", "-A", "-l", "zoo"));
    expect(everywhere[0]).toEqual(["NAMESPACE", "NAME", "DATA", "AGE"]);
    expect(everywhere.slice(1).map(([namespace]) => namespace)).toContain(kubectl.namespace);
    expect(await kubectl.run("get", "configmaps/moose", "pods/shown", "-o", "name")).toBe(
      "configmap/moose\npod/shown\n",
    );
  });
}

/** Arguments with which kubectl creates each kind, and the output of each. */
function typedCreations(namespace: string): readonly (readonly [flags: string, created: string])[] {
  return [
    ["secret generic opaque --from-literal=a=b", "secret/opaque"],
    ["secret docker-registry pull --docker-server=x --docker-username=u --docker-password=p", "secret/pull"],
    ["deployment typed --image=nginx:1 --replicas=3", "deployment.apps/typed"],
    ["serviceaccount robot", "serviceaccount/robot"],
    ["role reader --verb=get,list --resource=pods", "role.rbac.authorization.k8s.io/reader"],
    [
      `rolebinding reads --role=reader --serviceaccount=${namespace}:robot`,
      "rolebinding.rbac.authorization.k8s.io/reads",
    ],
    [
      `clusterrole ${namespace}-sum --aggregation-rule=sum=yes`,
      `clusterrole.rbac.authorization.k8s.io/${namespace}-sum`,
    ],
    [`clusterrole ${namespace} --verb=get --resource=nodes`, `clusterrole.rbac.authorization.k8s.io/${namespace}`],
    [
      `clusterrolebinding ${namespace} --clusterrole=${namespace} --user=me`,
      `clusterrolebinding.rbac.authorization.k8s.io/${namespace}`,
    ],
    ["cronjob daily --image=busybox --schedule=@daily -- echo hi", "cronjob.batch/daily"],
    ["job once --image=busybox -- echo hi", "job.batch/once"],
    ["service clusterip inner --tcp=80:8080", "service/inner"],
    ["service nodeport outer --tcp=80:8080", "service/outer"],
    ["service loadbalancer balanced --tcp=80:8080", "service/balanced"],
    ["service externalname alias --external-name=x.example", "service/alias"],
    ["ingress entry --rule=x.example/*=inner:80", "ingress.networking.k8s.io/entry"],
    ["ingress safe --class=fast --rule=y.example/exact=inner:80,tls=certificate", "ingress.networking.k8s.io/safe"],
    ["quota little --hard=pods=100", "resourcequota/little"],
    ["poddisruptionbudget calm --selector=app=typed --min-available=1", "poddisruptionbudget.policy/calm"],
    [`priorityclass ${namespace} --value=100`, `priorityclass.scheduling.k8s.io/${namespace}`],
  ];
}

export function testCreating(session: () => KubectlSession): void {
  test("create makes an object of each kind from flags, and get shows each of them in a table", IN_ORDER, async () => {
    const kubectl = session();
    await Promise.all(
      typedCreations(kubectl.namespace).map(async ([flags, created]) =>
        expect(await kubectl.run("create", ...flags.split(" "))).toBe(`${created} created\n`),
      ),
    );
    expect(await kubectl.run("create", "job", "early", "--from=cronjob/daily")).toBe("job.batch/early created\n");
    expect(await kubectl.run("run", "ran", "--image=nginx:1", "--restart=Never")).toBe("pod/ran created\n");
    expect(await kubectl.run("expose", "deployment", "typed", "--port=80")).toBe("service/typed exposed\n");
    const shown = await kubectl.run("get", "deployments,cronjobs,jobs,secrets,services,ingresses,pdb,rolebindings");
    const header = (columns: string): RegExp => new RegExp(`^${columns.replaceAll(", ", " {3,}")}$`, "m");
    for (const columns of [
      "NAME, READY, UP-TO-DATE, AVAILABLE, AGE",
      "NAME, TYPE, DATA, AGE",
      "NAME, TYPE, CLUSTER-IP, EXTERNAL-IP, PORT\\(S\\), AGE",
      "NAME, CLASS, HOSTS, ADDRESS, PORTS, AGE",
      "NAME, MIN AVAILABLE, MAX UNAVAILABLE, ALLOWED DISRUPTIONS, AGE",
      "NAME, ROLE, AGE",
    ])
      expect(shown).toMatch(header(columns));
    for (const row of [
      /^deployment\.apps\/typed +0\/3 +0 +0 +\d+s$/m,
      /^cronjob\.batch\/daily +@daily /m,
      /^job\.batch\/early .*0\/1 /m,
      /^secret\/pull +kubernetes\.io\/dockerconfigjson +1 +\d+s$/m,
      /^service\/alias +ExternalName +<none> +x\.example +<none> +\d+s$/m,
      /^ingress\.networking\.k8s\.io\/entry +<none> +x\.example +80 +\d+s$/m,
      /^rolebinding\.rbac\.authorization\.k8s\.io\/reads +Role\/reader +\d+s$/m,
    ])
      expect(shown).toMatch(row);
    expect(await kubectl.run("get", "secret", "opaque", "-o", "jsonpath={.data.a}")).toBe("Yg==");
  });

  test("create -f accepts YAML and JSON, and the server validates the object", IN_ORDER, async () => {
    const kubectl = session();
    expect(await kubectl.run("create", "-f", kubectl.file("workloads.yaml", WORKLOADS))).toBe(
      "deployment.apps/web created\npod/alone created\n",
    );
    const settings = kubectl.file("settings.json", configMap("settings", { colour: "blue" }));
    expect(await kubectl.run("create", "-f", settings)).toBe("configmap/settings created\n");
    expect(await kubectl.run("get", "configmap", "settings", "-o", "jsonpath={.data.colour}")).toBe("blue");
    expect(await kubectl.fails("create", "-f", settings)).toBe(
      `Error from server (AlreadyExists): error when creating "${settings}": configmaps "settings" already exists\n`,
    );
    const misspelt = kubectl.file("misspelt.json", { ...configMap("misspelt"), dta: { colour: "blue" } });
    expect(await kubectl.fails("create", "-f", misspelt)).toMatch(
      /^Error from server \(BadRequest\): error when creating .*strict decoding error: unknown field "dta"\n$/,
    );
    await using warned = kubectl.start("create", "--validate=warn", "-f", misspelt);
    expect((await warned.exited).code).toBe(0);
    expect({ stdout: warned.stdout, stderr: warned.stderr }).toEqual({
      stdout: "configmap/misspelt created\n",
      stderr: 'Warning: unknown field "dta"\n',
    });
    const dry = await kubectl.run("create", "configmap", "dry", "--from-literal=a=b", "--dry-run=server", "-o", "yaml");
    expect(dry).toMatch(/^ {2}uid: [0-9a-f-]{36}$/m);
    expect(await kubectl.fails("get", "configmap", "dry")).toContain("NotFound");
  });
}

export function testApplying(session: () => KubectlSession): void {
  test("diff shows the changes that apply would make, and none after apply", IN_ORDER, async () => {
    const kubectl = session();
    const applied = kubectl.file("applied.yaml", JSON.stringify(configMap("applied", { a: "b" })));
    await using difference = kubectl.start("diff", "-f", applied);
    expect((await difference.exited).code).toBe(1);
    expect(difference.stderr).toBe("");
    expect(difference.stdout).toMatch(/^\+data:\n\+ {2}a: b\n\+kind: ConfigMap\n/m);
    expect(await kubectl.run("apply", "-f", applied)).toBe("configmap/applied created\n");
    const last = "jsonpath={.metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration}";
    expect(JSON.parse(await kubectl.run("get", "configmap", "applied", "-o", last))).toMatchObject({
      data: { a: "b" },
    });
    expect(await kubectl.run("diff", "-f", applied)).toBe("");
  });
}

export function testChanging(session: () => KubectlSession): void {
  test("patch, label, annotate and replace change the object", IN_ORDER, async () => {
    const kubectl = session();
    const target = ["configmap", "changed"];
    const data = (): Promise<string> => kubectl.run("get", ...target, "-o", "jsonpath={.data}");
    const file = kubectl.file("changed.json", configMap("changed", { colour: "blue" }));
    await kubectl.run("create", "-f", file);
    expect(await kubectl.run("patch", ...target, "--type=merge", "-p", '{"data":{"x":"y"}}')).toBe(
      "configmap/changed patched\n",
    );
    expect(await data()).toBe('{"colour":"blue","x":"y"}');
    const operations = '[{"op":"test","path":"/data/x","value":"y"},{"op":"replace","path":"/data/x","value":"z"}]';
    expect(await kubectl.run("patch", ...target, "--type=json", "-p", operations)).toBe("configmap/changed patched\n");
    expect(await data()).toBe('{"colour":"blue","x":"z"}');
    expect(await kubectl.run("patch", ...target, "--type=merge", "-p", '{"data":{"x":"z"}}')).toBe(
      "configmap/changed patched (no change)\n",
    );
    expect(await kubectl.fails("patch", ...target, "--type=json", "-p", operations)).toMatch(/^The request is invalid/);

    expect(await kubectl.run("label", ...target, "tier=front")).toBe("configmap/changed labeled\n");
    expect(await kubectl.fails("label", ...target, "tier=back")).toMatch(/already has a value \(front\)/);
    expect(await kubectl.run("label", ...target, "tier=back", "--overwrite")).toBe("configmap/changed labeled\n");
    expect(await kubectl.run("annotate", ...target, "note=seen")).toMatch(/^configmap\/changed annotated?\n$/);
    expect(
      await kubectl.run("get", ...target, "-o", "jsonpath={.metadata.labels.tier} {.metadata.annotations.note}"),
    ).toBe("back seen");
    expect(await kubectl.run("label", ...target, "tier-")).toBe("configmap/changed unlabeled\n");
    expect(await kubectl.run("get", "configmaps", "-l", "tier=back,!zoo", "-o", "name")).toBe("");

    kubectl.file("changed.json", configMap("changed", { colour: "green" }));
    expect(await kubectl.run("replace", "-f", file)).toBe("configmap/changed replaced\n");
    expect(await data()).toBe('{"colour":"green"}');
    const stale = kubectl.file("stale.json", {
      ...configMap("changed", { colour: "red" }),
      metadata: { name: "changed", resourceVersion: "1" },
    });
    expect(await kubectl.fails("replace", "-f", stale)).toMatch(
      /^Error from server \(Conflict\): error when replacing .*: Operation cannot be fulfilled on configmaps "changed": the object has been modified/,
    );
  });

  test("scale sets the replicas, and with --current-replicas only if they match", IN_ORDER, async () => {
    const kubectl = session();
    await kubectl.run("create", "deployment", "scaled", "--image=nginx:1", "--replicas=1");
    expect(await kubectl.run("scale", "deployment", "scaled", "--replicas=5")).toBe("deployment.apps/scaled scaled\n");
    expect(await kubectl.run("get", "deployment", "scaled", "-o", "jsonpath={.spec.replicas}")).toBe("5");
    const guarded = ["scale", "deployment", "scaled", "--replicas=2"];
    expect(await kubectl.fails(...guarded, "--current-replicas=9")).toMatch(/Expected replicas to be 9, was 5/);
    expect(await kubectl.run(...guarded, "--current-replicas=5")).toBe("deployment.apps/scaled scaled\n");
    expect(await kubectl.run("get", "deployment", "scaled", "-o", "jsonpath={.spec.replicas}")).toBe("2");
  });
}
