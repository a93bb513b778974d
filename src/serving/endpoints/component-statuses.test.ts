import { expect, test } from "vitest";
import type { WithInfo } from "../http/filters/request-info.ts";
import { componentStatusesEndpoint } from "./component-statuses.ts";
import type { ResourceEndpoint } from "./endpoint.ts";
import { negotiateRepresentation } from "./render/negotiate.ts";

const ENDPOINT: ResourceEndpoint = {
  group: "",
  version: "v1",
  resource: "componentstatuses",
  kind: "ComponentStatus",
  namespaced: false,
  verbs: new Set(["get", "list"]),
  subresources: new Map(),
  deprecation: undefined,
  served: undefined,
};

function ask(verb: "get" | "list", accept: string, name = ""): unknown {
  const request = { info: { verb, name }, query: { get: () => undefined } } as unknown as WithInfo;
  const { body } = componentStatusesEndpoint(ENDPOINT, request, negotiateRepresentation(accept, "list"));
  if (body.kind !== "bytes") throw new Error("the response has no body");
  return JSON.parse(Buffer.concat(body.chunks).toString("utf8"));
}

test("the list of component statuses is empty in every representation", () => {
  expect(ask("list", "application/json")).toEqual({
    kind: "ComponentStatusList",
    apiVersion: "v1",
    metadata: {},
    items: [],
  });
  expect(ask("list", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")).toEqual({
    kind: "PartialObjectMetadataList",
    apiVersion: "meta.k8s.io/v1",
    metadata: {},
    items: [],
  });
  const table = ask("list", "application/json;as=Table;v=v1;g=meta.k8s.io") as {
    columnDefinitions: { name: string }[];
  };
  expect(table).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1", metadata: {}, rows: [] });
  expect(table.columnDefinitions.map(({ name }) => name)).toEqual(["Name", "Status", "Message", "Error"]);
});

test("a component status is not found", () => {
  expect(() => ask("get", "application/json", "etcd-0")).toThrow('componentstatus "etcd-0" not found');
});
