import { createServer, type Socket } from "node:net";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { createSystemClock } from "../../client/system.ts";
import { createAuthority, issueCertificate, type IssueOptions } from "../../serving/http/node/certificate-authority.ts";
import { connectProxyOverTcp } from "../../serving/http/node/upstream/egress.ts";
import { UpstreamError, type UpstreamAddress, type UpstreamFailure } from "../../serving/http/upstream.ts";
import {
  addressOf,
  ok,
  rawServer,
  respondingWith,
  SERVER_NAME,
  shut,
  testUpstream,
  track,
  type RawServer,
} from "../../../test/testing/serving/http/node/test-upstream.ts";
import { failureInWords } from "./failure-in-words.ts";
import { PeerResponseError } from "./peer-document.ts";
import { createRequestPeer } from "./request-peer.ts";

function failed(failure: UpstreamFailure, code?: string): UpstreamError {
  const cause = code === undefined ? undefined : Object.assign(new Error("told by the peer"), { code });
  return new UpstreamError(failure, "told by the peer", { isSent: false, cause });
}

test.each<[error: unknown, words: string]>([
  [failed("connect", "ECONNREFUSED"), "connection refused"],
  [failed("connect", "EHOSTUNREACH"), "host unreachable"],
  [failed("connect", "ENETUNREACH"), "network unreachable"],
  [failed("connect", "ENOTFOUND"), "host name not found"],
  [failed("connect", "EODD"), "no connection (EODD)"],
  [failed("connect", "told by the peer"), "no connection"],
  [failed("connect"), "no connection"],
  [failed("reset", "ECONNRESET"), "connection reset"],
  [failed("reset"), "connection reset"],
  [failed("tls", "CERT_HAS_EXPIRED"), "TLS: certificate expired"],
  [failed("tls", "CERT_NOT_YET_VALID"), "TLS: certificate not yet valid"],
  [failed("tls", "DEPTH_ZERO_SELF_SIGNED_CERT"), "TLS: certificate signed by unknown authority"],
  [failed("tls", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"), "TLS: certificate signed by unknown authority"],
  [failed("tls", "ERR_TLS_CERT_ALTNAME_INVALID"), "TLS: certificate not valid for the server name"],
  [failed("tls", "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA"), "TLS: client certificate rejected by the peer"],
  [failed("tls", "ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED"), "TLS: handshake failed"],
  [failed("tls", "ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED"), "TLS: client certificate expired"],
  [failed("tls", "ERR_SSL_NO_SUITABLE"), "TLS: handshake failed (ERR_SSL_NO_SUITABLE)"],
  [failed("malformed"), "invalid HTTP response"],
  [failed("timeout"), "no response in time"],
  [new UpstreamError("timeout", "late", { isSent: true, timeoutMs: 1_500 }), "no response for 1.5 s"],
  [
    new UpstreamError("timeout", "late", { isSent: true, timeoutMs: 1_000, cause: failed("reset") }),
    "no response for 1 s",
  ],
  [new PeerResponseError("HTTP 401: not accepted as a peer"), "HTTP 401: not accepted as a peer"],
  [new SyntaxError("told by the peer"), "invalid discovery document"],
  ["told by the peer", "invalid discovery document"],
])("%s is described as %s", (error, words) => {
  expect(failureInWords(error)).toBe(words);
});

const NOW_MS = Date.now();
const YEAR_MS = 365 * 24 * 3_600_000;
const CA = createAuthority({ commonName: "ca", nowMs: NOW_MS - 2 * YEAR_MS });
const CLIENT_CA = createAuthority({ commonName: "front-proxy-ca", nowMs: NOW_MS });

/** A peer with this serving certificate. */
function serverWith(certificate: Partial<IssueOptions>): Promise<RawServer> {
  const asked: IssueOptions = { ca: CA, commonName: "peer", hosts: [SERVER_NAME], usage: "serverAuth", nowMs: NOW_MS };
  const server = issueCertificate({ ...asked, ...certificate });
  const parts = { server: { ...server, caPem: "" }, client: { ...server, caPem: CLIENT_CA.certPem } };
  return rawServer({ ...parts, tls: { ca: "", cert: "", key: "" } }, respondingWith(ok("ok")));
}

/** Probes the peer, and returns the status of the response or the reason why there is none. */
async function probed(address: UpstreamAddress, dial?: ReturnType<typeof connectProxyOverTcp>): Promise<string> {
  const own = issueCertificate({ ca: CLIENT_CA, commonName: "front-proxy", usage: "clientAuth", nowMs: NOW_MS });
  const tls = { ca: CA.certPem, cert: own.certPem, key: own.keyPem };
  await using upstream = testUpstream(tls, dial === undefined ? {} : { dial });
  const ask = createRequestPeer({ upstream, clock: createSystemClock() });
  const { signal } = new AbortController();
  try {
    const { status } = await ask({ address, target: "/livez/ping", timeoutMs: 1_000, bytesMax: 1_000, signal });
    return `status ${status}`;
  } catch (thrown) {
    return failureInWords(thrown);
  }
}

describe("a probe of a real server", () => {
  test.each<[what: string, certificate: Partial<IssueOptions>, words: string]>([
    ["a valid certificate", {}, "status 200"],
    ["an expired certificate", { nowMs: NOW_MS - 1.5 * YEAR_MS }, "TLS: certificate expired"],
    ["a certificate of the future", { nowMs: NOW_MS + YEAR_MS }, "TLS: certificate not yet valid"],
    ["a certificate of another name", { hosts: ["other"] }, "TLS: certificate not valid for the server name"],
    ["the certificate of a client", { usage: "clientAuth" }, "TLS: certificate not valid for a server"],
    ["a certificate of another CA", { ca: CLIENT_CA }, "TLS: certificate signed by unknown authority"],
    [
      "a certificate of another CA with the same name",
      { ca: createAuthority({ commonName: "ca", nowMs: NOW_MS }) },
      "TLS: certificate signed by unknown authority",
    ],
  ])("with %s", async (_what, certificate, words) => {
    await using server = await serverWith(certificate);
    expect(await probed(server.address)).toBe(words);
  });

  test.each<[what: string, words: string, onConnection: (socket: Socket) => void]>([
    ["never responds", "no response for 1 s", () => undefined],
    ["closes the connection", "connection reset", (socket) => void socket.end()],
    ["resets the connection", "connection reset", (socket) => void socket.resetAndDestroy()],
    [
      "speaks plain HTTP",
      "TLS: the peer does not speak TLS",
      (socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    ],
  ])("that %s is described as: %s", async (_what, words, onConnection) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      track(sockets, socket);
      socket.resume();
      onConnection(socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = addressOf(server.address());
    try {
      expect(await probed(address)).toBe(words);
    } finally {
      await shut(server, sockets);
    }
    expect(await probed(address)).toBe("connection refused");
    const behindProxy = connectProxyOverTcp(address);
    expect(await probed({ host: "127.0.0.1", port: 1 }, behindProxy)).toBe("egress proxy: connection refused");
  });
});
