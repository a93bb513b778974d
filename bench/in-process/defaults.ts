/**
 * Measures what defaults on read cost, in a server with them and a server without them, whose rounds alternate: GETs and
 * lists of pods that another program has stored, and the receipt of such pods from the store, which is the only place where
 * the server adds defaults.
 */
import { objectAt, objectsAt, type JsonObject } from "../../src/meta/json.ts";
import { assembleServer, type Server } from "../../src/server/build-server.ts";
import { resolveOptions } from "../../src/server/config.ts";
import { KUBERNETES } from "../../src/server/kubernetes/assembly.ts";
import { createFoundation } from "../../src/server/foundation.ts";
import { createEntry, type AddDefaults } from "../../src/storage/watch-cache/entry.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { LIST_COUNT, LIST_NAMESPACE, NUMBER_MARK, podText } from "../objects.ts";
import type { DefaultsSamples, Measurement } from "./protocol.ts";

const US_PER_MS = 1_000;
const PODS = `/api/v1/namespaces/${LIST_NAMESPACE}/pods`;
const GETS_PER_LIST = 2_000;

interface Subject {
  readonly world: World;
  readonly server: Server;
  readonly addDefaults: AddDefaults | undefined;
}

/** `count`: lists per round. Each sample is the CPU time in µs for a GET, or for one object of a list or of the store. */
export async function measureDefaults({
  rounds,
  count,
}: Extract<Measurement, { kind: "defaults" }>): Promise<DefaultsSamples> {
  const [without, withDefaults] = [await start(false), await start(true)];
  const complete = await completePods(withDefaults);
  const lacking = complete.map(withoutDefaults);
  const cases = [
    ["a GET", (subject: Subject) => gets(subject, count * GETS_PER_LIST)],
    ["an object of a list", (subject: Subject) => lists(subject, count)],
    ["a complete object, received", ({ addDefaults }: Subject) => received(complete, addDefaults, count)],
    ["an object without defaults, received", ({ addDefaults }: Subject) => received(lacking, addDefaults, count)],
  ] as const;
  const samples: Record<string, { floor: number; ours: number }[]> = {};
  for (const [name, measure] of cases) {
    const pairs: { floor: number; ours: number }[] = [];
    for (let round = -1; round < rounds; round++) {
      const pair = { floor: await measure(without), ours: await measure(withDefaults) };
      // The first round only warms up the compiler.
      if (round >= 0) pairs.push(pair);
    }
    samples[name] = pairs;
  }
  return samples;
}

async function start(hasDefaults: boolean): Promise<Subject> {
  const world = new World({ seed: 1 });
  const access = {
    authorizationModes: ["AlwaysAllow"],
    anonymousAuth: true,
    disableAdmissionPlugins: ["ServiceAccount"],
  };
  const config = resolveOptions({ storage: { kind: "memory" }, strictRelease: true, access });
  const { addDefaults: _added, ...assembly } = KUBERNETES;
  const server = await assembleServer(world.env, config, hasDefaults ? KUBERNETES : assembly);
  await world.run(server.ready);
  const call = (method: string, target: string, body: JsonObject): Promise<{ readonly status: number }> =>
    world.run(server.call({ method, target, body }));
  await call("POST", "/api/v1/namespaces", { metadata: { name: LIST_NAMESPACE } });
  for (let number = 0; number < LIST_COUNT; number++) {
    const { status } = await call("POST", PODS, pod(number));
    if (status !== 201) throw new Error(`a pod was not created: ${status}`);
  }
  return {
    world,
    server,
    addDefaults: hasDefaults ? KUBERNETES.addDefaults?.(createFoundation(world.env, config)) : undefined,
  };
}

function pod(number: number): JsonObject {
  return JSON.parse(podText(LIST_NAMESPACE).replaceAll(NUMBER_MARK, String(number).padStart(8, "0"))) as JsonObject;
}

async function completePods({ world, server }: Subject): Promise<Buffer[]> {
  const { body } = await read(world, server, PODS);
  return objectsAt(JSON.parse(body) as JsonObject, "items").map((item) => {
    const { resourceVersion: _revision, ...metadata } = objectAt(item, "metadata");
    return Buffer.from(JSON.stringify({ kind: "Pod", apiVersion: "v1", ...item, metadata }));
  });
}

/** As the pod would be stored before a default of a later release. */
function withoutDefaults(value: Buffer): Buffer {
  const object = JSON.parse(value.toString()) as JsonObject;
  const { schedulerName: _name, ...spec } = objectAt(object, "spec");
  return Buffer.from(JSON.stringify({ ...object, spec }));
}

async function read(world: World, server: Server, target: string): Promise<{ readonly body: string }> {
  const response = await world.run(server.call({ method: "GET", target }));
  return { body: await world.run(response.text()) };
}

async function gets({ server }: Subject, count: number): Promise<number> {
  return perUnit(count, async () => {
    for (let index = 0; index < count; index++) {
      const name = `pod-${String(index % LIST_COUNT).padStart(8, "0")}`;
      const response = await server.call({ method: "GET", target: `${PODS}/${name}` });
      if (response.status !== 200) throw new Error(`a GET returned ${response.status}`);
    }
  });
}

async function lists({ server }: Subject, count: number): Promise<number> {
  return perUnit(count * LIST_COUNT, async () => {
    for (let index = 0; index < count; index++) {
      const response = await server.call({ method: "GET", target: PODS });
      if (response.status !== 200) throw new Error(`a list returned ${response.status}`);
    }
  });
}

function received(values: readonly Buffer[], addDefaults: AddDefaults | undefined, count: number): Promise<number> {
  const key = `/registry/pods/${LIST_NAMESPACE}/pod`;
  return perUnit(count * values.length, () => {
    for (let index = 0; index < count; index++)
      for (const value of values) createEntry({ key, value, modRevision: 1, createRevision: 1 }, { addDefaults });
  });
}

async function perUnit(units: number, work: () => void | Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return ((user + system) / 1000 / units) * US_PER_MS;
}
