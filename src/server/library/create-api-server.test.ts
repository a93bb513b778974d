import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { expect, test } from "vitest";
import { GADGET } from "../../../test/testing/server/api-server/start-api-server.ts";
import { createApiServer, type ApiServerOptions } from "./create-api-server.ts";

const OPTIONS: ApiServerOptions = {
  component: "things-apiserver",
  resources: [GADGET],
  storage: { kind: "memory" },
  listen: { port: 0 },
};

test("createApiServer generates a certificate that its CA verifies, and every call to stop waits until the server has stopped", async () => {
  const server = await createApiServer(OPTIONS);
  await server.ready;
  const asked = request(`${server.url}/readyz`, { ca: server.ca!, agent: false }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  response.resume();
  await Promise.all([server.stop(), server.stop(), server[Symbol.asyncDispose]()]);
  const [rejected] = (await once(request(server.url, { agent: false }).end(), "error")) as [NodeJS.ErrnoException];
  expect(rejected.code).toBe("ECONNREFUSED");
});

test.each<[string, Partial<ApiServerOptions>, string]>([
  ["no component", { component: "" }, 'the component must be a name such as wardle-apiserver, not ""'],
  ["a component that is not a name", { component: "a b" }, "the component must be a name such as wardle-apiserver"],
  ["no resource", { resources: [] }, "an API server needs at least one resource"],
  ["an invalid token file", { authentication: { tokens: "alone" } }, "line 1 of the token file must have at least"],
  ["etcd storage without endpoints", { storage: { kind: "etcd", endpoints: [] } }, "etcd"],
])("createApiServer rejects %s", async (_, options, message) => {
  await expect(createApiServer({ ...OPTIONS, ...options })).rejects.toThrow(message);
});
