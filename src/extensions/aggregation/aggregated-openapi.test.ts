import { jsonUpstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { describe, expect, test } from "vitest";

import { SILENT_LOG } from "../../base/log.ts";
import { encodeIndex, withHash, type OpenApiDocuments } from "../../serving/discovery/openapi/documents.ts";
import { createIndex } from "../../serving/discovery/openapi/decode-peer-response.ts";
import { World } from "../../tools/simulator/world.ts";
import { withAggregatedOpenApi } from "./aggregated-openapi.ts";
import type { RemoteApiService } from "./api-service.ts";
import { createCallServer, createCallService } from "./call-server.ts";
import {
  failing,
  FakeOutbound,
  remote,
  type Respond,
} from "../../../test/testing/extensions/aggregation/fake-outbound.ts";

const PATH = "apis/metrics.example.com/v1";
const V3 = { openapi: "3.0.0", info: {}, paths: { [`/${PATH}/pods`]: {} } };
const POD = { type: "object", properties: { next: { $ref: "#/definitions/Pod" } } };
const V2 = {
  swagger: "2.0",
  info: { title: "x", version: "1" },
  paths: {
    [`/${PATH}/pods`]: { get: { responses: { 200: { description: "", schema: { $ref: "#/definitions/Pod" } } } } },
    "/apis/metrics.example.com/v10/pods": {},
    "/apis/apps/v1/": {},
  },
  definitions: { Pod: POD, Other: {}, Own: { type: "string" } },
};
const BASE_V2 = {
  swagger: "2.0",
  info: { title: "own", version: "1" },
  paths: { "/api/": {} },
  definitions: { Own: {} },
};

describe("OpenAPI v3", () => {
  test("lists the documents of aggregated servers in the index, and returns them unchanged", async () => {
    const { documents } = documented(answering());
    const { hashes } = await documents.index();
    expect(JSON.parse(encodeIndex(hashes).bytes.toString())).toEqual({
      paths: {
        "api/v1": { serverRelativeURL: "/openapi/v3/api/v1?hash=A" },
        [PATH]: { serverRelativeURL: `/openapi/v3/${PATH}?hash=B` },
      },
    });
    const found = await documents.find(PATH, "B");
    expect(found.kind === "document" && JSON.parse(found.document.bytes.toString())).toEqual(V3);
    expect(await documents.find("api/v1", undefined)).toEqual({ kind: "unknown" });
  });

  test("returns cached documents without waiting while the aggregated server does not respond", async () => {
    const { documents, outbound, world } = documented(answering());
    await documents.index();
    await documents.find(PATH, "B");
    outbound.answer = () => new Promise(() => undefined);
    await world.advance(61_000);
    expect((await documents.index()).hashes.get(PATH)).toBe("B");
    expect(await documents.find(PATH, "B")).toMatchObject({ kind: "document" });
    expect(outbound.requests).toHaveLength(3);
  });

  test("asks the new server when an APIService is changed to another Service", async () => {
    const { documents, outbound, known } = documented(answering());
    await documents.index();
    known.apiService = remote({ service: { namespace: "kube-system", name: "other", port: 443 } });
    outbound.answer = answering("C");
    expect((await documents.index()).hashes.get(PATH)).toBe("C");
  });

  test("soon repeats a first request that failed, without delaying other requests", async () => {
    const { documents, outbound, world } = documented(failing("connect"));
    await documents.index();
    let response: () => void = () => {};
    const isAnswered = new Promise<void>((resolve) => (response = resolve));
    const answer = answering();
    outbound.answer = async (request) => (await isAnswered, answer(request));
    await world.advance(1_000);
    expect((await documents.index()).hashes.has(PATH)).toBe(false);
    response();
    await world.advance(0);
    expect((await documents.index()).hashes.get(PATH)).toBe("B");
  });

  test("returns 503 for a document that cannot be fetched, and still serves the other documents", async () => {
    const { documents } = documented(failing("connect"));
    expect([...(await documents.index()).hashes.keys()]).toEqual(["api/v1"]);
    expect(await documents.find(PATH, undefined)).toMatchObject({ kind: "unavailable" });
  });
});

describe("OpenAPI v2", () => {
  test("is one merged document with the paths of the aggregated group version, the definitions that they reference, and the local ones unchanged", async () => {
    const { documents } = documented(answering());
    const { paths, definitions, info } = JSON.parse((await documents.v2()).bytes.toString()) as typeof V2;
    expect(Object.keys(paths)).toEqual(["/api/", `/${PATH}/pods`]);
    expect(definitions).toEqual({ Own: {}, Pod: POD });
    expect(info.title).toBe("own");
    expect((await documents.v2Protobuf()).bytes.length).toBeGreaterThan(10);
  });

  test.each<[rule: string, answer: Respond]>([
    ["does not respond", failing("connect")],
    ["returns another document", () => jsonUpstreamResponse({ swagger: 2 })],
    [
      "returns a document that cannot be encoded",
      () => jsonUpstreamResponse({ ...V2, paths: { [`/${PATH}/x`]: { get: [7] } } }),
    ],
  ])("keeps the local paths if the aggregated server %s", async (_rule, response) => {
    const { documents } = documented(response);
    const { paths } = JSON.parse((await documents.v2()).bytes.toString()) as typeof V2;
    expect(paths).toHaveProperty("/api/");
    await documents.v2Protobuf();
  });
});

function answering(hash = "B"): Respond {
  const index = { paths: { [PATH]: { serverRelativeURL: `/openapi/v3/${PATH}?hash=${hash}` } } };
  return ({ target }) => {
    if (target === "/openapi/v2") return jsonUpstreamResponse(V2);
    return target === "/openapi/v3" ? jsonUpstreamResponse(index) : jsonUpstreamResponse(V3, ["ETag", `"${hash}"`]);
  };
}

function documented(answer: Respond): {
  readonly documents: OpenApiDocuments;
  readonly outbound: FakeOutbound;
  readonly world: World;
  readonly known: { apiService: RemoteApiService; isAvailable: boolean };
} {
  const world = new World({ seed: 7 });
  const { clock } = world;
  const outbound = new FakeOutbound(answer);
  const known = { apiService: remote(), isAvailable: true };
  const ask = createCallService(createCallServer({ outbound, clock }), () => ({
    kind: "resolved",
    addresses: [{ host: "10.0.0.1", port: 8443 }],
  }));
  const find = (group: string): typeof known | undefined => (group === known.apiService.group ? known : undefined);
  const documents = withAggregatedOpenApi(BASE, { apiServices: () => [known], find, ask, clock, log: SILENT_LOG });
  return { documents, outbound, world, known };
}

const BASE: OpenApiDocuments = {
  index: () => Promise.resolve(createIndex(new Map([["api/v1", "A"]]))),
  find: () => Promise.resolve({ kind: "unknown" }),
  v2: () => Promise.resolve(withHash(json(BASE_V2))),
  v2Protobuf: () => Promise.resolve(withHash(Buffer.from("own"))),
};

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
