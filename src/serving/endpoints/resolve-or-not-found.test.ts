import { expect, test } from "vitest";
import { infoRequest, type RequestOptions } from "../../../test/testing/serving/http/requests.ts";
import { StatusError } from "../../meta/status-error.ts";
import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import { textResponse } from "../http/respond.ts";
import type { ResourceEndpoint } from "./endpoint.ts";
import { resolveRequest, type ResolveRequestOptions, type WithEndpoint } from "./resolve-or-not-found.ts";

const WIDGETS: ResourceEndpoint = {
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  namespaced: true,
  verbs: new Set(["get", "list", "create"]),
  subresources: new Map([["status", new Set(["get"])]]),
  deprecation: undefined,
  served: undefined,
};
const OBJECT = "/apis/example.com/v1/namespaces/shop/widgets/a";

/** Returns the status of the response or the reason of the error, and the endpoint that the next filter received. */
async function resolved(
  requests: RequestOptions,
  options: Partial<ResolveRequestOptions<WithInfo>> = {},
): Promise<{ outcome: number | string; endpoint: ResourceEndpoint | undefined }> {
  let endpoint: ResourceEndpoint | undefined;
  const next = (request: WithInfo & WithEndpoint): Promise<ApiResponse> => {
    ({ endpoint } = request);
    return Promise.resolve(textResponse(200, "served"));
  };
  const resolve = (_group: string, _version: string, resource: string): ResourceEndpoint | undefined =>
    resource === "widgets" ? WIDGETS : undefined;
  const filter = resolveRequest<WithInfo>({ resolve, isApiGroup: () => true, ...options });
  const outcome = await filter(next)(infoRequest(requests)).then(
    ({ status }) => status,
    (thrown: unknown) => StatusError.from(thrown).reason,
  );
  return { outcome, endpoint };
}

test("the next filter receives the endpoint that serves the request", async () => {
  expect(await resolved({ url: OBJECT })).toEqual({ outcome: 200, endpoint: WIDGETS });
  expect(await resolved({ url: "/healthz" })).toEqual({ outcome: 200, endpoint: undefined });
});

test("an unserved resource returns a Status in a built-in API group, and a plain 404 page in another group", async () => {
  const url = "/apis/example.com/v1/gadgets";
  expect((await resolved({ url })).outcome).toBe("NotFound");
  expect((await resolved({ url }, { isApiGroup: () => false })).outcome).toBe(404);
});

test("a resource of a CRD that this server has not yet read is served, because the newest CRD is read before 404", async () => {
  let isDefined = false;
  const settle = (): Promise<void> => {
    isDefined = true;
    return Promise.resolve();
  };
  const resolve = (): ResourceEndpoint | undefined => (isDefined ? WIDGETS : undefined);
  expect(await resolved({ url: OBJECT }, { resolve, settle })).toEqual({ outcome: 200, endpoint: WIDGETS });
});

test("a request is served by a peer or by this server, as the route decides, or is not found", async () => {
  const elsewhere = await resolved({ url: OBJECT }, { route: () => Promise.resolve(textResponse(202, "peer")) });
  expect(elsewhere).toEqual({ outcome: 202, endpoint: undefined });
  const here = await resolved({ url: OBJECT }, { route: (request, ways) => ways.here(request) });
  expect(here.outcome).toBe(200);
  const nobody = await resolved({ url: OBJECT }, { route: (_, ways) => Promise.reject(ways.unknown("nobody")) });
  expect(nobody.outcome).toBe("NotFound");
});

test.each<readonly [what: string, asked: RequestOptions, outcome: string]>([
  ["an unknown subresource", { url: `${OBJECT}/scale` }, "NotFound"],
  ["a name without its namespace", { url: "/apis/example.com/v1/widgets/a" }, "NotFound"],
  ["a verb that the resource lacks", { url: OBJECT, method: "DELETE" }, "MethodNotAllowed"],
  ["a creation below a name", { url: OBJECT, method: "POST" }, "MethodNotAllowed"],
])("%s is rejected before the next filter", async (_, asked, outcome) => {
  expect(await resolved(asked)).toEqual({ outcome, endpoint: undefined });
});
