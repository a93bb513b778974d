import { upstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { describe, expect, test } from "vitest";
import type { ConnectionInfo } from "../../serving/http/message.ts";
import { responseHeader, isUpgrade } from "../../serving/http/forwarded.ts";
import { peerResponseHeaders, hopHeaders, ownHeaders } from "./hop.ts";
import { JANE, userRequest } from "../../../test/testing/cluster/peers/fake-upstream.ts";

const H1: ConnectionInfo = { protocol: "http/1.1", remoteAddress: "192.0.2.7", clientChain: [] };
/** The headers that are added to every request to a peer, after the client's headers. */
const OURS = [
  "X-Forwarded-For: 192.0.2.7",
  "X-Remote-User: jane",
  "X-Remote-Group: people",
  "Audit-ID: audit",
  "x-evenkeel-proxied-by: here",
  "X-Kubernetes-APIServer-Rerouted: true",
  "X-Kubernetes-Peer-Proxied: true",
];

function lines(headers: readonly string[]): string[] {
  return headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
}

/** A request with these headers, both raw and joined, as a socket would deliver them. */
function sent(...rawHeaders: string[]): ReturnType<typeof userRequest> {
  const headers: Record<string, string> = {};
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    headers[name] = headers[name] === undefined ? rawHeaders[index + 1]! : `${headers[name]}, ${rawHeaders[index + 1]}`;
  }
  return userRequest({ headers, url: "/api/v1/pods" }, { rawHeaders, connection: H1 });
}

function hopped(...rawHeaders: string[]): string[] {
  return lines(hopHeaders(sent(...rawHeaders), "audit", "here"));
}

describe("the headers of a proxied request", () => {
  test("are those of the client, line by line, followed by the headers of the proxy", () => {
    expect(
      hopped("Accept", "a", "accept", "b", "Content-Type", "c", "x-kubernetes-compatibility-version", "1.36"),
    ).toEqual(["Accept: a", "accept: b", "Content-Type: c", "x-kubernetes-compatibility-version: 1.36", ...OURS]);
  });

  test.each([
    "Connection",
    "Keep-Alive",
    "Proxy-Connection",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "HTTP2-Settings",
    "Host",
    "Content-Length",
    "Expect",
    "Authorization",
    "X-Kubernetes-If-Ready",
    "Audit-ID",
    "X-Remote-User",
    "X-Remote-Uid",
    "X-Remote-Group",
    "X-Remote-Extra-Scopes",
    "X-Kubernetes-Peer-Proxied",
    "X-Kubernetes-APIServer-Rerouted",
    "Impersonate-User",
    "X-Evenkeel-Not-Served",
  ])("do not include the client's %s", (name) => {
    expect(hopped(name, "mine", "Accept", "a")).toEqual(["Accept: a", ...OURS]);
    expect(hopped(name.toUpperCase(), "mine")).toEqual(OURS);
  });

  test("omit headers that the client names in Connection, except those of the proxy", () => {
    const named = OURS.map((line) => line.split(":")[0]!).join(" ,");
    expect(hopped("X-Mine", "1", "connection", `x-mine, close, ${named}`, "Accept", "a")).toEqual([
      "Accept: a",
      ...OURS,
    ]);
    expect(hopped("X-A", "1", "Connection", "x-a", "X-B", "2", "Connection", "X-B")).toEqual(OURS);
  });

  test("keep the earlier addresses in X-Forwarded-For", () => {
    expect(hopped("X-Forwarded-For", "10.0.0.1", "X-Forwarded-For", "10.0.0.2")).toContain(
      "X-Forwarded-For: 10.0.0.1, 10.0.0.2, 192.0.2.7",
    );
  });

  test("of a watch do not accept a compressed response, in which this server could not find the end of an event", () => {
    const rawHeaders = ["Accept-Encoding", "gzip"];
    const to = (url: string) => userRequest({ headers: {}, url }, { rawHeaders, connection: H1 });
    const [list, watch] = ["/api/v1/pods", "/api/v1/pods?watch=true"].map((url) =>
      lines(hopHeaders(to(url), "audit", "here")),
    );
    expect(list).toContain("Accept-Encoding: gzip");
    expect(watch).not.toContain("Accept-Encoding: gzip");
  });

  test("contain the whole user: one line per group, escaped keys, and text as UTF-8 bytes", () => {
    const extra = { "example.com/a%b": ["1", "2"], ä: ["ö"] };
    const user = { name: "jäne", uid: "u-1", groups: ["a", "b,c"], extra };
    const request = userRequest({ headers: { accept: ["x", "y"] } }, { user, connection: H1 });
    expect(lines(hopHeaders(request, "audit", "here")).slice(0, -4)).toEqual([
      "accept: x",
      "accept: y",
      "X-Forwarded-For: 192.0.2.7",
      "X-Remote-User: j\u00c3\u00a4ne",
      "X-Remote-Uid: u-1",
      "X-Remote-Group: a",
      "X-Remote-Group: b,c",
      "X-Remote-Extra-example.com%2Fa%25b: 1",
      "X-Remote-Extra-example.com%2Fa%25b: 2",
      "X-Remote-Extra-%C3%A4: \u00c3\u00b6",
    ]);
  });

  test.each([
    { ...JANE, name: "admin " },
    { ...JANE, groups: ["\tsystem:masters"] },
    { ...JANE, uid: " 1" },
    { ...JANE, extra: { scope: ["all "] } },
  ])("cannot carry a user that would arrive as another user, such as %j", (user) => {
    expect(() => hopHeaders(userRequest({ url: "/api/v1/pods" }, { user }), "audit", "here")).toThrow(
      /a header cannot carry/,
    );
  });

  test("contain the user, and each loop guard once, if the server sends the request on its own behalf", () => {
    expect(lines(ownHeaders(JANE))).toEqual([
      "X-Remote-User: jane",
      "X-Remote-Group: people",
      "User-Agent: evenkeel",
      "X-Kubernetes-APIServer-Rerouted: true",
      "X-Kubernetes-Peer-Proxied: true",
    ]);
  });
});

describe("an upgrade", () => {
  test("needs both Connection and Upgrade, and the request to the peer has both", () => {
    const request = sent("Upgrade", "websocket", "Connection", "keep-alive, Upgrade");
    expect(isUpgrade(request)).toBe(true);
    expect(lines(hopHeaders(request, "audit", "here"))).toEqual([...OURS, "Connection: Upgrade", "Upgrade: websocket"]);
  });

  test.each([
    { what: "without Connection", request: sent("Upgrade", "websocket") },
    { what: "without a protocol", request: sent("Connection", "upgrade") },
    {
      what: "on HTTP/2",
      request: {
        ...sent("Upgrade", "websocket", "Connection", "upgrade"),
        connection: { ...H1, protocol: "h2" as const },
      },
    },
  ])("is not requested from the peer $what", ({ request }) => {
    expect(isUpgrade(request)).toBe(false);
    expect(lines(hopHeaders(request, "audit", "here"))).toEqual(OURS);
  });
});

describe("the headers of a peer's response", () => {
  test("are returned without hop-by-hop and CORS headers, and repeated headers as a list", () => {
    const dropped = ["Connection", "Keep-Alive", "Transfer-Encoding", "Trailer", "Access-Control-Allow-Origin"];
    const ours = ["X-Evenkeel-Not-Served", "X-Evenkeel-Served-By", "X-Kubernetes-Ready"];
    const headers = [...dropped, ...ours].flatMap((name) => [name, "x"]);
    expect(
      peerResponseHeaders(upstreamResponse(200, [...headers, "Warning", "1", "ETag", "e", "warning", "2"])),
    ).toEqual({
      warning: ["1", "2"],
      etag: "e",
    });
  });

  test("may have the names of inherited object properties", () => {
    const kept = peerResponseHeaders(upstreamResponse(200, ["constructor", "a", "__proto__", "b", "toString", "c"]));
    expect(Object.entries(kept)).toEqual([
      ["constructor", "a"],
      ["__proto__", "b"],
      ["tostring", "c"],
    ]);
  });

  test("keep Connection when the protocol is changed", () => {
    const headers = ["Connection", "Upgrade", "Upgrade", "websocket"];
    expect(peerResponseHeaders(upstreamResponse(101, headers))).toEqual({
      connection: "Upgrade",
      upgrade: "websocket",
    });
  });

  test("are found case-insensitively", () => {
    expect(responseHeader(upstreamResponse(200, ["X-A", "1", "x-a", "2"]), "x-a")).toBe("1");
    expect(responseHeader(upstreamResponse(200, ["X-A", "1"]), "x-b")).toBeUndefined();
  });
});
