import { expect, test } from "vitest";
import type { Resolution } from "./service-resolver.ts";
import type { Outbound, OutboundRequest } from "../../serving/http/outbound.ts";
import { UpstreamError, type UpstreamResponse } from "../../serving/http/upstream.ts";
import type { JsonObject } from "../../meta/json.ts";
import { World } from "../../tools/simulator/world.ts";
import { createWebhookClient } from "./webhook-client.ts";

const OK: UpstreamResponse = { status: 200, headers: [], body: { kind: "bytes", chunks: [Buffer.from("{}")] } };
const UNSENT = { isSent: false } as const;
const ADDRESSES = [
  { host: "10.0.0.1", port: 8443 },
  { host: "10.0.0.2", port: 8443 },
];

class Asked {
  readonly requests: OutboundRequest[] = [];
  /** Errors with which the first requests fail, in order. */
  readonly failures: UpstreamError[] = [];
  readonly #clock = new World({ seed: 1 }).clock;

  readonly #outbound: Outbound = {
    send: (request) => {
      this.requests.push(request);
      const failure = this.failures.shift();
      return failure === undefined ? Promise.resolve(OK) : Promise.reject(failure);
    },
    close: () => Promise.resolve(),
  };

  call(clientConfig: JsonObject, hasOutbound = true): ReturnType<ReturnType<typeof createWebhookClient>> {
    const client = createWebhookClient({
      clock: this.#clock,
      outbound: hasOutbound ? this.#outbound : undefined,
      resolve: ({ name }) =>
        Promise.resolve(
          name === "hook"
            ? { kind: "resolved", addresses: ADDRESSES }
            : { kind: "unresolved", message: `service "${name}" not found` },
        ),
    });
    return client(clientConfig, "{}", { timeoutMs: 30_000 });
  }
}

test.each<[clientConfig: JsonObject, address: string, serverName: string, target: string]>([
  [{ url: "https://hook.example.com" }, "hook.example.com 443", "hook.example.com", "/?timeout=30s"],
  [{ url: "https://10.1.2.3:99/a/b/" }, "10.1.2.3 99", "10.1.2.3", "/a/b?timeout=30s"],
  [{ url: "https://[::1]:99//a" }, "::1 99", "::1", "/a?timeout=30s"],
  [{ service: { namespace: "n", name: "hook" } }, "10.0.0.1 8443", "hook.n.svc", "/?timeout=30s"],
  [{ service: { namespace: "n", name: "hook", path: "a b?c" } }, "10.0.0.1 8443", "hook.n.svc", "/a%20b?timeout=30s"],
])(
  "a webhook with %j is called at its address, with its server name and path",
  async (clientConfig, address, serverName, target) => {
    const asked = new Asked();
    await asked.call(clientConfig);
    expect(asked.requests).toMatchObject([{ method: "POST", target, to: { serverName } }]);
    const { host, port } = asked.requests[0]!.to.address;
    expect(`${host} ${port}`).toBe(address);
  },
);

test("the CA bundle is used to verify the webhook; with an empty bundle, the system roots are used", async () => {
  const asked = new Asked();
  const url = "https://hook";
  for (const pem of ["pem", " \n", ""]) await asked.call({ url, caBundle: Buffer.from(pem).toString("base64") });
  expect(asked.requests.map(({ to }) => [to.caBundle, to.insecureSkipTlsVerify])).toEqual([
    ["pem", false],
    [undefined, false],
    [undefined, false],
  ]);
});

test("the endpoints of a Service are tried one after the other until one responds or all have failed", async () => {
  const asked = new Asked();
  const rejected = (): UpstreamError => new UpstreamError("connect", "no", { ...UNSENT, isRefused: true });
  asked.failures.push(rejected());
  await asked.call({ service: { namespace: "n", name: "hook" } });
  expect(asked.requests.map(({ to }) => to.address.host)).toEqual(["10.0.0.1", "10.0.0.2"]);
  asked.failures.push(rejected(), rejected(), rejected());
  await expect(asked.call({ service: { namespace: "n", name: "hook" } })).rejects.toThrow(
    'Post "https://hook.n.svc:443/?timeout=30s": dial tcp 10.0.0.1:8443: connect: connection refused',
  );
});

test.each<[failure: UpstreamError, requests: number, message: string]>([
  [new UpstreamError("timeout", "late", { isSent: true }), 1, "context deadline exceeded"],
  [new UpstreamError("malformed", "what?", { isSent: true }), 1, "what?"],
])(
  "a request that was sent and timed out or got a malformed response is not repeated: %s",
  async (failure, requests, message) => {
    const asked = new Asked();
    asked.failures.push(failure);
    await expect(asked.call({ url: "https://hook" })).rejects.toThrow(`Post "https://hook/?timeout=30s": ${message}`);
    expect(asked.requests).toHaveLength(requests);
  },
);

test("a webhook whose certificate has an unknown CA returns Go's error message", async () => {
  const asked = new Asked();
  const cause = Object.assign(new Error("unable to verify"), { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
  asked.failures.push(...[1, 2].map(() => new UpstreamError("tls", "no connection", { ...UNSENT, cause })));
  await expect(asked.call({ url: "https://hook.example.com" })).rejects.toThrow(
    'Post "https://hook.example.com/?timeout=30s": tls: failed to verify certificate: x509: certificate signed by unknown authority',
  );
});

test("a request is repeated if the webhook has closed the reused connection", async () => {
  const asked = new Asked();
  asked.failures.push(new UpstreamError("reset", "closed", { isSent: true }));
  expect(await asked.call({ url: "https://hook" })).toMatchObject({ status: 200 });
});

test.each<[clientConfig: JsonObject, message: string]>([
  [{}, "webhook configuration must have either service or URL"],
  [{ url: "http://hook" }, 'Unparsable URL: "http://hook"'],
  [{ service: { namespace: "n", name: "x" } }, 'Post "https://x.n.svc:443/?timeout=30s": service "x" not found'],
])("a clientConfig %j returns an error", async (clientConfig, message) => {
  await expect(new Asked().call(clientConfig)).rejects.toThrow(message);
});

test("the call ends when the client disconnects, and no other endpoint is tried", async () => {
  const requests: OutboundRequest[] = [];
  const outbound: Outbound = {
    send: (request) => {
      requests.push(request);
      return new Promise((_, reject) => {
        request.signal.addEventListener("abort", () =>
          reject(new UpstreamError("aborted", "the request was aborted", UNSENT)),
        );
      });
    },
    close: () => Promise.resolve(),
  };
  const resolve = (): Promise<Resolution> => Promise.resolve({ kind: "resolved", addresses: ADDRESSES });
  const client = createWebhookClient({ clock: new World({ seed: 1 }).clock, outbound, resolve });
  const leaving = new AbortController();
  const call = client({ url: "https://hook.example.com" }, "{}", { timeoutMs: 30_000, signal: leaving.signal });
  setImmediate(() => leaving.abort());
  await expect(call).rejects.toThrow("the request was aborted");
  expect(requests).toHaveLength(1);
});

test("a server without an outbound client returns an error", async () => {
  await expect(new Asked().call({ url: "https://hook" }, false)).rejects.toThrow(
    'Post "https://hook/?timeout=30s": outbound requests are disabled on this server',
  );
});
