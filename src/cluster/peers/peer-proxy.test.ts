import { StatusError } from "../../meta/status-error.ts";
import { expect, test } from "vitest";
import { headerValue, type ApiResponse } from "../../serving/http/message.ts";
import { textResponse } from "../../serving/http/respond.ts";
import { bodyJson, type RequestOptions } from "../../../test/testing/serving/http/requests.ts";
import type { WithUser } from "../../access/auth/user.ts";
import type { PeerRoute } from "./route.ts";
import { peerProxy } from "./peer-proxy.ts";
import { peerOf, viewOf } from "../../../test/testing/cluster/peers/cluster-view.ts";
import { userRequest } from "../../../test/testing/cluster/peers/fake-upstream.ts";
import type { CapabilityNeed, ClusterView } from "./view.ts";

const WIDGETS = { "example.com/v1": { widgets: "get list" } };
const URL = "/apis/example.com/v1/widgets";

interface Asked extends RequestOptions {
  readonly view?: ClusterView;
  readonly more?: Partial<WithUser>;
  readonly need?: CapabilityNeed;
  readonly isVersionAware?: boolean;
}

function unknown(message: string): StatusError {
  return new StatusError("NotFound", message, { details: {} });
}

/** Sends a request, and records the routes that the proxy takes in `routes`. */
function ask(
  { view = viewOf(), more = {}, need, isVersionAware = true, ...options }: Asked,
  routes: PeerRoute[] = [],
): Promise<ApiResponse> {
  const route = peerProxy({
    view: () => view,
    forward: (_, taken) => {
      routes.push(taken);
      return Promise.resolve(textResponse(200, "peer"));
    },
    unmetNeed: () => need,
    isVersionAware,
  });
  const here = (): Promise<ApiResponse> => Promise.resolve(textResponse(200, "here"));
  return route(userRequest({ url: URL, ...options }, more), { here, unknown });
}

async function text(response: Promise<ApiResponse>): Promise<string> {
  const { body } = await response;
  return body.kind === "bytes" ? Buffer.concat(body.chunks).toString() : "";
}

test("a request for a local resource, or not for a resource, is served locally", async () => {
  expect(await text(ask({ view: viewOf({ local: WIDGETS }) }))).toBe("here");
  expect(await text(ask({ url: "/healthz", view: viewOf({ isSynced: false }) }))).toBe("here");
});

test("a request for a resource of a peer is proxied, and a request that was proxied here is not proxied again", async () => {
  const view = viewOf({ peers: [peerOf("b", { serves: WIDGETS })] });
  expect(await text(ask({ view }))).toBe("peer");
  const rejected = await ask({ view, more: { isProxied: true } });
  expect(rejected.status).toBe(503);
  expect(headerValue(rejected.headers, "x-evenkeel-not-served")).toBe("self");
  expect(headerValue(rejected.headers, "retry-after")).toBe("1");
  expect(bodyJson(rejected)).toMatchObject({ kind: "Status", reason: "ServiceUnavailable" });
});

test("a request for an unavailable resource returns 503, and for one that no server serves 404", async () => {
  await expect(ask({ view: viewOf({ isSynced: false }) })).rejects.toMatchObject({ reason: "ServiceUnavailable" });
  const away = viewOf({ peers: [peerOf("b", { serves: WIDGETS, isReachable: false })] });
  await expect(ask({ view: away })).rejects.toMatchObject({ reason: "ServiceUnavailable" });
  await expect(ask({ view: viewOf({ peers: [peerOf("b")] }) })).rejects.toMatchObject({
    reason: "NotFound",
    message: "GVR example.com/v1, widgets is not served by anything in this cluster",
  });
});

test("a request that the local server would reject is proxied to a peer that would accept it", async () => {
  const peers = [peerOf("b", { serves: WIDGETS })];
  const need: CapabilityNeed = { kind: "field-selector", labels: ["spec.x"] };
  const able = viewOf({ local: WIDGETS, peers, supports: (_, __, asked) => asked === need });
  expect(await text(ask({ view: able, need }))).toBe("peer");
  expect(await text(ask({ view: viewOf({ local: WIDGETS, peers }), need }))).toBe("here");
});

test("peers whose release is the client's compatibility version are the first candidates", async () => {
  const peers = ["1.35", "1.36", "1.37"].map((release) => peerOf(release, { release, serves: WIDGETS }));
  const routes: PeerRoute[] = [];
  await ask({ view: viewOf({ peers }), headers: { "x-kubernetes-compatibility-version": "1.36" } }, routes);
  await ask({ view: viewOf({ peers }) }, routes);
  const ids = routes.map(({ candidates }) => candidates.map((tier) => tier.map(({ id }) => id)));
  expect(ids).toEqual([[["1.36"], ["1.37"], ["1.35"]], [["1.35", "1.36", "1.37"]]]);
});
