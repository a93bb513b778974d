import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { World } from "../../../tools/simulator/world.ts";
import type { ApiResponse, StreamSink } from "../message.ts";
import { OpenRequests } from "../open-requests.ts";
import { infoRequest } from "../../../../test/testing/serving/http/requests.ts";
import { webSocket } from "./web-socket.ts";

const CONNECTION = { protocol: "http/1.1", remoteAddress: "192.0.2.1", clientChain: [] } as const;
const HEADERS = {
  ...{ connection: "Upgrade", upgrade: "websocket", origin: "https://console.example.com" },
  ...{ "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version": "13" },
};
const PING = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);

class Client extends Duplex {
  readonly received: Buffer[] = [];
  isReading = true;

  constructor() {
    super({ writableHighWaterMark: 100 });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.received.push(chunk);
    if (this.isReading) done();
  }
}

async function watched(
  contentType = "application/json",
): Promise<{ client: Client; sink: StreamSink; open: OpenRequests }> {
  const [open, client] = [new OpenRequests(), new Client()];
  const { promise, resolve } = Promise.withResolvers<StreamSink>();
  const response: ApiResponse = {
    status: 200,
    headers: { "content-type": contentType },
    body: { kind: "stream", open: resolve },
  };
  const request = { ...infoRequest({ url: "/api/v1/pods?watch=1", headers: HEADERS }), connection: CONNECTION };
  const handler = webSocket(new World({ seed: 1 }).clock)(() => open.through("watch", () => Promise.resolve(response)));
  const { status, body } = await handler(request);
  expect(status).toBe(101);
  if (body.kind === "upgrade") body.open(client);
  return { client, sink: await promise, open };
}

test.each([
  ["application/json", 0x81],
  ["application/vnd.kubernetes.protobuf;stream=watch", 0x82],
])("watch events of type %s are sent as WebSocket messages whose first byte is %i", async (contentType, first) => {
  const { client, sink } = await watched(contentType);
  sink.write({ bytes: Buffer.from("{}\n") });
  expect(Buffer.concat(client.received)).toEqual(Buffer.from([first, 3, 0x7b, 0x7d, 0x0a]));
});

test("a shutdown ends a WebSocket watch with a close frame", async () => {
  const { client, open } = await watched();
  expect(open.watches).toBe(1);
  await open.endWatches({ clock: new World({ seed: 1 }).clock, graceMs: 0 });
  expect(Buffer.concat(client.received)).toEqual(Buffer.from([0x88, 2, 0x03, 0xe8]));
  expect(client.writableEnded).toBe(true);
  client.destroy();
  await new Promise(setImmediate);
  expect(open.watches).toBe(0);
});

test("a client that sends pings and does not read cannot make the server buffer many pongs", async () => {
  const { client } = await watched();
  client.isReading = false;
  for (let sent = 0; sent < 10_000; sent++) client.push(PING);
  await new Promise(setImmediate);
  expect(client.writableLength).toBeLessThan(1_000);
});

test("a response other than a stream passes unchanged", async () => {
  const request = { ...infoRequest({ url: "/api/v1/pods", headers: HEADERS }), connection: CONNECTION };
  const response: ApiResponse = { status: 200, headers: {}, body: { kind: "none" } };
  expect(await webSocket(new World({ seed: 1 }).clock)(() => Promise.resolve(response))(request)).toBe(response);
});
