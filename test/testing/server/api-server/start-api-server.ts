/**
 * Starts an API server with a widget resource, built with the library, in a world with virtual time and without
 * sockets.
 */
import { callInProcess } from "../../../../src/client/in-process.ts";
import type { Client } from "../../../../src/client/client.ts";
import { invalidValue } from "../../../../src/meta/field-errors.ts";
import { objectAt, type JsonObject } from "../../../../src/meta/json.ts";
import type { World } from "../../../../src/tools/simulator/world.ts";
import type { Kv } from "../../../../src/storage/kv.ts";
import { resolveOptions } from "../../../../src/server/config.ts";
import { assembleServer, type Server } from "../../../../src/server/build-server.ts";
import { libraryAssembly } from "../../../../src/server/library/assembly.ts";
import type { ResourceDefinition } from "../../../../src/extensions/library/resource-definition.ts";
import { ownResources } from "../../../../src/extensions/library/resource-table.ts";
import { gatesOf } from "../../../../src/objects/catalog/release-gates.ts";

export const GROUP = "things.example.com";
export const COMPONENT = "things-apiserver";
export const WIDGETS = `/apis/${GROUP}/v2/namespaces/shop/widgets`;

const SPEC: JsonObject = { size: { type: "integer", default: 1, minimum: 0 }, color: { type: "string" } };

function schema(spec: JsonObject): JsonObject {
  const status = { type: "object", properties: { ready: { type: "boolean" }, replicas: { type: "integer" } } };
  return { type: "object", properties: { spec: { type: "object", default: {}, properties: spec }, status } };
}

/** A resource in two versions: the field `color` of v2 is named `hue` in v1. */
export const WIDGET: ResourceDefinition = {
  group: GROUP,
  names: { plural: "widgets", kind: "Widget", shortNames: ["wd"], categories: ["all"] },
  scope: "Namespaced",
  versions: [
    {
      name: "v2",
      status: true,
      schema: schema(SPEC),
      scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.replicas" },
      printerColumns: [{ name: "Color", type: "string", jsonPath: ".spec.color" }],
      selectableFields: [".spec.color"],
      setDefaults: (object) => void (objectAt(object, "spec")["color"] ??= "grey"),
      prepareCreate: (object) => void (object["spec"] = { ...objectAt(object, "spec"), size: 3 }),
      *validate(object, existing) {
        const { color } = objectAt(object, "spec");
        if (color === "red" && existing === undefined)
          yield invalidValue("spec.color", color, "is reserved for warnings");
      },
      *warnings(object) {
        if (objectAt(object, "spec")["color"] === "pink") yield "pink fades";
      },
    },
    { name: "v1", schema: schema({ hue: { type: "string" }, size: SPEC["size"] }), deprecated: true },
  ],
  convert(object, to) {
    const { hue, color = hue, ...spec } = objectAt(object, "spec");
    return { ...object, spec: { ...spec, ...(to.endsWith("/v1") ? { hue: color } : { color }) } };
  },
};

export const GADGET: ResourceDefinition = {
  group: GROUP,
  names: { plural: "gadgets", kind: "Gadget" },
  scope: "Cluster",
  versions: [{ name: "v1", schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }],
};

/** Tests read responses without types: if a field is missing, the expectation fails and not the compilation. */
export type Json = any; // oxlint-disable-line typescript/no-explicit-any -- see above

export interface ApiServerStart {
  readonly resources?: readonly ResourceDefinition[];
  readonly main?: Client;
  readonly serverId?: string;
  readonly kv?: () => Kv;
  readonly isAwaited?: boolean;
}

export class TestApiServer {
  readonly world: World;
  readonly server: Server;

  constructor(world: World, server: Server) {
    this.world = world;
    this.server = server;
  }

  async call(method: string, target: string, body?: object, headers: Record<string, string> = {}): Promise<Json> {
    const asked = async (): Promise<Json> => {
      const response = await callInProcess(this.server.handle, {
        ...{ method, target, ...(body === undefined ? {} : { body }) },
        headers: headers["authorization"] === "" ? {} : { authorization: "Bearer secret", ...headers },
      });
      const text = await response.text();
      const isJson = String(response.headers["content-type"]).includes("json");
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    };
    return this.world.run(asked());
  }

  get(target: string, headers?: Record<string, string>): Promise<Json> {
    return this.call("GET", target, undefined, headers);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.endWatches();
    await this.world.run(this.server.close());
  }
}

export async function startApiServer(world: World, options: ApiServerStart = {}): Promise<TestApiServer> {
  const { resources = [WIDGET, GADGET], main, serverId = "things-1", kv, isAwaited = true } = options;
  const env = kv === undefined ? world.env : { ...world.env, openKv: () => Promise.resolve(kv()) };
  const config = resolveOptions({
    storage: { kind: "memory" },
    strictRelease: true,
    controllers: [],
    etcdPrefix: "/things",
    tokenFile: "secret,tester,tester",
    peers: { serverId },
  });
  const parts = {
    component: COMPONENT,
    resources: ownResources(resources, gatesOf("1.36")),
    main,
    authorizer: undefined,
  };
  const server = await assembleServer(env, config, libraryAssembly(parts));
  if (isAwaited) await world.run(server.ready);
  return new TestApiServer(world, server);
}

export function widget(name: string, spec: JsonObject = {}, version = "v2"): JsonObject {
  return { apiVersion: `${GROUP}/${version}`, kind: "Widget", metadata: { name }, spec };
}
