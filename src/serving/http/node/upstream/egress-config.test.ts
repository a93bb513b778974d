import { describe, expect, test } from "vitest";

import { parseEgressConfig } from "./egress-config.ts";

const DIRECT = { proxyProtocol: "Direct" };
const UNIX = { proxyProtocol: "HTTPConnect", transport: { uds: { udsName: "/run/proxy.sock" } } };
const GRPC = { proxyProtocol: "GRPC", transport: { uds: { udsName: "/run/grpc.sock" } } };

function config(...egressSelections: readonly unknown[]): unknown {
  return { apiVersion: "apiserver.k8s.io/v1beta1", kind: "EgressSelectorConfiguration", egressSelections };
}

function overTcp(url: unknown, tlsConfig?: unknown): unknown {
  return { proxyProtocol: "HTTPConnect", transport: { tcp: { url, tlsConfig } } };
}

function peer(connection: unknown): ReturnType<typeof parseEgressConfig> {
  return parseEgressConfig(config({ name: "peer", connection }));
}

describe("the egress configuration of connections to peers", () => {
  test("is that of the context peer, otherwise that of controlplane, otherwise direct", () => {
    const unix = {
      isValid: true,
      connection: { kind: "connect-over-unix-socket", path: "/run/proxy.sock" },
      unused: [],
    };
    const direct = { isValid: true, connection: { kind: "direct" }, unused: [] };
    const controlPlane = { name: "ControlPlane", connection: UNIX };
    expect(parseEgressConfig(config(controlPlane))).toEqual(unix);
    expect(parseEgressConfig(config(controlPlane, { name: "peer", connection: DIRECT }))).toMatchObject({
      connection: { kind: "direct" },
    });
    expect(parseEgressConfig(config({ name: "etcd", connection: DIRECT }))).toEqual(direct);
    expect(parseEgressConfig(config())).toEqual(direct);
  });

  test("names the other selections with a proxy, which the server does not use", () => {
    const selections = [
      { name: "peer", connection: UNIX },
      { name: "cluster", connection: GRPC },
      { name: "controlplane", connection: UNIX },
      { name: "etcd", connection: DIRECT },
    ];
    expect(parseEgressConfig(config(...selections))).toMatchObject({ unused: ["cluster", "controlplane"] });
  });

  test("over TCP has the host, port and certificate files of the file", () => {
    expect(peer(overTcp("http://proxy:8131"))).toEqual({
      isValid: true,
      connection: { kind: "connect-over-tcp", host: "proxy", port: 8131 },
      unused: [],
    });
    const files = { caBundle: "/ca.crt", clientCert: "/tls.crt", clientKey: "/tls.key" };
    expect(peer(overTcp("https://[::1]:8131", files))).toEqual({
      isValid: true,
      connection: {
        kind: "connect-over-tcp",
        host: "::1",
        port: 8131,
        tls: { caFile: "/ca.crt", certFile: "/tls.crt", keyFile: "/tls.key" },
      },
      unused: [],
    });
    expect(peer(overTcp("https://proxy", { caBundle: "" }))).toMatchObject({ connection: { port: 443, tls: {} } });
  });

  test("with GRPC is rejected only if peers would use it", () => {
    expect(parseEgressConfig(config({ name: "cluster", connection: GRPC }))).toMatchObject({ isValid: true });
    expect(peer(GRPC)).toEqual({
      isValid: false,
      problems: ["The egress selection peer uses GRPC, which is not supported; use HTTPConnect or Direct."],
    });
  });

  test("is rejected with all its problems if the file is invalid", () => {
    const wrong: [unknown, RegExp][] = [
      [undefined, /one EgressSelectorConfiguration/],
      [[], /one EgressSelectorConfiguration/],
      [{ ...(config() as object), apiVersion: "v1" }, /apiVersion must be apiserver.k8s.io\/v1beta1/],
      [{ ...(config() as object), kind: "Other" }, /kind must be/],
      [{ ...(config() as object), egressSelections: {} }, /must be a list/],
      [config("peer"), /egressSelections\[0\].name must be one of/],
      [config({ name: "controplane", connection: DIRECT }), /name must be one of/],
      [config({ name: "etcd", connection: DIRECT }, { name: "etcd", connection: DIRECT }), /earlier selection/],
      [config({ name: "peer" }), /connection is required/],
      [config({ name: "peer", connection: { proxyProtocol: "SOCKS" } }), /proxyProtocol must be one of/],
      [config({ name: "peer", connection: { ...UNIX, proxyProtocol: "Direct" } }), /must be absent/],
      [config({ name: "peer", connection: { proxyProtocol: "HTTPConnect" } }), /transport is required/],
      [config({ name: "peer", connection: { proxyProtocol: "HTTPConnect", transport: {} } }), /either tcp or uds/],
      [config({ name: "etcd", connection: overTcp("proxy:80") }), /http or https URL/],
      [config({ name: "etcd", connection: overTcp(7) }), /http or https URL/],
      [config({ name: "etcd", connection: overTcp("http://u:p@proxy/") }), /nothing else/],
      [config({ name: "etcd", connection: overTcp("http://proxy", {}) }), /tlsConfig must be absent/],
      [config({ name: "etcd", connection: overTcp("https://proxy") }), /tlsConfig is required/],
      [config({ name: "etcd", connection: overTcp("https://proxy", { clientCert: "/x" }) }), /both clientCert/],
      [config({ name: "etcd", connection: overTcp("https://proxy", { caBundle: 7 }) }), /file names/],
    ];
    for (const [value, problem] of wrong) {
      expect(parseEgressConfig(value)).toMatchObject({
        isValid: false,
        problems: [expect.stringMatching(problem)],
      });
    }
    const relative = { proxyProtocol: "HTTPConnect", transport: { uds: { udsName: "proxy.sock" } } };
    expect(peer(relative)).toMatchObject({ problems: [expect.stringMatching(/absolute path/)] });
  });
});
