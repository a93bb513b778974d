/** CRDs for tests, and their instances. */
import { expect } from "vitest";
import type { ApiTestResponse, Json, TestServer } from "../start.ts";

export const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const GROUP = "test.example.com";
export const WIDGETS = `/apis/${GROUP}/v1/namespaces/default/widgets`;

/** A schema that allows every field. */
export const ANYTHING: Json = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export function schemaOf(spec: Json, more: Json = {}): Json {
  return { type: "object", properties: { spec: { type: "object", properties: spec }, ...more } };
}

export function version(name: string, schema: Json = ANYTHING, more: Json = {}): Json {
  return { name, served: true, storage: name === "v1", schema: { openAPIV3Schema: schema }, ...more };
}

export function definition(versions: readonly Json[] = [version("v1")], more: Json = {}): Json {
  const { names, metadata, ...spec } = more;
  const named = { plural: "widgets", kind: "Widget", ...names };
  const group = spec.group ?? GROUP;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${named.plural}.${group}`, ...metadata },
    spec: { group, scope: "Namespaced", names: named, versions, ...spec },
  };
}

/** Creates the CRD and waits until its names are accepted or rejected. */
export async function define(api: TestServer, object: Json = definition()): Promise<Json> {
  const created = await api.create(DEFINITIONS, object);
  expect(created.body.message).toBeUndefined();
  await api.world.advance(100);
  return (await api.get(`${DEFINITIONS}/${object.metadata.name}`)).body;
}

/** Changes the spec of the CRD with a PUT at its current resource version. */
export async function redefine(api: TestServer, name: string, change: (spec: Json) => Json): Promise<ApiTestResponse> {
  const { body } = await api.get(`${DEFINITIONS}/${name}`);
  const response = await api.put(`${DEFINITIONS}/${name}`, { ...body, spec: change(body.spec) });
  await api.world.advance(100);
  return response;
}

export function condition(object: Json, type: string): Json {
  return object.status.conditions.find((candidate: Json) => candidate.type === type);
}

export function widget(name: string, more: Json = {}): Json {
  const { metadata, ...rest } = more;
  return { apiVersion: `${GROUP}/v1`, kind: "Widget", metadata: { name, ...metadata }, ...rest };
}

export function applyPatch(api: TestServer, target: string, body: Json): Promise<ApiTestResponse> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return api.call("PATCH", target, text, { headers: { "content-type": "application/apply-patch+yaml" } });
}
