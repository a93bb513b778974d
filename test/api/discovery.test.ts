import { describe, expect, test } from "vitest";
import { openCatalog, type CatalogGroup } from "../../src/objects/catalog/catalog.ts";
import { RELEASES, releaseInfo } from "../../src/objects/catalog/release.ts";
import { header, startServer, type Json } from "./start.ts";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const KUBECTL = `${AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json`;

const path = (group: CatalogGroup, version: string): string =>
  group.name === "" ? `/api/${version}` : `/apis/${group.name}/${version}`;
const groupVersion = (group: CatalogGroup, version: string): string =>
  group.name === "" ? version : `${group.name}/${version}`;

describe.each(RELEASES)("discovery of %s", (release) => {
  const catalog = openCatalog({ release, extensions: false });
  const named = catalog.groups.filter((group) => group.name !== "");

  test("lists every group with its versions at /apis, and the same entry at /apis/GROUP", async () => {
    await using api = await startServer({ release });
    const { body } = await api.get("/apis");
    expect(body).toMatchObject({ kind: "APIGroupList", apiVersion: "v1" });
    expect(body.groups.map(({ name, versions }: Json) => [name, versions.map(({ version }: Json) => version)])).toEqual(
      named.map(({ name, versions }) => [name, versions]),
    );
    for (const group of body.groups) {
      expect(group.versions).toContainEqual(group.preferredVersion);
      expect((await api.get(`/apis/${group.name}`)).body).toEqual({ kind: "APIGroup", apiVersion: "v1", ...group });
    }
  });

  test("lists the resources and subresources of every group version with their verbs", async () => {
    await using api = await startServer({ release });
    for (const group of catalog.groups) {
      for (const version of group.versions) {
        const { status, body } = await api.get(path(group, version));
        expect(status).toBe(200);
        expect(body).toMatchObject({ kind: "APIResourceList", groupVersion: groupVersion(group, version) });
        const expected = group.resources.flatMap((resource) => {
          const served = resource.versions.find((candidate) => candidate.version === version);
          if (served === undefined) return [];
          const subresources = served.subresources.map(({ name, verbs, responseKind }) => [
            `${resource.resource}/${name}`,
            responseKind.kind,
            verbs,
          ]);
          return [[resource.resource, served.kind, served.verbs], ...subresources];
        });
        expect(body.resources.map(({ name, kind, verbs }: Json) => [name, kind, verbs])).toEqual(expected);
      }
    }
  });

  test.each(["api", "apis"] as const)(
    "contains the same resources in the aggregated document of /%s",
    async (prefix) => {
      await using api = await startServer({ release });
      const { body, headers } = await api.get(`/${prefix}`, { accept: KUBECTL });
      expect(headers["content-type"]).toBe(AGGREGATED);
      const groups = catalog.groups.filter((group) => (group.name === "") === (prefix === "api"));
      expect(body).toMatchObject({ kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2" });
      expect(body.items.map(({ metadata }: Json) => metadata.name ?? "")).toEqual(groups.map(({ name }) => name));
      for (const [index, group] of groups.entries()) {
        for (const { version, resources, freshness } of body.items[index].versions) {
          const legacy = (await api.get(path(group, version))).body.resources;
          const flat = resources.flatMap((resource: Json) => [
            [resource.resource, resource.responseKind.kind, resource.verbs],
            ...(resource.subresources ?? []).map((subresource: Json) => [
              `${resource.resource}/${subresource.subresource}`,
              subresource.responseKind.kind,
              subresource.verbs,
            ]),
          ]);
          expect(flat).toEqual(legacy.map(({ name, kind, verbs }: Json) => [name, kind, verbs]));
          expect(freshness).toBe("Current");
        }
      }
    },
  );

  test('contains the verb "list" only for resources that can be listed', async () => {
    await using api = await startServer({ release });
    for (const group of catalog.groups) {
      for (const resource of group.resources) {
        for (const { version, verbs, kind } of resource.versions) {
          if (!verbs.includes("list")) continue;
          const { status, body } = await api.get(`${path(group, version)}/${resource.resource}`);
          expect([resource.resource, status, body.kind]).toEqual([resource.resource, 200, `${kind}List`]);
        }
      }
    }
  });

  test("reports the version of the release at /version", async () => {
    await using api = await startServer({ release });
    const { major, minor, gitVersion } = releaseInfo(release);
    const { body } = await api.get("/version");
    expect(body).toMatchObject({ major, minor });
    expect(body.gitVersion.startsWith(gitVersion)).toBe(true);
    expect("emulationMinor" in body).toBe(Number(minor) >= 33);
    if (Number(minor) >= 33)
      expect(body).toMatchObject({
        emulationMajor: "1",
        emulationMinor: minor,
        minCompatibilityMajor: "1",
        minCompatibilityMinor: String(Number(minor) - 1),
      });
  });
});

describe("discovery", () => {
  test("lists the versions of the core group and the address of the server at /api", async () => {
    await using api = await startServer();
    api.server.announce("192.0.2.1:6443");
    expect((await api.get("/api")).body).toEqual({
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "192.0.2.1:6443" }],
    });
  });

  test("ignores trailing slashes", async () => {
    await using api = await startServer();
    for (const target of ["/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"]) {
      expect((await api.get(`${target}/`)).text).toBe((await api.get(target)).text);
    }
  });

  test("sends an ETag with the aggregated document, and returns 304 without a body to a client that sends this ETag", async () => {
    await using api = await startServer();
    const first = await api.get("/apis", { accept: KUBECTL });
    const etag = header(first, "etag")!;
    expect(etag).toMatch(/^"[0-9A-F]+"$/);
    expect(header(first, "vary")).toBe("Accept");
    const second = await api.get("/apis", { accept: KUBECTL, "if-none-match": etag });
    expect(second.status).toBe(304);
    expect(second.text).toBe("");
    expect(header(second, "etag")).toBe(etag);
    expect((await api.get("/apis", { accept: KUBECTL, "if-none-match": '"other"' })).status).toBe(200);
  });

  test("has different ETags for different releases", async () => {
    await using older = await startServer({ release: "1.35" });
    await using newer = await startServer({ release: "1.36" });
    expect(header(await older.get("/apis", { accept: KUBECTL }), "etag")).not.toBe(
      header(await newer.get("/apis", { accept: KUBECTL }), "etag"),
    );
  });

  test.each([
    ["application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", "APIGroupList"],
    ["application/json", "APIGroupList"],
    ["*/*", "APIGroupList"],
    [`${AGGREGATED};profile=nopeer,${AGGREGATED}`, "APIGroupDiscoveryList"],
    [KUBECTL, "APIGroupDiscoveryList"],
    [`application/json;q=0.5,${AGGREGATED}`, "APIGroupDiscoveryList"],
  ])("for Accept %s returns %s", async (accept, kind) => {
    await using api = await startServer();
    expect((await api.get("/apis", { accept })).body.kind).toBe(kind);
  });

  test("for an unsupported format returns 406", async () => {
    await using api = await startServer();
    expect((await api.get("/apis", { accept: "text/html" })).status).toBe(406);
    expect(
      (await api.get("/apis", { accept: "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList" }))
        .status,
    ).toBe(406);
    expect((await api.get("/apis/apps", { accept: AGGREGATED })).status).toBe(406);
  });

  test.each([
    ["1.28", "APIGroupDiscoveryList"],
    ["1.32", "APIGroupDiscoveryList"],
    ["1.33", "APIGroupList"],
  ])("for Accept v2beta1 before JSON, in release %s, returns %s", async (release, kind) => {
    await using api = await startServer({ release });
    const v2beta1 = AGGREGATED.replace("v=v2", "v=v2beta1");
    const { headers, body } = await api.get("/apis", { accept: `${v2beta1},application/json` });
    expect(body.kind).toBe(kind);
    if (kind === "APIGroupList") return;
    expect(headers["content-type"]).toBe(v2beta1);
    const current = (await api.get("/apis", { accept: AGGREGATED })).body;
    expect(body).toEqual({ ...current, apiVersion: "apidiscovery.k8s.io/v2beta1" });
  });

  test("names the group of a subresource if it differs from the group of the resource", async () => {
    await using api = await startServer();
    const { body } = await api.get("/apis/apps/v1");
    expect(body.resources.find(({ name }: Json) => name === "deployments/scale")).toMatchObject({
      group: "autoscaling",
      version: "v1",
      kind: "Scale",
    });
    expect(body.resources.find(({ name }: Json) => name === "deployments/status")).not.toHaveProperty("group");
  });

  test("does not contain a disabled version, which is not served either", async () => {
    await using api = await startServer({ runtimeConfig: ["batch/v1=false"] });
    expect((await api.get("/apis")).body.groups.map(({ name }: Json) => name)).not.toContain("batch");
    expect((await api.get("/apis/batch/v1")).status).toBe(404);
    expect((await api.get("/apis/batch/v1/namespaces/default/jobs")).status).toBe(404);
  });
});
