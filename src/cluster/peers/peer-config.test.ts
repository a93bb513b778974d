import { describe, expect, test } from "vitest";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { DEFAULT_PEER_TIMING } from "./timing.ts";
import { OptionError } from "../../base/option-error.ts";
import { resolvePeerOptions, type PeerConfig, type PeerOptions } from "./peer-config.ts";

interface Settings {
  readonly release?: ReleaseName;
  readonly strictRelease?: boolean;
  readonly gate?: boolean;
}

function resolve(options: PeerOptions = {}, settings: Settings = {}): PeerConfig {
  const { release = "1.36", strictRelease = false, gate } = settings;
  return resolvePeerOptions({ options, release, strictRelease, gate });
}

test("without options the mixed version proxy is enabled, but the server cannot call peers", () => {
  expect(resolve()).toEqual({
    hostname: "localhost",
    serverId: expect.stringMatching(/^apiserver-[a-z2-7]{26}$/) as string,
    isEnabled: true,
    credentials: undefined,
    missingFlag: "--peer-ca-file",
    advertise: undefined,
    requestsInflightMax: 400,
    routing: "extended",
    routingSource: "discovery",
    fieldLoss: "route",
    discoveryMode: "merged",
    discoveryMergeScope: "all",
    egress: { kind: "direct" },
    unusedEgress: [],
    servers: new Map(),
    timing: DEFAULT_PEER_TIMING,
  });
});

test.each<[Settings, boolean]>([
  [{ release: "1.30" }, true],
  [{ release: "1.35", strictRelease: true }, false],
  [{ release: "1.36", strictRelease: true }, true],
  [{ release: "1.30", strictRelease: true, gate: true }, true],
  [{ release: "1.36", gate: false }, false],
])("the mixed version proxy of a server with %o is enabled: %s", (settings, isEnabled) => {
  expect(resolve({}, settings).isEnabled).toBe(isEnabled);
});

describe("a server", () => {
  const FILES = { caFile: "ca", certFile: "cert", keyFile: "key" };

  test("can call peers if all three files are set", () => {
    expect(resolve(FILES)).toMatchObject({ credentials: FILES, missingFlag: undefined });
    const { caFile: _ca, ...certificate } = FILES;
    expect(resolve(certificate)).toMatchObject({ credentials: undefined, clientCertificate: certificate });
  });

  test.each<[PeerOptions, string]>([
    [{ certFile: "cert", keyFile: "key" }, "--peer-ca-file"],
    [{ caFile: "ca" }, "--proxy-client-cert-file"],
  ])("cannot call peers with %o, and reports %s as missing", (options, missingFlag) => {
    expect(resolve(options)).toMatchObject({ credentials: undefined, missingFlag });
  });
});

test("the server ID, the hostname and the address can be set", () => {
  const ids = [resolve({ hostname: "a" }).serverId, resolve({ hostname: "b" }).serverId];
  expect(new Set(ids).size).toBe(2);
  const given = resolve({ serverId: "west-1", advertiseIp: "192.0.2.1", advertisePort: "7443" });
  expect(given).toMatchObject({ serverId: "west-1", advertise: { host: "192.0.2.1", port: 7443 } });
});

describe("an invalid option is rejected with a message that names it:", () => {
  const EGRESS = { apiVersion: "apiserver.k8s.io/v1beta1", kind: "Other" };
  const CASES: readonly [options: PeerOptions, message: string][] = [
    [{ certFile: "a" }, "--proxy-client-cert-file and --proxy-client-key-file must be set together"],
    [{ caFile: "a", keyFile: "a" }, "--proxy-client-cert-file and --proxy-client-key-file must be set together"],
    [{ advertiseIp: "192.0.2.1" }, "--peer-advertise-ip requires --peer-advertise-port: set both or neither"],
    [{ advertisePort: "1" }, "--peer-advertise-port requires --peer-advertise-ip: set both or neither"],
    [
      { advertiseIp: "0.0.0.0", advertisePort: "1" },
      '--peer-advertise-ip must be an IP address that peers can reach, not "0.0.0.0"',
    ],
    [
      { advertiseIp: "192.0.2.1", advertisePort: "65536" },
      '--peer-advertise-port must be a number from 1 to 65535, not "65536"',
    ],
    ...["", "A", "-a", "a/b", "a".repeat(64)].map((serverId): [PeerOptions, string] => [
      { serverId },
      `--server-id must be 1 to 63 lower case letters, digits or dashes that begin and end with a letter or digit, not ${JSON.stringify(serverId)}`,
    ]),
    [{ requestsInflightMax: 0 }, "the maximum number of requests to peers in flight must be greater than zero, not 0"],
    [
      { requestsInflightMax: NaN },
      "the maximum number of requests to peers in flight must be greater than zero, not NaN",
    ],
    [{ routing: "all" }, '--peer-routing must be one of documents, extended, not "all"'],
    [{ discoveryMode: "x" }, '--discovery-mode must be one of merged, newest, local, not "x"'],
    [{ discoveryMergeScope: "x" }, '--discovery-merge-scope must be one of all, aggregated, not "x"'],
    [{ egress: EGRESS }, "the egress selector configuration is invalid: kind must be EgressSelectorConfiguration."],
    [{ timing: { probeIntervalMs: 0 } }, "--peer-probe-interval must be a whole number greater than zero, not 0"],
    [
      { timing: { fenceAfterMs: 15_000 } },
      "--fence-after must be less than --identity-lease-duration: a server must stop writing before its peers treat it as departed",
    ],
  ];

  test.each(CASES)("%o", (options, message) => {
    expect(() => resolve(options)).toThrow(new OptionError(message));
  });

  test.each<[PeerOptions, string]>([
    [{ caFile: "a" }, "--peer-ca-file"],
    [{ advertiseIp: "a" }, "--peer-advertise-ip"],
    [{ advertisePort: "1" }, "--peer-advertise-port"],
  ])("%o if the feature gate is off", (options, flag) => {
    const message = `${flag} requires UnknownVersionInteroperabilityProxy feature to be turned on`;
    expect(() => resolve(options, { gate: false })).toThrow(new OptionError(message));
  });
});
