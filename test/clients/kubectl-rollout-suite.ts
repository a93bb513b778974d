/**
 * Tests of kubectl rollout: status, history, undo, restart, pause. The test does the work of the deployment controller.
 */
import { expect, test } from "vitest";
import { IN_ORDER, type KubectlSession } from "./kubectl-session.ts";
import { deployment } from "./manifests.ts";
import { playDeploymentController } from "./simulated-controllers.ts";

export function testRollouts(session: () => KubectlSession): void {
  test("rollout shows status and history, undoes, restarts, pauses and resumes", IN_ORDER, async () => {
    const kubectl = session();
    const target = "deployment/rolled";
    const control = (): Promise<void> => playDeploymentController(kubectl.server, kubectl.namespace, "rolled");
    const made = deployment("rolled", [{ name: "main", image: "nginx:1" }]);
    await kubectl.server.request("POST", kubectl.path("deployments", "apps/v1"), made);
    await kubectl.run("annotate", target, "kubernetes.io/change-cause=begun");
    await using status = kubectl.start("rollout", "status", target, "--timeout=30s");
    await status.printed(/^Waiting for deployment spec update to be observed\.\.\.\n/);
    await control();
    await status.printed(/^deployment "rolled" successfully rolled out\n/m);

    await kubectl.run("set", "image", target, "main=nginx:2");
    await kubectl.run("annotate", target, "kubernetes.io/change-cause=second", "--overwrite");
    await control();
    expect(await kubectl.run("rollout", "history", target)).toBe(
      `${target.replace("/", ".apps/")} \nREVISION  CHANGE-CAUSE\n1         begun\n2         second\n\n`,
    );
    expect(await kubectl.run("rollout", "history", target, "--revision=1")).toMatch(
      /^deployment\.apps\/rolled with revision #1\nPod Template:\n[^]*^ +Image:\tnginx:1$/m,
    );

    expect(await kubectl.run("rollout", "undo", target)).toBe("deployment.apps/rolled rolled back\n");
    const image = "jsonpath={.spec.template.spec.containers[0].image}";
    expect(await kubectl.run("get", target, "-o", image)).toBe("nginx:1");
    await control();
    expect(await kubectl.run("rollout", "undo", target, "--to-revision=3")).toBe(
      "deployment.apps/rolled skipped rollback (current template already matches revision 3)\n",
    );
    expect(await kubectl.fails("rollout", "undo", target, "--to-revision=1")).toBe(
      "error: unable to find specified revision 1 in history\n",
    );

    expect(await kubectl.run("rollout", "pause", target)).toBe("deployment.apps/rolled paused\n");
    expect(await kubectl.fails("rollout", "pause", target)).toBe(
      'error: deployments.apps "rolled" is already paused\n',
    );
    expect(await kubectl.fails("rollout", "restart", target)).toMatch(
      /^error: deployments\.apps "rolled" can't restart paused deployment \(run rollout resume first\)\n$/,
    );
    expect(await kubectl.run("rollout", "resume", target)).toBe("deployment.apps/rolled resumed\n");
    expect(await kubectl.run("rollout", "restart", target)).toBe("deployment.apps/rolled restarted\n");
    const { metadata } = (await kubectl.object("deployments/rolled", "apps/v1")).spec.template;
    expect(metadata.annotations["kubectl.kubernetes.io/restartedAt"]).toMatch(/^\d{4}-\d\d-\d\dT/);
  });
}

export function testDaemonRollouts(session: () => KubectlSession): void {
  test("rollout undo of a DaemonSet applies the patch in its ControllerRevision", IN_ORDER, async () => {
    const kubectl = session();
    const { spec, metadata } = deployment("daemon", [{ name: "main", image: "nginx:2" }]) as {
      spec: { template: object };
      metadata: object;
    };
    const daemonSet = { apiVersion: "apps/v1", kind: "DaemonSet", metadata, spec };
    const { body } = await kubectl.server.request("POST", kubectl.path("daemonsets", "apps/v1"), daemonSet);
    const template = { ...body.spec.template, $patch: "replace" };
    for (const revision of [1, 2])
      await kubectl.server.request("POST", kubectl.path("controllerrevisions", "apps/v1"), {
        apiVersion: "apps/v1",
        kind: "ControllerRevision",
        metadata: {
          name: `daemon-${revision}`,
          labels: { app: "daemon" },
          ownerReferences: [
            { apiVersion: "apps/v1", kind: "DaemonSet", name: "daemon", uid: body.metadata.uid, controller: true },
          ],
        },
        revision,
        data: {
          spec: { template: { ...template, spec: { containers: [{ name: "main", image: `nginx:${revision}` }] } } },
        },
      });
    expect(await kubectl.run("rollout", "history", "daemonset/daemon")).toBe(
      "daemonset.apps/daemon \nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>\n\n",
    );
    expect(await kubectl.run("rollout", "undo", "daemonset/daemon")).toBe("daemonset.apps/daemon rolled back\n");
    const { containers } = (await kubectl.object("daemonsets/daemon", "apps/v1")).spec.template.spec;
    expect(containers).toMatchObject([{ name: "main", image: "nginx:1" }]);
  });
}
