import { describe, expect, test } from "vitest";
import {
  TestWatch,
  CONFIG_MAPS,
  configMap,
  header,
  PODS,
  pod,
  startServer,
  type ApiTestResponse,
  type Json,
  type TestServer,
} from "./start.ts";

const TABLE = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" };
const PARTIAL = { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json" };
const PARTIAL_LIST = { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json" };
const YAML = { accept: "application/yaml" };
const HPAS = "namespaces/default/horizontalpodautoscalers";

async function watchAs(api: TestServer, target: string, headers: Record<string, string>): Promise<TestWatch> {
  const watch = new TestWatch(api.world, await api.world.run(api.server.call({ method: "GET", target, headers })));
  await api.world.advance(0);
  return watch;
}

function columns(table: Json): string[] {
  return table.columnDefinitions.map((column: Json) => column.name);
}

function send(
  api: TestServer,
  method: string,
  target: string,
  what: { body?: Json; headers: Record<string, string> },
): Promise<ApiTestResponse> {
  return api.call(method, target, what.body === undefined ? undefined : JSON.stringify(what.body), {
    headers: what.headers,
  });
}

describe("a Table", () => {
  test("of a list has a row for each object, the metadata of the list, and metadata in every row", async () => {
    await using api = await startServer();
    for (const name of ["a", "b", "c"]) await api.create(CONFIG_MAPS, configMap(name));
    const { body, headers } = await api.get(`${CONFIG_MAPS}?limit=2`, TABLE);
    expect(headers["content-type"]).toBe("application/json");
    expect(body).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1", metadata: { remainingItemCount: 1 } });
    expect(columns(body)).toEqual(["Name", "Data", "Age"]);
    expect(body.rows.map((row: Json) => row.cells)).toEqual([
      ["a", 1, "0s"],
      ["b", 1, "0s"],
    ]);
    expect(body.rows[0].object).toMatchObject({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: { name: "a" },
    });
    expect(Object.keys(body.rows[0].object)).toEqual(["kind", "apiVersion", "metadata"]);
    const rest = await api.get(`${CONFIG_MAPS}?limit=2&continue=${body.metadata.continue}`, TABLE);
    expect(rest.body.rows.map((row: Json) => row.cells[0])).toEqual(["c"]);
    expect(rest.body.metadata).toEqual({ resourceVersion: body.metadata.resourceVersion });
  });

  test("of one object has one row and the resourceVersion of the object", async () => {
    await using api = await startServer();
    const created = await api.create(CONFIG_MAPS, configMap("a"));
    const { body } = await api.get(`${CONFIG_MAPS}/a`, TABLE);
    expect(body.metadata).toEqual({ resourceVersion: created.body.metadata.resourceVersion });
    expect(body.rows).toHaveLength(1);
  });

  test.each([
    ["None", null],
    ["Metadata", { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" }],
    ["Object", { kind: "ConfigMap", apiVersion: "v1", data: { a: "1" } }],
    ["", { kind: "PartialObjectMetadata" }],
  ])("with includeObject=%s contains that part of each object", async (include, object) => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    const { body } = await api.get(`${CONFIG_MAPS}?includeObject=${include}`, TABLE);
    if (object === null) expect(body.rows[0].object).toBeNull();
    else expect(body.rows[0].object).toMatchObject(object);
  });

  test("with an unknown includeObject is rejected, while JSON responses ignore the parameter", async () => {
    await using api = await startServer();
    const response = await api.get(`${CONFIG_MAPS}?includeObject=Bogus`, TABLE);
    expect(response.status).toBe(400);
    expect(response.body.message).toBe('unrecognized includeObject value: "Bogus"');
    expect((await api.get(`${CONFIG_MAPS}?includeObject=Bogus`)).status).toBe(200);
  });

  test("in v1beta1 has the apiVersion meta.k8s.io/v1beta1, also in its rows", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    const { body } = await api.get(CONFIG_MAPS, { accept: "application/json;as=Table;v=v1beta1;g=meta.k8s.io" });
    expect(body.apiVersion).toBe("meta.k8s.io/v1beta1");
    expect(body.rows[0].object.apiVersion).toBe("meta.k8s.io/v1beta1");
  });

  test("is returned for writes and deletions, including dry runs", async () => {
    await using api = await startServer();
    const cells = (response: ApiTestResponse): Json => response.body.rows[0].cells;
    expect(
      cells(await send(api, "POST", `${CONFIG_MAPS}?dryRun=All`, { body: configMap("a"), headers: TABLE })),
    ).toEqual(["a", 1, "0s"]);
    const created = await send(api, "POST", CONFIG_MAPS, { body: configMap("a"), headers: TABLE });
    expect(created.status).toBe(201);
    expect(cells(created)).toEqual(["a", 1, "0s"]);
    expect(
      cells(await send(api, "PUT", `${CONFIG_MAPS}/a`, { body: configMap("a", { data: {} }), headers: TABLE })),
    ).toEqual(["a", 0, "0s"]);
    const patch = {
      headers: { ...TABLE, "content-type": "application/merge-patch+json" },
      body: { data: { b: "1", c: "2" } },
    };
    expect(cells(await send(api, "PATCH", `${CONFIG_MAPS}/a`, patch))).toEqual(["a", 2, "0s"]);
    const deleted = await send(api, "DELETE", `${PODS}/none`, { headers: TABLE });
    expect(deleted.body.kind).toBe("Status");
    await api.create(PODS, pod("p"));
    expect((await send(api, "DELETE", `${PODS}/p`, { headers: TABLE })).body.kind).toBe("Table");
    expect((await send(api, "DELETE", CONFIG_MAPS, { headers: TABLE })).body.rows.length).toBeGreaterThan(0);
  });

  test("in a watch contains column definitions only in the first event", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    const watch = await watchAs(api, `${CONFIG_MAPS}?watch=true`, TABLE);
    await api.create(CONFIG_MAPS, configMap("b"));
    await api.delete(`${CONFIG_MAPS}/b`);
    const events = (await watch.events()).filter(
      ({ object }) => object.rows[0].object.metadata.name !== "kube-root-ca.crt",
    );
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "ADDED", "DELETED"]);
    expect(columns(events[0].object)).toEqual(["Name", "Data", "Age"]);
    expect(events[1].object).toMatchObject({
      kind: "Table",
      columnDefinitions: null,
      rows: [{ cells: ["b", 1, "0s"] }],
    });
    expect(events[2].object.metadata.resourceVersion).toBe(events[2].object.rows[0].object.metadata.resourceVersion);
  });

  test("as a bookmark has one row, and the object of the row carries the annotation k8s.io/initial-events-end", async () => {
    await using api = await startServer();
    const target = `${CONFIG_MAPS}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
    const watch = await watchAs(api, target, TABLE);
    const bookmark = (await watch.events()).at(-1);
    expect(bookmark).toMatchObject({ type: "BOOKMARK", object: { kind: "Table", apiVersion: "meta.k8s.io/v1" } });
    const [row] = bookmark.object.rows;
    expect(row.object).toMatchObject({
      kind: "PartialObjectMetadata",
      metadata: { annotations: { "k8s.io/initial-events-end": "true" } },
    });
    expect(row.object.metadata.resourceVersion).toBe(bookmark.object.metadata.resourceVersion);
    expect(row.cells).toHaveLength(3);
  });

  test("is sent as a bookmark for every watchable kind", async () => {
    await using api = await startServer({ strictRelease: false });
    for (const group of api.server.catalog.groups) {
      for (const resource of group.resources) {
        for (const { version, verbs } of resource.versions.filter((candidate) => candidate.verbs.includes("watch"))) {
          const root = group.name === "" ? `/api/${version}` : `/apis/${group.name}/${version}`;
          const target = `${root}/${resource.resource}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&fieldSelector=metadata.name%3Dnone`;
          expect(verbs).toContain("list");
          const watch = await watchAs(api, target, TABLE);
          expect(await watch.events(), target).toMatchObject([{ type: "BOOKMARK", object: { kind: "Table" } }]);
        }
      }
    }
  });

  test("of a kind with an object that cannot be decoded returns an error about that object", async () => {
    await using api = await startServer();
    await api.kv.commit({
      kind: "put",
      key: "/registry/configmaps/default/broken",
      value: Buffer.from("{"),
      expectedRevision: 0,
    });
    for (const headers of [TABLE, PARTIAL_LIST]) {
      const response = await api.get(CONFIG_MAPS, headers);
      expect(response.status).toBe(500);
      expect(response.body.message).toContain("/registry/configmaps/default/broken");
    }
  });
});

describe("a PartialObjectMetadata response", () => {
  const nasty = { "a/b": '"}{\\', c: '\\\\"', d: "é 😀 \u2028\n", "e.f/g": "{[" };

  test("is returned for every verb that returns the object", async () => {
    await using api = await startServer();
    const named = {
      metadata: { name: "a", annotations: nasty },
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
    };
    const body = configMap("a", { metadata: { annotations: nasty } });
    const responses = [
      await send(api, "POST", `${CONFIG_MAPS}?dryRun=All`, { body, headers: PARTIAL }),
      await send(api, "POST", CONFIG_MAPS, { body, headers: PARTIAL }),
      await send(api, "PUT", `${CONFIG_MAPS}/a`, { body: { ...body, data: { x: "}" } }, headers: PARTIAL }),
      await send(api, "PATCH", `${CONFIG_MAPS}/a`, {
        body: { data: { y: "{" } },
        headers: { ...PARTIAL, "content-type": "application/merge-patch+json" },
      }),
      await api.get(`${CONFIG_MAPS}/a`, PARTIAL),
    ];
    for (const response of responses) {
      expect(response.body).toMatchObject(named);
      expect(Object.keys(response.body)).toEqual(["kind", "apiVersion", "metadata"]);
      expect(response.body.metadata.managedFields).not.toHaveLength(0);
    }
    const { body: whole } = await api.get(`${CONFIG_MAPS}/a`);
    expect(responses.at(-1)!.body.metadata).toEqual(whole.metadata);
  });

  test("for a list has kind and apiVersion on every item", async () => {
    await using api = await startServer();
    for (const name of ["a", "b", "c"])
      await api.create(CONFIG_MAPS, configMap(name, { metadata: { annotations: nasty } }));
    const { body } = await api.get(`${CONFIG_MAPS}?limit=2`, PARTIAL_LIST);
    expect(body).toMatchObject({
      kind: "PartialObjectMetadataList",
      apiVersion: "meta.k8s.io/v1",
      metadata: { remainingItemCount: 1 },
    });
    for (const item of body.items)
      expect(item).toMatchObject({
        kind: "PartialObjectMetadata",
        apiVersion: "meta.k8s.io/v1",
        metadata: { annotations: nasty },
      });
    expect(
      (await api.get(`${CONFIG_MAPS}?limit=2`, { accept: PARTIAL_LIST.accept.replace("v=v1", "v=v1beta1") })).body
        .items[0].apiVersion,
    ).toBe("meta.k8s.io/v1beta1");
  });

  test("is returned for deletions", async () => {
    await using api = await startServer();
    await api.create(PODS, pod("p"));
    expect((await send(api, "DELETE", `${PODS}/p?gracePeriodSeconds=0`, { headers: PARTIAL })).body).toMatchObject({
      kind: "PartialObjectMetadata",
      metadata: { name: "p" },
    });
    await api.create(CONFIG_MAPS, configMap("a", { metadata: { finalizers: ["example.com/keep"] } }));
    const kept = await send(api, "DELETE", `${CONFIG_MAPS}/a`, { headers: PARTIAL });
    expect(kept.body.metadata.deletionTimestamp).toBeDefined();
    expect((await send(api, "DELETE", CONFIG_MAPS, { headers: PARTIAL_LIST })).body.kind).toBe(
      "PartialObjectMetadataList",
    );
  });

  test("in a watch includes bookmarks of the kind PartialObjectMetadata", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    const target = `${CONFIG_MAPS}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
    const watch = await watchAs(api, target, PARTIAL);
    const events = await watch.events();
    for (const { object } of events)
      expect(object).toMatchObject({ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" });
    expect(events.at(-1)).toMatchObject({
      type: "BOOKMARK",
      object: { metadata: { annotations: { "k8s.io/initial-events-end": "true" } } },
    });
    expect(events.find(({ object }) => object.metadata.name === "a").object).not.toHaveProperty("data");
  });

  test("for a version other than the stored one contains the metadata of the converted object", async () => {
    await using api = await startServer();
    const spec = { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "a" } };
    const metrics = [
      { type: "Pods", pods: { metric: { name: "m" }, target: { type: "AverageValue", averageValue: "1" } } },
    ];
    await api.create(`/apis/autoscaling/v2/${HPAS}`, {
      metadata: { name: "h", annotations: nasty },
      spec: { ...spec, metrics },
    });
    for (const version of ["v1", "v2"]) {
      const whole = await api.get(`/apis/autoscaling/${version}/${HPAS}/h`);
      const partial = await api.get(`/apis/autoscaling/${version}/${HPAS}/h`, PARTIAL);
      expect(partial.body.metadata).toEqual(whole.body.metadata);
      expect((await api.get(`/apis/autoscaling/${version}/${HPAS}`, PARTIAL_LIST)).body.items[0].metadata).toEqual(
        whole.body.metadata,
      );
      expect((await api.get(`/apis/autoscaling/${version}/${HPAS}`, TABLE)).body.rows[0].cells[0]).toBe("h");
      expect(
        (await api.get(`/apis/autoscaling/${version}/${HPAS}?includeObject=Object`, TABLE)).body.rows[0].object
          .apiVersion,
      ).toBe(`autoscaling/${version}`);
    }
  });
});

describe("watch events", () => {
  test("are encoded once for all watches with the same media type and representation", async () => {
    await using api = await startServer();
    const { body } = await api.get(CONFIG_MAPS);
    const target = `${CONFIG_MAPS}?watch=true&resourceVersion=${body.metadata.resourceVersion}`;
    const watches = await Promise.all(
      [TABLE, TABLE, TABLE, PARTIAL, PARTIAL, {}, {}].map((headers) =>
        watchAs(api, target, headers as Record<string, string>),
      ),
    );
    const encodings = (): Promise<number> => api.metric("evenkeel_watch_encodings_total");
    const before = await encodings();
    await api.create(CONFIG_MAPS, configMap("a"));
    expect((await encodings()) - before).toBe(3);
    await api.create(CONFIG_MAPS, configMap("b"));
    expect((await encodings()) - before).toBe(6);
    const late = await watchAs(api, target, TABLE);
    expect((await encodings()) - before).toBe(6);
    for (const watch of [...watches, late]) expect(await watch.events()).toHaveLength(2);
  });
});

describe("YAML responses", () => {
  test("quote strings that YAML would read as another type, and errors are YAML too", async () => {
    await using api = await startServer();
    await api.create(
      CONFIG_MAPS,
      configMap("a", { data: { yes: "yes", octal: "010", date: "2001-12-14", lines: "a\nb\n" } }),
    );
    const response = await api.get(`${CONFIG_MAPS}/a`, YAML);
    expect(header(response, "content-type")).toBe("application/yaml");
    expect(response.text).toContain(
      "apiVersion: v1\ndata:\n  date: '2001-12-14'\n  lines: |\n    a\n    b\n  octal: '010'\n  'yes': 'yes'\nkind: ConfigMap\n",
    );
    const missing = await api.get(`${CONFIG_MAPS}/none`, YAML);
    expect(missing.status).toBe(404);
    expect(header(missing, "content-type")).toBe("application/yaml");
    expect(missing.text).toContain("reason: NotFound");
  });

  test("are not available for watches", async () => {
    await using api = await startServer();
    expect((await api.get(`${CONFIG_MAPS}?watch=true`, YAML)).status).toBe(406);
  });

  test("are available for Tables and PartialObjectMetadata", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    expect((await api.get(CONFIG_MAPS, { accept: "application/yaml;as=Table;v=v1;g=meta.k8s.io" })).text).toContain(
      "kind: Table\n",
    );
    expect(
      (await api.get(`${CONFIG_MAPS}/a`, { accept: "application/yaml;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" }))
        .text,
    ).toContain("kind: PartialObjectMetadata\n");
  });

  test("are available for discovery", async () => {
    await using api = await startServer();
    for (const [path, kind] of [
      ["/api", "APIVersions"],
      ["/apis", "APIGroupList"],
      ["/apis/apps", "APIGroup"],
      ["/api/v1", "APIResourceList"],
      ["/apis/apps/v1", "APIResourceList"],
    ]) {
      const response = await api.get(path!, YAML);
      expect(header(response, "content-type"), path).toBe("application/yaml");
      expect(response.text, path).toContain(`kind: ${kind}\n`);
    }
  });
});
