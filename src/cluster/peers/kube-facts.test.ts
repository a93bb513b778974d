import { describe, expect, test } from "vitest";
import { FakeUpstream } from "../../../test/testing/cluster/peers/fake-upstream.ts";
import { jsonUpstreamResponse, upstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { UpstreamError, type UpstreamResponse } from "../../serving/http/upstream.ts";
import { World } from "../../tools/simulator/world.ts";
import { fetchKubeFacts, type KubeFacts } from "./kube-facts.ts";
import { createRequestPeer } from "./request-peer.ts";

const CHECKS = "[+]ping ok\n[+]poststarthook/start-apiextensions-informers ok\nreadyz check passed\n";
const PROXYING = `[+]poststarthook/mixed-version-proxy-handler ok\n${CHECKS}`;
const VERSION = { major: "1", minor: "33", gitVersion: "v1.33.13" };

/** The facts of a server with these responses to /version and /readyz. */
function factsOf(version: UpstreamResponse, checks: () => UpstreamResponse): Promise<KubeFacts> {
  const { clock } = new World({ seed: 1 });
  const upstream = new FakeUpstream(({ target }) => (target === "/version" ? version : checks()));
  const ask = createRequestPeer({ upstream, clock });
  const { signal } = new AbortController();
  return fetchKubeFacts({ ask, address: { host: "127.0.0.1", port: 1 }, timeoutMs: 1_000, signal });
}

async function versionOf(document: unknown, status = 200): Promise<KubeFacts["version"]> {
  const response = status === 200 ? jsonUpstreamResponse(document) : upstreamResponse(status);
  return (await factsOf(response, () => upstreamResponse(200, [], CHECKS))).version;
}

describe("the version of a kube-apiserver", () => {
  test("is read with the release of the binary", async () => {
    expect(await versionOf(VERSION)).toEqual({
      release: "1.33",
      binary: "1.33",
      minCompatibility: undefined,
      binaryVersion: "1.33.13",
    });
  });

  test("has the emulated release, if the server reports one", async () => {
    const emulating = {
      emulationMajor: "1",
      emulationMinor: "34",
      minCompatibilityMajor: "1",
      minCompatibilityMinor: "33",
    };
    expect(await versionOf({ ...VERSION, minor: "36", gitVersion: "v1.36.4", ...emulating })).toEqual({
      release: "1.34",
      binary: "1.36",
      minCompatibility: "1.33",
      binaryVersion: "1.36.4",
    });
  });

  test("may have the plus sign and the suffix that providers add", async () => {
    expect(await versionOf({ major: "1", minor: "33+", gitVersion: "v1.33.5-gke.1080000" })).toMatchObject({
      release: "1.33",
      binaryVersion: "1.33.5-gke.1080000",
    });
  });

  test.each<[string, unknown, number?]>([
    ["the server rejects the request", VERSION, 403],
    ["the response is not a version", ["1.33"]],
    ["the release has another form", { ...VERSION, major: "one" }],
    ["the git version has another form", { ...VERSION, gitVersion: "v1.33.13\nmore" }],
  ])("is unknown if %s", async (_name, document, status) => {
    expect(await versionOf(document, status)).toBeUndefined();
  });
});

describe("a kube-apiserver", () => {
  test.each([
    ["proxies to peers if its checks include the proxy", PROXYING, true],
    ["does not proxy to peers if its checks do not include the proxy", CHECKS, false],
    ["may proxy to peers if it does not list its checks", "ok", undefined],
  ])("%s", async (_name, checks, expected) => {
    const facts = await factsOf(jsonUpstreamResponse(VERSION), () => upstreamResponse(200, [], checks));
    expect(facts.proxiesToPeers).toBe(expected);
  });

  test("whose checks take too long may proxy to peers, and its version is known", async () => {
    const facts = await factsOf(jsonUpstreamResponse(VERSION), () => {
      throw new UpstreamError("timeout", "no response", { isSent: true });
    });
    expect([facts.proxiesToPeers, facts.version?.release]).toEqual([undefined, "1.33"]);
  });
});
