import { describe, expect, test } from "vitest";
import { NO_BODY, type ApiResponse } from "../../serving/http/message.ts";
import { infoRequest, type RequestOptions } from "../../../test/testing/serving/http/requests.ts";
import { accessOf, authorize, authorizeCreateOnUpdate, type Authorizer } from "./authorize.ts";
import { ANONYMOUS, AUTHENTICATED, type User, type WithUser } from "./user.ts";

const OK: ApiResponse = { status: 200, headers: {}, body: NO_BODY };
const JANE: User = { name: "jane", uid: "1", groups: [AUTHENTICATED], extra: {} };
const PODS = { url: "/api/v1/namespaces/a/pods/x" };

function by(user: User, options: RequestOptions): WithUser {
  return { ...infoRequest(options), user, isVerifiedPeer: false, isProxied: false };
}

/** An authorizer that denies until `catchUp` was called, and afterwards allows if `isGranted`. */
function granting(isGranted: boolean): { authorizer: Authorizer; catchUp: () => Promise<void>; waits: () => number } {
  let allowed = false;
  let waits = 0;
  return {
    authorizer: () => ({ allowed, reason: "" }),
    catchUp: () => {
      waits++;
      allowed = isGranted;
      return Promise.resolve();
    },
    waits: () => waits,
  };
}

describe("a request", () => {
  const ask = ({ authorizer, catchUp }: ReturnType<typeof granting>, user: User): Promise<ApiResponse> =>
    authorize(authorizer, { catchUp })(() => Promise.resolve(OK))(by(user, PODS));

  test("that the cache denies is allowed if catching up reveals the permission", async () => {
    expect(await ask(granting(true), JANE)).toBe(OK);
  });

  test("that is denied catches up only once", async () => {
    const access = granting(false);
    await expect(ask(access, JANE)).rejects.toMatchObject({ code: 403 });
    expect(access.waits()).toBe(1);
  });

  test("of an anonymous user is rejected without catching up", async () => {
    const access = granting(true);
    await expect(ask(access, ANONYMOUS)).rejects.toMatchObject({ code: 403 });
    expect(access.waits()).toBe(0);
  });

  test("that the cache denies stays denied if catching up fails", async () => {
    const catchUp = (): Promise<void> => Promise.reject(new Error("no store"));
    await expect(ask({ ...granting(false), catchUp }, JANE)).rejects.toMatchObject({ code: 403 });
  });

  test("that the cache allows does not catch up", async () => {
    const access = granting(true);
    expect(await ask({ ...access, authorizer: () => ({ allowed: true, reason: "" }) }, JANE)).toBe(OK);
    expect(access.waits()).toBe(0);
  });
});

test("onDecision is called for allowed and denied requests", async () => {
  const reported: boolean[] = [];
  const authorizer: Authorizer = (user) => ({ allowed: user === JANE, reason: "" });
  const filter = authorize(authorizer, { onDecision: (_, { allowed }) => void reported.push(allowed) });
  const handle = filter(() => Promise.resolve(OK));
  await handle(by(JANE, PODS));
  await expect(handle(by(ANONYMOUS, PODS))).rejects.toThrow();
  expect(reported).toEqual([true, false]);
});

describe("authorizeCreateOnUpdate", () => {
  const request = by(JANE, { method: "PUT", url: "/apis/coordination.k8s.io/v1/namespaces/default/leases/zz" });

  test("permission to update does not include permission to create", async () => {
    await expect(
      authorizeCreateOnUpdate((_, { verb }) => ({ allowed: verb === "update", reason: "" }))(request),
    ).rejects.toMatchObject({
      message:
        'leases.coordination.k8s.io "zz" is forbidden: User "jane" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default"',
      details: { name: "zz", group: "coordination.k8s.io", kind: "leases" },
    });
  });

  test("permission to create does not require permission to update", async () => {
    await expect(
      authorizeCreateOnUpdate((_, { verb }) => ({ allowed: verb === "create", reason: "" }))(request),
    ).resolves.toBeUndefined();
  });
});

describe("accessOf", () => {
  test.each<readonly [url: string, namespace: string, name: string]>([
    ["/api/v1/namespaces/a", "a", "a"],
    ["/api/v1/namespaces/a/status", "a", "a"],
    ["/api/v1/namespaces", "", ""],
    ["/api/v1/namespaces?fieldSelector=metadata.name%3Da", "", "a"],
    ["/api/v1/namespaces/n/pods?fieldSelector=metadata.name%3Dx", "n", "x"],
    ["/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn,metadata.name%3D%3Dx", "", "x"],
    ["/api/v1/pods?fieldSelector=metadata.name!%3Dx", "", ""],
    ["/api/v1/pods?fieldSelector=metadata.name%3Dx/y", "", ""],
    ["/api/v1/pods?fieldSelector=metadata.name%3D..", "", ""],
    ["/api/v1/pods?fieldSelector=nonsense", "", ""],
    ["/apis/metrics.example/v1/pods?fieldSelector=metadata.name%3Dx,a;%3Db", "", ""],
    ["/apis/metrics.example/v1/pods?fieldSelector=metadata.name=x,a=%zz", "", ""],
    ["/api/v1/watch/pods?fieldSelector=metadata.name%3Dx", "", ""],
    ["/api/v1/namespaces/n/pods/y?fieldSelector=metadata.name%3Dx", "n", "y"],
  ])("of %s returns namespace %j and name %j", (url, namespace, name) => {
    expect(accessOf(infoRequest({ url }))).toMatchObject({ namespace, name });
  });

  test("of a deletecollection with a name selector returns no name", () => {
    const url = "/api/v1/namespaces/n/pods?fieldSelector=metadata.name%3Dx";
    expect(accessOf(infoRequest({ method: "DELETE", url }))).toMatchObject({ verb: "deletecollection", name: "" });
  });
});
