import { describe, expect, test } from "vitest";
import { NO_BODY, type ApiRequest, type RequestHeaders } from "../message.ts";
import { apiRequest } from "../../../../test/testing/serving/http/requests.ts";
import { NO_CLAIMS, stripIdentity, type WithClaims } from "./strip-identity.ts";

async function stripped(request: Partial<ApiRequest>): Promise<WithClaims> {
  const filter = stripIdentity({ headerNames: new Set(["X-Proxy-User"]), headerPrefixes: ["My-Extra-"] });
  const seen: WithClaims[] = [];
  await filter((one) => {
    seen.push(one);
    return Promise.resolve({ status: 200, headers: {}, body: NO_BODY });
  })({ ...apiRequest(), ...request });
  return seen[0]!;
}

/** Sends the header lines, parsed and raw, as a listener does. */
function sent(...lines: readonly (readonly [name: string, value: string])[]): Promise<WithClaims> {
  const headers: Record<string, string> = {};
  for (const [name, value] of lines) {
    const before = headers[name.toLowerCase()];
    headers[name.toLowerCase()] = before === undefined ? value : `${before}, ${value}`;
  }
  return stripped({ headers, rawHeaders: lines.flat() });
}

describe("the stripIdentity filter", () => {
  test.each([
    "X-Remote-User",
    "x-remote-user",
    "X-REMOTE-USER",
    "x-rEmOtE-uSeR",
    "X-Remote-Uid",
    "X-Remote-Group",
    "X-Remote-Extra-Scopes",
    "x-remote-extra-",
    "X-Remote-Extra-Example.com%2Fscope",
    "x-kubernetes-peer-proxied",
    "X-Kubernetes-Peer-Proxied",
    "X-Kubernetes-APIServer-Rerouted",
    "X-Evenkeel-Source",
    "X-PROXY-user",
    "my-EXTRA-thing",
  ])("moves %s to the claims", async (name) => {
    const request = await sent(["Host", "a"], [name, "root"], ["Accept", "*/*"]);
    expect(request.headers).toEqual({ host: "a", accept: "*/*" });
    expect(request.rawHeaders).toEqual(["Host", "a", "Accept", "*/*"]);
    expect([...request.claims]).toEqual([[name.toLowerCase(), ["root"]]]);
  });

  test.each([
    "X_Remote_User",
    "X-Remote_User",
    "X-Remote-Users",
    "X-Remote-Extra",
    "XX-Remote-User",
    "X-Forwarded-For",
    "X-Kubernetes-Compatibility-Version",
    "Authorization",
    "Impersonate-User",
  ])("keeps %s, which is a different header", async (name) => {
    const request = await sent([name, "root"]);
    expect(request.headers).toEqual({ [name.toLowerCase()]: "root" });
    expect(request.rawHeaders).toEqual([name, "root"]);
    expect(request.claims).toBe(NO_CLAIMS);
  });

  test("keeps each header line as a separate value, whatever its content and casing", async () => {
    const { claims } = await sent(
      ["X-Remote-Group", "a,b"],
      ["x-remote-group", ""],
      ["X-REMOTE-GROUP", "c"],
      ["X-Remote-User", "jane"],
    );
    expect([...claims]).toEqual([
      ["x-remote-group", ["a,b", "", "c"]],
      ["x-remote-user", ["jane"]],
    ]);
  });

  test.each(["X-Remote-User", "close, x-remote-user", "keep-alive", "x-kubernetes-peer-proxied, X-Remote-Group"])(
    "moves identity headers to the claims even if the request has Connection: %s",
    async (connection) => {
      const identity = [
        ["X-Remote-User", "jane"],
        ["X-Remote-Group", "a"],
        ["X-Kubernetes-Peer-Proxied", "true"],
      ] as const;
      const request = await sent(["Connection", connection], ...identity);
      expect(request.headers).toEqual({ connection });
      expect([...request.claims]).toEqual(identity.map(([name, value]) => [name.toLowerCase(), [value]]));
    },
  );

  test("reads the claims of an in-process request from its parsed headers", async () => {
    const headers: RequestHeaders = { "x-remote-user": "jane", "x-remote-group": ["a", "b,c"], accept: "x" };
    const request = await stripped({ headers });
    expect(request.headers).toEqual({ accept: "x" });
    expect(request).not.toHaveProperty("rawHeaders");
    expect([...request.claims]).toEqual([
      ["x-remote-user", ["jane"]],
      ["x-remote-group", ["a", "b,c"]],
    ]);
    expect(headers["x-remote-user"]).toBe("jane");
  });

  test("strips the parsed and the raw headers, even if only one of them contains the header", async () => {
    const raw = await stripped({ headers: {}, rawHeaders: ["X-Remote-User", "jane"] });
    expect(raw.rawHeaders).toEqual([]);
    const parsed = await stripped({ headers: { "x-remote-user": "jane" }, rawHeaders: [] });
    expect(parsed.headers).toEqual({});
    expect(parsed.claims.size).toBe(0);
  });
});
