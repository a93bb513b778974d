/** Webhooks that change and refuse writes: behind real TLS, because that is where most goes wrong. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { InProcessRequest } from "../../src/client/in-process.ts";
import { headerValue } from "../../src/http/message.ts";
import { buildServer, type Server } from "../../src/server/build-server.ts";
import { resolveOptions } from "../../src/server/config.ts";
import { createNodeEnv } from "../../src/server/env-node.ts";
import { createMemoryKv } from "../../src/storage/kv-memory/kv.ts";
import { AdmissionWebhook, jsonPatch } from "./admission-webhook-server.ts";
import type { Json } from "./start.ts";

const CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1";
const MAPS = "/api/v1/namespaces/default/configmaps";

let webhook: AdmissionWebhook;
let server: Server;

beforeEach(async () => {
  webhook = new AdmissionWebhook();
  await webhook.start();
  const env = createNodeEnv({ logLevel: "error", write: () => undefined });
  const kv = createMemoryKv({ clock: env.clock });
  server = await buildServer(
    { ...env, openKv: () => Promise.resolve(kv) },
    resolveOptions({
      storage: { kind: "memory" },
      strictRelease: true,
      peers: { hostname: "here" },
    }),
  );
  await server.ready;
});

afterEach(async () => {
  server.endWatches();
  await server.close();
  await webhook.stop();
});

async function ask(method: string, target: string, body?: Json): Promise<Json> {
  const headers: Record<string, string> = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
  const request: InProcessRequest = {
    method,
    target,
    headers,
    ...(body === undefined ? {} : { body }),
  };
  const response = await server.call(method === "PATCH" ? { ...request, body: JSON.stringify(body) } : request);
  const answer = JSON.parse(await response.text());
  return {
    ...answer,
    httpStatus: response.status,
    warning: headerValue(response.headers, "warning"),
  };
}

/** Returns when the server asks every one of them; what they were asked until then is forgotten. */
async function configure(...configurations: readonly Json[]): Promise<void> {
  for (const object of configurations) {
    const { code, message } = await ask("POST", `${CONFIGURATIONS}/${object.kind.toLowerCase()}s`, object);
    expect([code, message]).toEqual([undefined, undefined]);
  }
  const count = configurations.flatMap(({ webhooks }) => webhooks).length;
  // Each of them has a path of its own.
  await expect
    .poll(async () => {
      await ask("POST", `${MAPS}?dryRun=All`, map("probe"));
      return new Set(webhook.targets).size;
    })
    .toBe(count);
  webhook.asked.length = 0;
  webhook.targets.length = 0;
}

const map = (name: string, data: Json = { a: "1" }): Json => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data,
});

describe("a validating webhook", () => {
  test("is told of every write, and what it says against one is what the client is told", async () => {
    await configure(webhook.configuration("Validating", "v", {}));
    await ask("POST", MAPS, map("one"));
    await ask("PUT", `${MAPS}/one`, map("one", { a: "2" }));
    await ask("PATCH", `${MAPS}/one`, { data: { a: "3" } });
    await ask("DELETE", `${MAPS}/one`);
    expect(webhook.targets).toEqual(Array.from({ length: 4 }, () => "/?timeout=5s"));
    expect(
      webhook.asked.map(({ request }) => [request.operation, request.oldObject?.data, request.object?.data]),
    ).toEqual([
      ["CREATE", undefined, { a: "1" }],
      ["UPDATE", { a: "1" }, { a: "2" }],
      ["UPDATE", { a: "2" }, { a: "3" }],
      ["DELETE", { a: "3" }, undefined],
    ]);
    webhook.answer = () => ({
      allowed: false,
      status: { code: 418, reason: "Tea", message: "no" },
      warnings: ["hot"],
    });
    const refused = await ask("POST", MAPS, map("two"));
    expect(refused).toMatchObject({ kind: "Status", status: "Failure", reason: "Tea", code: 418, httpStatus: 418 });
    expect(refused.message).toBe('admission webhook "v.example.com" denied the request: no');
    expect(refused.warning).toBe('299 - "hot"');
    expect(await ask("GET", `${MAPS}/two`)).toMatchObject({ reason: "NotFound" });
  });

  test("that fails stands in the way, unless it is not to", async () => {
    await configure(webhook.configuration("Validating", "v", {}));
    webhook.answer = () => ({ httpStatus: 500, text: "boom" });
    expect(await ask("POST", MAPS, map("one"))).toMatchObject({
      reason: "InternalError",
      message: expect.stringMatching(
        /^Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: /,
      ),
    });
    const { webhooks } = webhook.configuration("Validating", "v", { failurePolicy: "Ignore" });
    const open = await ask("PATCH", `${CONFIGURATIONS}/validatingwebhookconfigurations/v`, {
      webhooks,
    });
    expect(open).toMatchObject({ webhooks: [{ failurePolicy: "Ignore" }] });
    await expect.poll(async () => (await ask("POST", MAPS, map("one"))).metadata?.name).toBe("one");
    expect(webhook.asked.length).toBeGreaterThan(1);
  });
});

describe("mutating webhooks", () => {
  test("make of an object what is stored and what validating ones see, and are asked again when it has changed", async () => {
    await configure(
      webhook.configuration("Mutating", "b", { path: "/b" }),
      webhook.configuration("Mutating", "a", { path: "/a", reinvocationPolicy: "IfNeeded" }),
      webhook.configuration("Validating", "v", { path: "/v" }),
    );
    webhook.answer = (_, path) =>
      path === "/v"
        ? {}
        : jsonPatch({ op: "add", path: `/data${path}`, value: "x" }, { op: "add", path: "/unknown", value: 1 });
    const made = await ask("POST", MAPS, map("one"));
    expect(made.data).toEqual({ a: "x", b: "x" });
    expect(made.unknown).toBeUndefined();
    expect(webhook.targets.map((target) => target.slice(1, 2))).toEqual(["a", "b", "a", "v"]);
    expect(webhook.asked.at(-1).request.object.data).toEqual({ a: "x", b: "x" });
    expect(await ask("GET", `${MAPS}/one`)).toMatchObject({ data: { a: "x", b: "x" } });
  });

  test("cannot make an object invalid, nor put it elsewhere", async () => {
    await configure(webhook.configuration("Mutating", "m", {}));
    webhook.answer = () => jsonPatch({ op: "add", path: "/metadata/labels", value: { "-": "" } });
    expect(await ask("POST", MAPS, map("one"))).toMatchObject({ code: 422, reason: "Invalid" });
    webhook.answer = () => jsonPatch({ op: "replace", path: "/metadata/namespace", value: "kube-system" });
    expect(await ask("POST", MAPS, map("one"))).toMatchObject({
      code: 400,
      message: "the namespace of the provided object does not match the namespace sent on the request",
    });
    webhook.answer = () => jsonPatch({ op: "replace", path: "/data/a", value: 5 });
    expect(await ask("POST", MAPS, map("one"))).toMatchObject({
      code: 500,
      message:
        "Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
    });
  });
});

test("a webhook that refuses everything does not keep anybody from deleting its configuration", async () => {
  const everything = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
  await configure(webhook.configuration("Validating", "v", { rules: everything }));
  webhook.answer = () => ({ allowed: false });
  expect(await ask("POST", MAPS, map("one"))).toMatchObject({ code: 400 });
  expect(await ask("DELETE", `${CONFIGURATIONS}/validatingwebhookconfigurations/v`)).toMatchObject({
    status: "Success",
  });
  await expect.poll(async () => (await ask("POST", MAPS, map("one"))).metadata?.name).toBe("one");
});
