/** Tests of kubectl edit, with a shell script as the editor. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { IN_ORDER, type KubectlSession } from "./kubectl-session.ts";
import { configMap, deployment } from "./manifests.ts";

export function testEditing(session: () => KubectlSession): void {
  test("edit saves the changes of the editor, and saves nothing if there are none", IN_ORDER, async () => {
    const kubectl = session();
    const path = kubectl.path("deployments", "apps/v1");
    const containers = [
      { name: "main", image: "nginx:1" },
      { name: "side", image: "busybox:1" },
    ];
    expect((await kubectl.server.request("POST", path, deployment("edited", containers))).status).toBe(201);
    const edit = (script: string): KubectlSession => kubectl.withEnv({ EDITOR: kubectl.script("editor.sh", script) });
    const saved = await edit(`sed -i 's/nginx:1/nginx:2/; s/^  replicas: .*/  replicas: 5/' "$1"`).run(
      "edit",
      "deployment/edited",
    );
    expect(saved).toBe("deployment.apps/edited edited\n");
    const { spec } = await kubectl.object("deployments/edited", "apps/v1");
    expect(spec).toMatchObject({
      replicas: 5,
      template: { spec: { containers: [{ image: "nginx:2" }, { image: "busybox:1" }] } },
    });
    const cancelled = await edit("true").both("edit", "deployment/edited");
    expect(cancelled.stdout + cancelled.stderr).toBe("Edit cancelled, no changes made.\n");
    const status = ["edit", "deployment/edited", "--subresource=status"];
    expect(await edit(`sed -i 's/^status:.*/status: { replicas: 5 }/' "$1"`).run(...status)).toBe(
      "deployment.apps/edited edited\n",
    );
    expect((await kubectl.object("deployments/edited", "apps/v1")).status).toEqual({ replicas: 5 });
  });

  test(
    "edit reopens an object that the server has rejected, with the reason, and keeps a copy if the editor changes nothing more",
    IN_ORDER,
    async () => {
      const kubectl = session();
      await kubectl.server.request("POST", kubectl.path("configmaps"), configMap("refused", { a: "1" }));
      const seen = kubectl.file("seen.yaml", "");
      // When it is opened first, the editor makes the object invalid; the second time it changes nothing.
      const script = `if grep -q '# *\\* data' "$1"; then cp "$1" ${seen}; else sed -i 's/^  a: .*/  a: "2"\\n  b\\/d: "1"/' "$1"; fi`;
      const editor = kubectl.script("breaks-rules.sh", script);
      await using rejected = kubectl.withEnv({ EDITOR: editor }).start("edit", "configmap/refused");
      expect((await rejected.exited).code).toBe(1);
      expect(rejected.stderr).toMatch(/^error: configmaps "refused" is invalid\n/);
      const [, kept] =
        /^A copy of your changes has been stored to "(.*)"$/m.exec(rejected.stdout + rejected.stderr) ?? [];
      expect(rejected.stdout + rejected.stderr).toMatch(/^error: Edit cancelled, no valid changes were saved\.$/m);
      expect(readFileSync(seen, "utf8")).toMatch(
        /^# configmaps "refused" was not valid:\n# \* data\[b\/d\]: Invalid value: "b\/d": a valid config key must consist of /m,
      );
      expect(readFileSync(kept!, "utf8")).toContain('b/d: "1"');
      expect((await kubectl.object("configmaps/refused")).data).toEqual({ a: "1" });
    },
  );
}
