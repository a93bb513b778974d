import { describe, expect, test } from "vitest";
import { NO_CLAIMS } from "../../serving/http/filters/strip-identity.ts";
import { NO_BODY, type ApiResponse } from "../../serving/http/message.ts";
import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import { authenticate, type Authenticator } from "./authenticate.ts";
import { AUTHENTICATED, UNAUTHENTICATED, type User, type WithUser } from "./user.ts";

const OK: ApiResponse = { status: 200, headers: {}, body: NO_BODY };
const JANE: User = { name: "jane", uid: "1", groups: [AUTHENTICATED], extra: {} };

const known =
  (user: User): Authenticator =>
  () => ({ user, isVerifiedPeer: false });
const peer: Authenticator = () => ({ user: JANE, isVerifiedPeer: true });
const none: Authenticator = () => "none";
const rejecting: Authenticator = () => "rejected";

interface Asked {
  readonly headers?: Record<string, string>;
  readonly claims?: Record<string, readonly string[]>;
}

async function ask(authenticators: readonly Authenticator[], { headers = {}, claims = {} }: Asked = {}) {
  const seen: WithUser[] = [];
  const handler = authenticate(authenticators)((request) => {
    seen.push(request);
    return Promise.resolve(OK);
  });
  await handler({ ...infoRequest({ headers }), claims: new Map(Object.entries(claims)) });
  return seen[0]!;
}

describe("authenticate", () => {
  test("takes the user from the first authenticator that accepts the request", async () => {
    const { user } = await ask([none, known({ ...JANE, groups: ["a"] }), known({ ...JANE, name: "john" })]);
    expect(user).toMatchObject({ name: "jane", groups: ["a", AUTHENTICATED] });
    expect((await ask([rejecting, known(JANE)])).user).toBe(JANE);
  });

  test("treats a request without credentials as anonymous", async () => {
    expect(await ask([none])).toMatchObject({
      user: { name: "system:anonymous", groups: [UNAUTHENTICATED] },
      isVerifiedPeer: false,
      isProxied: false,
    });
  });

  test("does not add system:authenticated to an anonymous user that a peer forwards", async () => {
    for (const user of [
      { name: "system:anonymous", uid: "", groups: [], extra: {} },
      { name: "other", uid: "", groups: [UNAUTHENTICATED], extra: {} },
    ])
      expect((await ask([known(user)])).user).toBe(user);
  });

  test("rejects wrong credentials instead of treating the request as anonymous", async () => {
    const rejection = { reason: "Unauthorized", code: 401, message: "Unauthorized" };
    await expect(ask([rejecting, none])).rejects.toMatchObject(rejection);
    await expect(ask([none], { headers: { authorization: "Basic xyz" } })).rejects.toMatchObject({ code: 401 });
  });

  test.each<readonly [claims: Record<string, readonly string[]>, isProxied: boolean]>([
    [{}, false],
    [{ "x-kubernetes-peer-proxied": ["true"] }, true],
    [{ "x-kubernetes-apiserver-rerouted": ["true"] }, true],
    [{ "x-kubernetes-peer-proxied": ["foo", "true"] }, true],
    [{ "x-kubernetes-peer-proxied": ["foo, true"] }, true],
    [{ "x-kubernetes-peer-proxied": ["True"] }, false],
    [{ "x-kubernetes-peer-proxied": ["untrue", ""] }, false],
    [{ "x-remote-user": ["true"] }, false],
  ])(
    "for the claims %j, a request of a verified peer is proxied: %s; the claims of other clients are ignored",
    async (claims, isProxied) => {
      expect(await ask([peer], { claims })).toMatchObject({ isVerifiedPeer: true, isProxied });
      expect(await ask([known(JANE)], { claims })).toMatchObject({ isVerifiedPeer: false, isProxied: false });
      expect(await ask([none], { claims })).toMatchObject({ isVerifiedPeer: false, isProxied: false });
    },
  );

  test("removes the identity claims from the request for all later filters", async () => {
    const claims = { "x-remote-user": ["root"] };
    for (const authenticator of [peer, known(JANE), none])
      expect((await ask([authenticator], { claims })).claims).toBe(NO_CLAIMS);
  });
});
