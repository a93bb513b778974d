import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { failureOf } from "./node-failures.ts";
import { createNodeTransport } from "./node-transport.ts";

const coded = (code: string, cause?: unknown): Error => Object.assign(new Error(code, { cause }), { code });

test.each([
  ["ECONNREFUSED", "refused"],
  ["ECONNRESET", "reset"],
  ["UND_ERR_SOCKET", "reset"],
  ["ETIMEDOUT", "timeout"],
  ["CERT_HAS_EXPIRED", "other"],
  ["toString", "other"],
])('the error code %s is classified as "%s"', (code, failure) => {
  expect(failureOf({ error: coded(code), wasSent: true })).toBe(failure);
  expect(failureOf({ error: new TypeError("fetch failed", { cause: coded(code) }), wasSent: true })).toBe(failure);
});

test('a request that undici could not send because of a graceful GOAWAY is "refused"; after any other GOAWAY it is "reset"', () => {
  const goaway = (code: number, name: string): Error =>
    Object.assign(new Error(`HTTP/2: "GOAWAY" frame received with code ${code}`), { code: name });
  const graceful = goaway(0, "UND_ERR_INFO");
  expect(failureOf({ error: graceful, wasSent: true })).toBe("refused");
  expect(failureOf({ error: new TypeError("fetch failed", { cause: graceful }), wasSent: true })).toBe("refused");
  expect(failureOf({ error: goaway(2, "UND_ERR_SOCKET"), wasSent: true })).toBe("reset");
  expect(failureOf({ error: coded("UND_ERR_INFO"), wasSent: true })).toBe("other");
});

test('a connection that breaks before anything was sent is "refused", but an invalid certificate is "other"', () => {
  for (const code of ["ECONNRESET", "ETIMEDOUT"])
    expect(failureOf({ error: coded(code), wasSent: false })).toBe("refused");
  expect(failureOf({ error: coded("CERT_HAS_EXPIRED"), wasSent: false })).toBe("other");
  expect(failureOf({ error: "thrown", wasSent: false })).toBe("other");
});

test('a transport reports "refused" if the connection breaks before it is established, and "reset" if it breaks later', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const send = async (protocol: string): Promise<unknown> => {
    using transport = createNodeTransport({ url: `${protocol}://127.0.0.1:${port}` });
    return await transport.send({ method: "POST", target: "/", headers: {}, body: new Uint8Array(1) });
  };
  await expect(send("https")).rejects.toMatchObject({ failure: "refused" });
  await expect(send("http")).rejects.toMatchObject({ failure: "reset" });
  server.close();
});
