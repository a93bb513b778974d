import { describe, expect, test } from "vitest";
import { openCatalog, type Catalog } from "../../src/objects/catalog/catalog.ts";
import { RELEASES } from "../../src/objects/catalog/release.ts";
import { formatGroupVersionPath } from "../../src/serving/discovery/openapi/decode-peer-response.ts";
import { documentSources } from "../../src/serving/discovery/openapi/document-sources.ts";
import { openApiV2Document } from "../testing/serving/discovery/openapi/v2-document.ts";
import { encodeOpenApiV2 } from "../../src/serving/discovery/openapi/v2-protobuf.ts";
import { openApiV3Document } from "../../src/serving/discovery/openapi/v3.ts";
import { header, startServer, type Json } from "./start.ts";

const METHODS: Readonly<Record<string, string>> = {
  get: "get",
  list: "get",
  create: "post",
  update: "put",
  patch: "patch",
  delete: "delete",
  deletecollection: "delete",
};

/** The distinct values of $ref in the document. */
function references(value: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(value)) value.forEach((item) => references(item, found));
  else if (typeof value === "object" && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      if (key === "$ref" && typeof member === "string") found.add(member);
      else references(member, found);
    }
  }
  return found;
}

function unresolved(document: Json): string[] {
  return [...references(document)].filter((reference) => {
    const target = reference
      .slice(2)
      .split("/")
      .reduce((at: Json, key) => at?.[key], document);
    // A JSON value of any type has an empty schema.
    const isRawJson = /\.apiextensions\.v1\.JSON/.test(reference);
    return target === undefined || (Object.keys(target).length === 0 && !isRawJson);
  });
}

/** Verbs of resources that discovery lists but the OpenAPI document does not contain. */
function missingOperations(
  document: Json,
  catalog: Catalog,
  only: (group: string, version: string) => boolean,
): string[] {
  const missing: string[] = [];
  for (const { name: group, resources } of catalog.groups) {
    for (const { resource, namespaced, versions } of resources) {
      for (const { version, verbs, kind, subresources } of versions.filter((candidate) =>
        only(group, candidate.version),
      )) {
        const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
        const collection = `${root}/${namespaced ? "namespaces/{namespace}/" : ""}${resource}`;
        const expectOperation = (path: string, verb: string, wanted: Json): void => {
          const operation = document.paths[path]?.[METHODS[verb]!];
          const shown = operation?.["x-kubernetes-group-version-kind"];
          if (JSON.stringify(shown) !== JSON.stringify(wanted))
            missing.push(`${verb} ${path}: ${JSON.stringify(shown)}`);
        };
        const own = { group, version, kind };
        for (const verb of verbs.filter((candidate) => METHODS[candidate] !== undefined)) {
          expectOperation(
            ["list", "create", "deletecollection"].includes(verb) ? collection : `${collection}/{name}`,
            verb,
            own,
          );
        }
        if (namespaced && verbs.includes("list")) expectOperation(`${root}/${resource}`, "list", own);
        for (const subresource of subresources) {
          for (const verb of subresource.verbs.filter((candidate) => METHODS[candidate] !== undefined)) {
            const { group: itsGroup, version: itsVersion, kind: itsKind } = subresource.responseKind;
            expectOperation(`${collection}/{name}/${subresource.name}`, verb, {
              group: itsGroup,
              version: itsVersion,
              kind: itsKind,
            });
          }
        }
      }
    }
  }
  return missing;
}

function patchesWithoutFieldValidation(document: Json): string[] {
  return Object.keys(document.paths).filter((path) => {
    const { patch } = document.paths[path];
    return (
      patch !== undefined &&
      patch["x-kubernetes-action"] !== "connect" &&
      !patch.parameters.some((parameter: Json) => parameter.in === "query" && parameter.name === "fieldValidation")
    );
  });
}

describe.each(RELEASES)("the OpenAPI documents of %s", (release) => {
  const catalog = openCatalog({ release, extensions: true });

  test("in v3 resolve all references and contain every verb that discovery lists", () => {
    for (const group of catalog.groups) {
      for (const version of group.versions) {
        const source = documentSources(catalog).get(formatGroupVersionPath({ group: group.name, version }))!;
        const document = JSON.parse(JSON.stringify(openApiV3Document(catalog, source)));
        expect(unresolved(document), `${group.name}/${version}`).toEqual([]);
        expect(
          missingOperations(document, catalog, (name, candidate) => name === group.name && candidate === version),
        ).toEqual([]);
        expect(patchesWithoutFieldValidation(document)).toEqual([]);
        const ids = Object.values<Json>(document.paths).flatMap((item) =>
          Object.values<Json>(item).flatMap(({ operationId }) => operationId ?? []),
        );
        expect(new Set(ids).size, `${group.name}/${version} repeats an operationId`).toBe(ids.length);
      }
    }
  });

  test("in v2 resolve all references and contain every verb that discovery lists", () => {
    const document = JSON.parse(JSON.stringify(openApiV2Document(catalog)));
    expect(unresolved(document)).toEqual([]);
    expect(missingOperations(document, catalog, () => true)).toEqual([]);
    expect(patchesWithoutFieldValidation(document)).toEqual([]);
  });
});

describe("for kubectl,", () => {
  const PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

  test("the schema of a kind contains its group, version and kind, and the merge keys of its lists", async () => {
    await using api = await startServer();
    const { body } = await api.get("/openapi/v3/apis/apps/v1");
    const schemas = body.components.schemas;
    expect(schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"]).toEqual([
      { group: "apps", version: "v1", kind: "Deployment" },
    ]);
    expect(schemas["io.k8s.api.core.v1.PodSpec"].properties.containers).toMatchObject({
      "x-kubernetes-patch-merge-key": "name",
      "x-kubernetes-patch-strategy": "merge",
    });
    expect(schemas["io.k8s.api.core.v1.PodSpec"].required).toContain("containers");
    const patch = body.paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"].patch;
    expect(Object.keys(patch.requestBody.content)).toContain("application/strategic-merge-patch+json");
  });

  test("v2 is available as protobuf, with PATCH operations and definitions", async () => {
    await using api = await startServer();
    const response = await api.world.run(
      api.server.call({ method: "GET", target: "/openapi/v2?timeout=32s", headers: { accept: PROTOBUF } }),
    );
    expect(response.status).toBe(200);
    expect(response.headers["content-type"]).toBe("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    const document = decode(encodeOpenApiV2(openApiV2Document(api.server.catalog)));
    expect(texts(document, 1)).toEqual(["2.0"]);
    const paths = messages(document, 8).flatMap((one) => messages(one, 2));
    const deployment = paths.find(
      (path) => texts(path, 1)[0] === "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
    )!;
    const [operation] = messages(messages(deployment, 2)[0]!, 8);
    expect(texts(operation!, 7)).toContain("application/strategic-merge-patch+json");
    const parameters = messages(operation!, 8)
      .flatMap((item) => messages(item, 1))
      .map((parameter) => texts(messages(messages(parameter, 2)[0]!, 3)[0]!, 4)[0]);
    expect(parameters).toEqual(["dryRun", "fieldValidation"]);
    const pointers = messages(operation!, 8).flatMap((item) => messages(item, 2).flatMap((one) => texts(one, 1)));
    const shared = messages(document, 10).flatMap((one) => messages(one, 1));
    const body = shared.find((one) => texts(one, 1)[0] === pointers[0]!.replace("#/parameters/", ""))!;
    expect(texts(messages(messages(messages(body, 2)[0]!, 1)[0]!, 5)[0]!, 1)).toEqual([
      "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
    ]);
    const ofOperation = messages(operation!, 13).map((one) => [
      texts(one, 1)[0],
      JSON.parse(texts(messages(one, 2)[0]!, 2)[0]!),
    ]);
    expect(Object.fromEntries(ofOperation)).toEqual({
      "x-kubernetes-action": "patch",
      "x-kubernetes-group-version-kind": { group: "apps", version: "v1", kind: "Deployment" },
    });
    const responses = messages(operation!, 9).flatMap((one) => messages(one, 1));
    expect(responses.map((one) => texts(one, 1)[0])).toEqual(["200", "201", "401"]);
    const definitions = messages(document, 9).flatMap((one) => messages(one, 1));
    const podSpec = definitions.find((definition) => texts(definition, 1)[0] === "io.k8s.api.core.v1.PodSpec")!;
    const properties = messages(messages(messages(podSpec, 2)[0]!, 25)[0]!, 1);
    const containers = properties.find((property) => texts(property, 1)[0] === "containers")!;
    const extensions = messages(messages(containers, 2)[0]!, 31).map((one) => [
      texts(one, 1)[0],
      JSON.parse(texts(messages(one, 2)[0]!, 2)[0]!),
    ]);
    expect(Object.fromEntries(extensions)).toMatchObject({
      "x-kubernetes-patch-merge-key": "name",
      "x-kubernetes-patch-strategy": "merge",
    });
  });
});

describe("caching:", () => {
  test("a document with its current hash in the URL is immutable, and a URL with another hash is redirected", async () => {
    await using api = await startServer();
    const index = (await api.get("/openapi/v3")).body;
    const url: string = index.paths["apis/apps/v1"].serverRelativeURL;
    expect(url).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{128}$/);
    const current = await api.get(url);
    expect(header(current, "cache-control")).toBe("public, immutable");
    expect(header(current, "expires")).toBe("Wed, 01 Jan 2031 00:00:00 GMT");
    const stale = await api.get("/openapi/v3/apis/apps/v1?hash=OLD");
    expect(stale.status).toBe(301);
    expect(header(stale, "location")).toBe(url);
    const plain = await api.get("/openapi/v3/apis/apps/v1");
    expect(plain.status).toBe(200);
    expect(header(plain, "expires")).toBeUndefined();
    expect(plain.body).toEqual(current.body);
  });

  test.each(["/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"])(
    "%s returns 304 if If-None-Match contains its ETag",
    async (path) => {
      await using api = await startServer();
      const first = await api.get(path);
      const again = await api.get(path, { "if-none-match": header(first, "etag")! });
      expect(again.status).toBe(304);
      expect(again.text).toBe("");
      expect(header(again, "etag")).toBe(header(first, "etag"));
      expect(header(again, "vary")).toBe("Accept");
    },
  );

  test("hashes depend only on the release and --runtime-config", async () => {
    const paths = async (options: Parameters<typeof startServer>[0]): Promise<Json> => {
      await using api = await startServer(options);
      return (await api.get("/openapi/v3")).body.paths;
    };
    const one = await paths({});
    expect(await paths({ seed: 7 })).toEqual(one);
    expect((await paths({ release: "1.33" }))["apis/apps/v1"]).not.toEqual(one["apis/apps/v1"]);
    expect(await paths({ runtimeConfig: ["apps/v1=false"] })).not.toHaveProperty(["apis/apps/v1"]);
  });

  test("documents with the same hash are equal on all servers", async () => {
    const known = new Map<string, string>();
    for (const runtimeConfig of [[], ["apps/v1=false"], ["api/all=true"], ["autoscaling/v1=false"]]) {
      await using api = await startServer({ runtimeConfig });
      for (const { serverRelativeURL: url } of Object.values<Json>((await api.get("/openapi/v3")).body.paths)) {
        const { text } = await api.get(url);
        expect(known.get(url) ?? text, url).toBe(text);
        known.set(url, text);
      }
    }
  });

  test("an unknown document returns 404, and an unsupported media type 406", async () => {
    await using api = await startServer();
    for (const path of [
      "/openapi",
      "/openapi/v1",
      "/openapi/v2/x",
      "/openapi/v3/apis/none/v1",
      "/openapi/v3/apis/none",
    ])
      expect((await api.get(path)).status, path).toBe(404);
    expect((await api.get("/openapi/v2", { accept: "text/html" })).status).toBe(406);
  });
});

describe("deprecated APIs", () => {
  test("cause a warning on successful and failed requests, from the release that deprecated them", async () => {
    const flowSchemas = (version: string): string => `/apis/flowcontrol.apiserver.k8s.io/${version}/flowschemas`;
    await using older = await startServer({ release: "1.29" });
    const warning =
      '299 - "flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema is deprecated in v1.29+, unavailable in v1.32+; use flowcontrol.apiserver.k8s.io/v1 FlowSchema"';
    expect((await older.get(flowSchemas("v1beta3"))).headers["warning"]).toEqual([warning]);
    const rejected = await older.get(`${flowSchemas("v1beta3")}/none`);
    expect([rejected.status, rejected.headers["warning"]]).toEqual([404, [warning]]);
    expect((await older.get(flowSchemas("v1"))).headers["warning"]).toBeUndefined();
    await using before = await startServer({ release: "1.28" });
    expect((await before.get(flowSchemas("v1beta3"))).headers["warning"]).toBeUndefined();
  });

  test.each(RELEASES)(
    "cause warnings for exactly the versions that the catalog of %s marks as deprecated",
    async (release) => {
      await using api = await startServer({ release });
      const minor = Number(release.split(".")[1]);
      for (const group of api.server.catalog.groups) {
        for (const resource of group.resources) {
          for (const { version, verbs, lifecycle } of resource.versions.filter((candidate) =>
            candidate.verbs.includes("list"),
          )) {
            const target = `${group.name === "" ? `/api/${version}` : `/apis/${group.name}/${version}`}/${resource.resource}`;
            const deprecated = lifecycle?.deprecated;
            const isDeprecated = deprecated !== undefined && Number(deprecated.split(".")[1]) <= minor;
            expect(verbs).toContain("list");
            expect((await api.get(target)).headers["warning"] !== undefined, target).toBe(isDeprecated);
          }
        }
      }
    },
  );
});

type Message = ReadonlyMap<number, readonly Buffer[]>;

/** Decodes length-delimited protobuf fields and skips numbers, which are all true. */
function decode(bytes: Buffer): Message {
  const fields = new Map<number, Buffer[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const length = varint();
    if (key % 8 === 0) {
      expect(length).toBe(1);
      continue;
    }
    expect(key % 8).toBe(2);
    expect(at + length).toBeLessThanOrEqual(bytes.length);
    const field = Math.floor(key / 8);
    fields.set(field, [...(fields.get(field) ?? []), bytes.subarray(at, at + length)]);
    at += length;
  }
  return fields;
}

function messages(message: Message, field: number): Message[] {
  return (message.get(field) ?? []).map(decode);
}

function texts(message: Message, field: number): string[] {
  return (message.get(field) ?? []).map((bytes) => bytes.toString("utf8"));
}
