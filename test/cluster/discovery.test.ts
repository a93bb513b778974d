/** Tests that servers of 1.31, 1.34 and 1.37 return the same merged discovery, in every format. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { findTools } from "../clients/tools.ts";
import { KubectlSession } from "../clients/kubectl-session.ts";
import type { Json } from "../smoke/client.ts";
import { AGGREGATED, untilReachable } from "./settle.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

const RELEASES = ["1.31", "1.34", "1.37"] as const;
const SUBSET = new Set(["1.28", "1.33", "1.36"]);
const ONLY_IN_1_31 = "flowcontrol.apiserver.k8s.io/v1beta3";
const TEST_TIMEOUT_MS = 60_000;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);
const { kubectls, missing } = findTools();
if (missing !== undefined) console.warn(missing);

describe.skipIf(isMissing)("in a cluster of 1.31, 1.34 and 1.37,", { timeout: TEST_TIMEOUT_MS }, () => {
  let cluster: Cluster;
  let members: Member[];
  beforeAll(async () => {
    cluster = await openCluster();
    const idOf = (release: string): string => `s${release.replace(".", "")}`;
    members = await Promise.all(RELEASES.map((release) => cluster.start({ id: idOf(release), release })));
    const ids = members.map(({ id }) => id);
    await Promise.all(
      members.map((member) =>
        untilReachable(
          member,
          ids.filter((id) => id !== member.id),
        ),
      ),
    );
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  const fromEach = async (path: string, accept = "application/json"): Promise<Json[]> => {
    for (let turn = 0; ; turn++) {
      const responses = await Promise.all(members.map((member) => member.request("GET", path, undefined, { accept })));
      const texts = responses.map(({ status, body, text }) => ({
        path,
        status,
        text: withoutServerAddress(body, text),
      }));
      const isSame = texts.every(({ text }) => text === texts[0]!.text);
      // A server may need a moment to merge new documents of its peers, so the comparison is repeated.
      if (isSame || turn >= 20) {
        expect(texts).toEqual(texts.map(() => ({ ...texts[0]!, status: 200 })));
        return responses.map(({ body }) => body);
      }
      await delay(100);
    }
  };

  test("aggregated discovery is the same on each server, and contains the resources of all servers", async () => {
    for (const root of ["/api", "/apis"]) await fromEach(root, AGGREGATED);
    const [merged] = await fromEach("/apis", AGGREGATED);
    const all = merged.items.flatMap((group: Json) =>
      group.versions.map(({ version }: Json) => `${group.metadata.name}/${version}`),
    );
    expect(all).toEqual(expect.arrayContaining(await everyLocal(members)));
    expect(new Set(all).size).toBe(all.length);
  });

  test("every legacy document is the same on each server", async () => {
    await fromEach("/api");
    await fromEach("/api/v1");
    const [groups] = await fromEach("/apis");
    for (const { name, versions } of groups.groups) {
      await fromEach(`/apis/${name}`);
      for (const { groupVersion } of versions) await fromEach(`/apis/${groupVersion}`);
    }
  });

  test("OpenAPI v3 and v2 are the same on each server", async () => {
    const [index] = await fromEach("/openapi/v3");
    const paths = Object.entries<Json>(index.paths);
    expect(paths.map(([path]) => path)).toEqual(expect.arrayContaining(["apis/resource.k8s.io/v1", "api/v1"]));
    for (const [, { serverRelativeURL }] of paths) await fromEach(serverRelativeURL);
    await fromEach("/openapi/v2");
  });

  test("v2beta1 is the same on each server that supports it", async () => {
    const accept = AGGREGATED.replace("v=v2", "v=v2beta1");
    const responses = await Promise.all(
      members.map((member) => member.request("GET", "/apis", undefined, { accept: `${accept},application/json` })),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    const served = responses.filter(({ headers }) => headers["content-type"]?.includes("v=v2beta1"));
    expect(new Set(served.map(({ text }) => text)).size).toBeLessThanOrEqual(1);
    for (const { headers, body } of responses)
      expect(body.kind).toBe(headers["content-type"]?.includes("v=v2beta1") ? "APIGroupDiscoveryList" : "APIGroupList");
  });

  test("`kubectl explain` prints the fields of a CRD through each server, also after a change of the CRD and after a restart of a server", async (context) => {
    const { path } = kubectls.find((one) => one.path !== undefined) ?? {};
    if (path === undefined) return context.skip();
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const explained = async (field: string): Promise<void> => {
      for (const server of members) {
        const kubectl = new KubectlSession({ path, server, namespace: `explain-${field}` });
        expect(await kubectl.run("explain", "circle.spec", "--api-version=shapes.example.com/v1")).toMatch(
          new RegExp(`^  ${field}\t<string>`, "m"),
        );
      }
    };
    expect((await members[0]!.request("POST", definitions, circles("radius"))).status).toBe(201);
    await untilShown(members, "radius");
    await explained("radius");
    const changed = { spec: circles("diameter").spec };
    const patch = { "content-type": "application/merge-patch+json" };
    const { status } = await members[2]!.request("PATCH", `${definitions}/circles.shapes.example.com`, changed, patch);
    expect(status).toBe(200);
    await untilShown(members, "diameter");
    await explained("diameter");
    const { id } = members[1]!;
    await members[1]!.stop();
    members[1] = await cluster.start({ id, release: RELEASES[1] });
    await untilShown(members, "diameter");
    await explained("diameter");
    for (const member of members)
      await untilReachable(
        member,
        members.flatMap((other) => (other === member ? [] : other.id)),
      );
  });

  for (const { name, path, version } of kubectls) {
    if (!SUBSET.has(version) || path === "kubectl") continue;
    test.skipIf(path === undefined)(
      `${name} prints the same api-resources and api-versions through each server`,
      async () => {
        const printed = async (...commandLine: string[]): Promise<string> => {
          const all = await Promise.all(
            members.map((server) =>
              new KubectlSession({ path: path!, server, namespace: version.replace(".", "-") }).run(...commandLine),
            ),
          );
          expect(all).toEqual(all.map(() => all[0]));
          return all[0]!;
        };
        // For each group, kubectl prints the resources of the newest version, and those that only older versions have.
        expect(await printed("api-resources", "--sort-by=name")).toMatch(/^deviceclasses +resource\.k8s\.io\/v1 /m);
        const versions = (await printed("api-versions")).split("\n");
        expect(versions).toEqual(expect.arrayContaining(["resource.k8s.io/v1", ONLY_IN_1_31]));
      },
    );
  }
});

function circles(field: string): Json {
  const properties = { spec: { type: "object", properties: { [field]: { type: "string" } } } };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "circles.shapes.example.com" },
    spec: {
      group: "shapes.example.com",
      scope: "Namespaced",
      names: { plural: "circles", kind: "Circle" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}

/** Waits until the OpenAPI documents of each server contain the field of the CRD. */
async function untilShown(members: readonly Member[], field: string): Promise<void> {
  for (const member of members)
    for (const path of ["/openapi/v3/apis/shapes.example.com/v1", "/openapi/v2"])
      while (!(await member.request("GET", path)).text.includes(`"${field}"`)) await delay(20);
}

/** The response without the field that contains the address of the called server. */
function withoutServerAddress(body: Json, text: string): string {
  if (body === undefined) return text;
  const { serverAddressByClientCIDRs: _, ...rest } = body;
  if (!Array.isArray(rest.groups)) return JSON.stringify(rest);
  return JSON.stringify({
    ...rest,
    groups: rest.groups.map(({ serverAddressByClientCIDRs: __, ...group }: Json) => group),
  });
}

async function everyLocal(members: readonly Member[]): Promise<string[]> {
  const accept = `${AGGREGATED};profile=nopeer`;
  const responses = await Promise.all(members.map((member) => member.request("GET", "/apis", undefined, { accept })));
  return responses.flatMap(({ body }) =>
    body.items.flatMap((group: Json) => group.versions.map(({ version }: Json) => `${group.metadata.name}/${version}`)),
  );
}
