/** Tests of commands that wait: delete, wait and watches. */
import { expect, test } from "vitest";
import { cells, IN_ORDER, type KubectlSession } from "./kubectl-session.ts";
import { configMap } from "./manifests.ts";

export function testDeleting(session: () => KubectlSession): void {
  test("delete deletes objects by name, label and file, and all objects of a kind", IN_ORDER, async () => {
    const kubectl = session();
    for (const name of ["one", "two", "three", "four"])
      await kubectl.server.request("POST", kubectl.path("secrets"), {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: `gone-${name}`, labels: { doomed: name.length === 3 ? "yes" : "no" } },
      });
    const deleted = (kind: string, name: string): RegExp => new RegExp(`^${kind} "${name}" deleted( from .*)?$`, "m");
    expect(await kubectl.run("delete", "secret", "gone-four")).toMatch(deleted("secret", "gone-four"));
    const selected = await kubectl.run("delete", "secrets", "-l", "doomed=yes");
    for (const name of ["gone-one", "gone-two"]) expect(selected).toMatch(deleted("secret", name));
    expect(selected.trimEnd().split("\n")).toHaveLength(2);
    expect(await kubectl.run("get", "secrets", "-l", "doomed", "-o", "name")).toBe("secret/gone-three\n");

    const file = kubectl.file("doomed.json", configMap("doomed"));
    await kubectl.run("create", "-f", file);
    expect(await kubectl.run("delete", "-f", file)).toMatch(deleted("configmap", "doomed"));
    expect(await kubectl.fails("delete", "-f", file)).toMatch(
      /^Error from server \(NotFound\): .*"doomed" not found\n$/,
    );
    expect(await kubectl.run("delete", "-f", file, "--ignore-not-found")).toBe("");

    await kubectl.run("create", "role", "doomed", "--verb=get", "--resource=pods");
    expect(await kubectl.run("delete", "roles", "--all")).toMatch(deleted("role.rbac.authorization.k8s.io", "doomed"));
    expect(await kubectl.run("get", "roles", "-o", "name")).toBe("");
  });

  test("delete deletes dependents in the background or in the foreground, or orphans them", IN_ORDER, async () => {
    const kubectl = session();
    const deployments = `/apis/apps/v1/namespaces/${kubectl.namespace}/deployments`;
    for (const [cascade, finalizer] of [
      ["background", undefined],
      ["foreground", "foregroundDeletion"],
      ["orphan", "orphan"],
    ] as const) {
      await kubectl.run("create", "deployment", cascade, "--image=nginx:1");
      // There is no garbage collector, so an object with a finalizer for its dependents stays until the test removes
      // the finalizer.
      const deletion = ["delete", "deployment", cascade, `--cascade=${cascade}`, "--wait=false"];
      expect(await kubectl.run(...deletion)).toMatch(new RegExp(`^deployment.apps "${cascade}" deleted`));
      const path = `${deployments}/${cascade}`;
      const left = await kubectl.server.request("GET", path);
      if (finalizer === undefined) expect(left.status).toBe(404);
      else if (left.status === 200) {
        expect(left.body.metadata).toMatchObject({ finalizers: [finalizer], deletionTimestamp: expect.any(String) });
        const collect = [{ op: "remove", path: "/metadata/finalizers" }];
        await kubectl.server.request("PATCH", path, collect, { "content-type": "application/json-patch+json" });
      }
      expect(await kubectl.run("wait", "--for=delete", `deployment/${cascade}`, "--timeout=60s")).toMatch(
        /^$|condition met/,
      );
    }
  });

  test("delete of a pod accepts a grace period, --now and --force", IN_ORDER, async () => {
    const kubectl = session();
    for (const flags of [["--grace-period=1"], ["--now"]]) {
      await kubectl.run("run", "brief", "--image=nginx:1");
      expect(await kubectl.run("delete", "pod", "brief", ...flags)).toMatch(/^pod "brief" deleted/);
    }
    await kubectl.run("run", "brief", "--image=nginx:1");
    await using forced = kubectl.start("delete", "pod", "brief", "--force", "--grace-period=0");
    expect((await forced.exited).code).toBe(0);
    expect(forced.stdout).toMatch(/^pod "brief" force deleted/);
    expect(forced.stderr).toMatch(/^Warning: Immediate deletion does not wait [^\n]*\n$/);
    expect(await kubectl.run("get", "pod", "brief", "--ignore-not-found")).toBe("");
  });
}

export function testWaiting(session: () => KubectlSession): void {
  test("wait ends when an object is deleted, has a condition, or has a field with a value", IN_ORDER, async () => {
    const kubectl = session();
    await kubectl.run("create", "deployment", "awaited", "--image=nginx:1");
    await using forCondition = kubectl.start(
      "wait",
      "deployment/awaited",
      "--for=condition=Available",
      "--timeout=30s",
    );
    const status = { status: { conditions: [{ type: "Available", status: "True" }], replicas: 1, readyReplicas: 1 } };
    const patch = [
      "patch",
      "deployment",
      "awaited",
      "--subresource=status",
      "--type=merge",
      "-p",
      JSON.stringify(status),
    ];
    expect(await kubectl.run(...patch)).toBe("deployment.apps/awaited patched\n");
    expect((await forCondition.exited).code).toBe(0);
    expect(forCondition.stdout).toBe("deployment.apps/awaited condition met\n");
    const ready = ["wait", "deployment/awaited", "--for=jsonpath={.status.readyReplicas}=1", "--timeout=30s"];
    expect(await kubectl.run(...ready)).toBe("deployment.apps/awaited condition met\n");
    expect(cells(await kubectl.run("get", "deployment", "awaited", "--no-headers"))[0]!.slice(0, 2)).toEqual([
      "awaited",
      "1/1",
    ]);

    await using forDeletion = kubectl.start("wait", "deployment/awaited", "--for=delete", "--timeout=30s");
    await kubectl.run("delete", "deployment", "awaited");
    expect((await forDeletion.exited).code).toBe(0);
    expect(forDeletion.stderr).toBe("");
    await kubectl.run("create", "configmap", "unmoved");
    expect(await kubectl.fails("wait", "configmap/unmoved", "--for=jsonpath={.data.x}=y", "--timeout=1s")).toMatch(
      /^error: timed out waiting for the condition on configmaps\/unmoved\n$/,
    );
  });
}

export function testWatching(session: () => KubectlSession): void {
  test("get -w prints existing objects and then each event", IN_ORDER, async () => {
    const kubectl = session();
    const services = kubectl.path("services");
    const service = (name: string): object => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { type: "ExternalName", externalName: "x.example" },
    });
    await kubectl.server.request("POST", services, service("before"));
    await using watching = kubectl.start("get", "services", "-w", "--output-watch-events");
    await watching.printed(/^EVENT +NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE\n(ADDED .*\n)*ADDED +before +/);
    await kubectl.server.request("POST", services, service("meanwhile"));
    await watching.printed(/^ADDED +meanwhile +ExternalName +<none> +x\.example +<none> +\d+s$/m);
    await kubectl.run("label", "service", "meanwhile", "seen=yes");
    await watching.printed(/^MODIFIED +meanwhile /m);
    await kubectl.run("delete", "service", "meanwhile");
    await watching.printed(/^DELETED +meanwhile /m);
    expect(watching.stderr).toBe("");
    await using named = kubectl.start("get", "service", "before", "-w", "-o", "name");
    await named.printed(/^service\/before$/m);
    await kubectl.run("delete", "service", "before");
    await named.printed(/^service\/before\nservice\/before$/m);
  });

  test("get --watch-only prints events, but no existing objects", IN_ORDER, async () => {
    const kubectl = session();
    const endpoint = kubectl.path("limitranges");
    const limits = (name: string): object => ({ apiVersion: "v1", kind: "LimitRange", metadata: { name }, spec: {} });
    await kubectl.server.request("POST", endpoint, limits("before"));
    await using watching = kubectl.start("get", "limitranges", "--watch-only", "-o", "name");
    const seen = watching.printed(/^limitrange\/later-\d+$/m);
    let isSeen = false;
    void seen.finally(() => (isSeen = true)).catch(() => {});
    // kubectl does not report when its watch has started, so the test creates objects until kubectl prints one.
    for (let turn = 0; !isSeen; turn++) {
      await kubectl.server.request("POST", endpoint, limits(`later-${turn}`));
      await Promise.race([seen, new Promise((resolve) => setTimeout(resolve, 20))]);
    }
    await seen;
    expect(watching.stdout).not.toContain("before");
    expect(watching.stderr).toBe("");
  });
}

export function testEvents(session: () => KubectlSession): void {
  test("get events and events show events, oldest first, or only those of one object", IN_ORDER, async () => {
    const kubectl = session();
    const report = (name: string, about: string, lastTimestamp: string): object => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name },
      involvedObject: { apiVersion: "v1", kind: "Pod", name: about, namespace: kubectl.namespace },
      reason: "Tested",
      message: `${about} was seen`,
      type: "Normal",
      count: 2,
      firstTimestamp: lastTimestamp,
      lastTimestamp,
    });
    for (const [name, about, at] of [
      ["a-later", "pod-b", "2026-01-01T00:00:01Z"],
      ["b-earlier", "pod-a", "2026-01-01T00:00:00Z"],
    ] as const) {
      const { status } = await kubectl.server.request("POST", kubectl.path("events"), report(name, about, at));
      expect(status).toBe(201);
    }
    const table = cells(await kubectl.run("get", "events", "--sort-by=.lastTimestamp"));
    expect(table.map((row) => row.slice(1))).toEqual([
      ["TYPE", "REASON", "OBJECT", "MESSAGE"],
      ["Normal", "Tested", "pod/pod-a", "pod-a was seen"],
      ["Normal", "Tested", "pod/pod-b", "pod-b was seen"],
    ]);
    const selected = await kubectl.run("get", "events", "--field-selector", "involvedObject.name=pod-b", "-o", "name");
    expect(selected).toBe("event/a-later\n");
    expect(await kubectl.run("events", "--for=pod/pod-a")).toMatch(
      /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n.* Normal +Tested +Pod\/pod-a +pod-a was seen\n$/,
    );
  });
}
