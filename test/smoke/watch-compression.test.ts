/** Watches of a real process that send the initial objects, with and without compression. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startEvenkeel, TOKEN, type Evenkeel } from "./start-evenkeel.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
const OBJECTS = 300;

async function opened(server: Evenkeel, query: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${TOKEN}`, "accept-encoding": "gzip" };
  const path = `${CONFIG_MAPS}?watch=true&${query}`;
  const request = httpsRequest(server.url + path, { ca: server.ca, headers, agent: false });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  return response;
}

function configMap(name: string): object {
  return { metadata: { name }, data: { text: "word ".repeat(200) } };
}

describe("a server of release 1.37", () => {
  test("compresses the initial objects and the changes of a watch, so that the client can decode each at once", async () => {
    await using server = await startEvenkeel({ flags: ["--release", "1.37"] });
    for (let index = 0; index < OBJECTS; index++)
      expect((await server.request("POST", CONFIG_MAPS, configMap(`c-${index}`))).status).toBe(201);
    const response = await opened(server, INITIAL);
    expect(response.headers["content-encoding"]).toBe("gzip");
    expect(response.headers.vary).toBe("Accept-Encoding");
    let bytes = 0;
    response.on("data", (chunk: Buffer) => (bytes += chunk.length));
    const lines = createInterface(response.pipe(createGunzip()))[Symbol.asyncIterator]();
    const next = async (): Promise<{ type: string; object: { metadata: { name?: string } } }> =>
      JSON.parse((await lines.next()).value as string);
    const names = new Set<string>();
    for (let event = await next(); event.type !== "BOOKMARK"; event = await next())
      names.add(event.object.metadata.name!);
    for (let index = 0; index < OBJECTS; index++) expect(names.has(`c-${index}`)).toBe(true);
    // Each object has more than 1,000 bytes.
    expect(bytes).toBeLessThan((OBJECTS * 1_000) / 5);
    for (const name of ["later-1", "later-2"]) {
      expect((await server.request("POST", CONFIG_MAPS, configMap(name))).status).toBe(201);
      expect(await next()).toMatchObject({ type: "ADDED", object: { metadata: { name } } });
    }
    response.destroy();
  });

  test("does not compress a watch that starts at a resourceVersion", async () => {
    await using server = await startEvenkeel({ flags: ["--release", "1.37"] });
    const response = await opened(server, "resourceVersion=0");
    expect(response.headers["content-encoding"]).toBeUndefined();
    response.destroy();
  });
});

test("a server of release 1.36 compresses no watch", async () => {
  await using server = await startEvenkeel({ flags: ["--release", "1.36"] });
  const response = await opened(server, INITIAL);
  expect(response.headers["content-encoding"]).toBeUndefined();
  response.destroy();
});
