/** Tests of kubectl apply --server-side: field managers and their conflicts. */
import { expect, test } from "vitest";
import type { Json } from "../smoke/client.ts";
import { IN_ORDER, type KubectlSession } from "./kubectl-session.ts";
import { configMap, deployment, list, service } from "./manifests.ts";

/** The field managers of an object, each as "manager operation". */
function managers(object: Json): string[] {
  return object.metadata.managedFields.map(({ manager, operation }: Json) => `${manager} ${operation}`).toSorted();
}

export function testServerSideApply(session: () => KubectlSession): void {
  test(
    "apply --server-side creates and updates objects, and removes fields that are no longer applied",
    IN_ORDER,
    async () => {
      const kubectl = session();
      const made = (containers: Json[], ports: object[]): object =>
        list(deployment("served", containers, { replicas: 2 }), service("served", ports));
      const file = kubectl.file(
        "served.json",
        made(
          [
            { name: "main", image: "nginx:1", env: [{ name: "A", value: "1" }] },
            { name: "side", image: "busybox:1" },
          ],
          [
            { name: "http", port: 80 },
            { name: "metrics", port: 9090 },
          ],
        ),
      );
      const apply = ["apply", "--server-side", "-f", file];
      const applied = "deployment.apps/served serverside-applied\nservice/served serverside-applied\n";
      expect(await kubectl.run(...apply)).toBe(applied);
      kubectl.file(
        "served.json",
        made(
          [{ name: "main", image: "nginx:2", env: [{ name: "C", value: "3" }] }],
          [
            { name: "http", port: 80 },
            { name: "https", port: 443 },
          ],
        ),
      );
      await using difference = kubectl.start("diff", "--server-side", "-f", file);
      expect((await difference.exited).code).toBe(1);
      expect(difference.stdout).toMatch(/^- +image: nginx:1$[^]*^\+ +image: nginx:2$/m);
      expect(await kubectl.run(...apply, "--dry-run=server")).toBe(
        applied.replaceAll("applied", "applied (server dry run)"),
      );
      expect((await kubectl.object("deployments/served", "apps/v1")).metadata.generation).toBe(1);

      expect(await kubectl.run(...apply)).toBe(applied);
      const now = await kubectl.object("deployments/served", "apps/v1");
      expect(now.spec.template.spec.containers).toMatchObject([
        { name: "main", image: "nginx:2", env: [{ name: "C", value: "3" }] },
      ]);
      expect(now.metadata.annotations).toBeUndefined();
      expect(managers(now)).toEqual(["kubectl Apply"]);
      const { ports } = (await kubectl.object("services/served")).spec;
      expect(ports.map(({ name }: Json) => name)).toEqual(["http", "https"]);
    },
  );
}

export function testConflicts(session: () => KubectlSession): void {
  test(
    "a field of another manager is a conflict unless the apply is forced, but a field with an equal value is shared",
    IN_ORDER,
    async () => {
      const kubectl = session();
      const file = (name: string, data: Record<string, string>): string =>
        kubectl.file(`contested-${name}.json`, configMap("contested", data));
      const apply = (manager: string, path: string, ...flags: string[]): string[] => [
        "apply",
        "--server-side",
        `--field-manager=${manager}`,
        "-f",
        path,
        ...flags,
      ];
      const applied = "configmap/contested serverside-applied\n";
      const data = async (): Promise<Json> => (await kubectl.object("configmaps/contested")).data;
      expect(await kubectl.run(...apply("one", file("one", { shared: "same", own: "one" })))).toBe(applied);
      const two = file("two", { shared: "same", own: "two", more: "two" });
      expect(await kubectl.fails(...apply("two", two))).toBe(CONFLICT);
      expect(await data()).toEqual({ shared: "same", own: "one" });
      expect(await kubectl.run(...apply("two", two, "--force-conflicts"))).toBe(applied);
      expect(await data()).toEqual({ shared: "same", own: "two", more: "two" });
      // A field that one manager no longer applies remains while another manager applies it.
      expect(await kubectl.run(...apply("one", file("one", {})))).toBe(applied);
      expect(await data()).toEqual({ shared: "same", own: "two", more: "two" });
      expect(await kubectl.run(...apply("two", file("two", { own: "two" })))).toBe(applied);
      expect(await data()).toEqual({ own: "two" });
      const shown = await kubectl.run("get", "configmap", "contested", "-o", "yaml", "--show-managed-fields");
      expect(shown).toMatch(/f:data:\n +f:own: {}\n +manager: two\n +operation: Apply\n/);
    },
  );
}

const CONFLICT = `error: Apply failed with 1 conflict: conflict with "one": .data.own
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the \`--force-conflicts\` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
`;

export function testServerSideMigration(session: () => KubectlSession): void {
  test(
    "apply --server-side takes over the fields of client-side apply, and removes those that are no longer applied",
    IN_ORDER,
    async () => {
      const kubectl = session();
      const file = kubectl.file("migrated.json", configMap("migrated", { kept: "1", dropped: "1" }));
      expect(await kubectl.run("apply", "-f", file)).toBe("configmap/migrated created\n");
      expect(managers(await kubectl.object("configmaps/migrated"))).toEqual(["kubectl-client-side-apply Update"]);
      const apply = ["apply", "--server-side", "-f", file];
      const applied = "configmap/migrated serverside-applied\n";
      expect(await kubectl.run(...apply)).toBe(applied);
      const both = ["kubectl Apply", "kubectl-last-applied Apply"];
      expect(managers(await kubectl.object("configmaps/migrated"))).toEqual(both);
      kubectl.file("migrated.json", configMap("migrated", { kept: "2" }));
      expect(await kubectl.run(...apply)).toBe(applied);
      const { data, metadata } = await kubectl.object("configmaps/migrated");
      expect(data).toEqual({ kept: "2" });
      // The annotation of the last applied configuration is kept, so that a user can return to client-side apply.
      const last = metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"];
      expect(JSON.parse(last).data).toEqual({ kept: "2" });
      kubectl.file("migrated.json", configMap("migrated", { other: "3" }));
      const { stdout, stderr } = await kubectl.both("apply", "-f", file);
      expect(stdout).toBe("configmap/migrated configured\n");
      expect(stderr).toMatch(/^$|^Warning: .*\n$/);
      expect((await kubectl.object("configmaps/migrated")).data).toEqual({ other: "3" });
    },
  );

  test("a field that another manager has changed is a conflict whose message names the manager", IN_ORDER, async () => {
    const kubectl = session();
    const file = kubectl.file("scaled-meanwhile.json", deployment("meanwhile", [MAIN], { replicas: 1 }));
    const apply = ["apply", "--server-side", "-f", file];
    await kubectl.run(...apply);
    await kubectl.run("set", "image", "deployment/meanwhile", "main=nginx:2");
    await kubectl.run("scale", "deployment/meanwhile", "--replicas=3");
    const said = await kubectl.fails(...apply);
    expect(said.split("\nPlease review")[0]).toMatch(
      /^error: Apply failed with 2 conflicts: conflicts with "kubectl" with subresource "scale" using apps\/v1:\n- \.spec\.replicas\nconflicts with "kubectl-set" using apps\/v1:\n- \.spec\.template\.spec\.containers\[name="main"\]\.image$/,
    );
    expect(await kubectl.run(...apply, "--force-conflicts")).toBe("deployment.apps/meanwhile serverside-applied\n");
    const { spec } = await kubectl.object("deployments/meanwhile", "apps/v1");
    expect(spec).toMatchObject({ replicas: 1, template: { spec: { containers: [MAIN] } } });
  });
}

const MAIN = { name: "main", image: "nginx:1" };
