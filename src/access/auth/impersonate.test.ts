import { describe, expect, test } from "vitest";
import { NO_BODY, type ApiResponse, type RequestHeaders } from "../../serving/http/message.ts";
import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import type { Authorizer } from "./authorize.ts";
import { impersonate, type ImpersonateOptions } from "./impersonate.ts";
import { AUTHENTICATED, type User, type WithUser } from "./user.ts";

const OK: ApiResponse = { status: 200, headers: {}, body: NO_BODY };
const ROOT: User = { name: "root", uid: "", groups: [AUTHENTICATED], extra: {} };
const anything: Authorizer = () => ({ allowed: true, reason: "" });
const nothing: Authorizer = () => ({ allowed: false, reason: "" });

interface Asking {
  readonly headers?: RequestHeaders;
  readonly raw?: readonly string[];
  readonly url?: string;
  readonly user?: User;
}

/** The request that the filter passes to the next filter. */
async function passed(options: Partial<ImpersonateOptions>, asking: Asking): Promise<WithUser> {
  const { headers = {}, raw, url = "/api/v1/namespaces/a/pods", user = ROOT } = asking;
  const seen: WithUser[] = [];
  const handle = impersonate({ authorizer: anything, isConstrained: true, ...options })((request: WithUser) => {
    seen.push(request);
    return Promise.resolve(OK);
  });
  const info = infoRequest({ url, headers });
  await handle({ ...info, ...(raw && { rawHeaders: raw }), user, isVerifiedPeer: false, isProxied: false });
  return seen[0]!;
}

/**
 * An authorizer that records each check as `verb group/resource/subresource namespace/name`, and a list of these lines.
 */
function recorded(isAllowed: (line: string) => boolean): { authorizer: Authorizer; lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    authorizer: (_user, { verb, group, resource, subresource, namespace, name }) => {
      const line = `${verb} ${[group, resource, subresource].join("/")} ${namespace}/${name}`;
      lines.push(line);
      return { allowed: isAllowed(line), reason: "" };
    },
  };
}

const isPlain = (line: string): boolean => line.startsWith("impersonate ");
const SA = "system:serviceaccount:ns:sa";

describe("a request continues as the user that is named by", () => {
  test.each<readonly [headers: RequestHeaders, user: Partial<User>]>([
    [{ "impersonate-user": "jane" }, { name: "jane", groups: [AUTHENTICATED] }],
    [
      { "impersonate-user": "jane", "impersonate-uid": "7" },
      { name: "jane", uid: "7" },
    ],
    [{ "impersonate-user": "jane", "impersonate-group": ["a", "b, c"] }, { groups: ["a", "b, c", AUTHENTICATED] }],
    [
      { "impersonate-user": "jane", "impersonate-group": "system:unauthenticated" },
      { groups: ["system:unauthenticated"] },
    ],
    [{ "impersonate-user": "system:anonymous" }, { groups: ["system:unauthenticated"] }],
    [{ "impersonate-user": SA }, { groups: ["system:serviceaccounts", "system:serviceaccounts:ns", AUTHENTICATED] }],
    [{ "impersonate-user": SA, "impersonate-group": "g" }, { groups: ["g", AUTHENTICATED] }],
    [{ "impersonate-user": "system:serviceaccount:ns:" }, { groups: [AUTHENTICATED] }],
    [{ "impersonate-user": "system:node:n1" }, { groups: [AUTHENTICATED] }],
    [
      { "impersonate-user": "j", "impersonate-extra-Acme.com%2FTeam": ["A", "b"], "impersonate-extra-k%zz": "1" },
      { extra: { "acme.com/team": ["A", "b"], "k%zz": ["1"] } },
    ],
    [{ "impersonate-user": Buffer.from("größe").toString("latin1") }, { name: "größe" }],
  ])("%j", async (headers, user) => {
    const request = await passed({ authorizer: recorded(isPlain).authorizer }, { headers });
    expect(request.user).toMatchObject(user);
    expect(request.impersonatedBy).toBe(ROOT);
  });

  test("headers with the extra key __proto__", async () => {
    const headers = { "impersonate-user": "j", ["impersonate-extra-__proto__"]: "a" };
    const { user } = await passed({ authorizer: recorded(isPlain).authorizer }, { headers });
    expect(Object.entries(user.extra)).toEqual([["__proto__", ["a"]]]);
  });

  test("its credentials, if Impersonate-User is empty", async () => {
    const request = await passed({ authorizer: nothing }, { headers: { "impersonate-user": "", accept: "x" } });
    expect(request).toMatchObject({ user: ROOT, headers: { accept: "x" } });
    expect(request.impersonatedBy).toBeUndefined();
  });
});

describe("the Impersonate headers", () => {
  test("are removed from the parsed and the raw headers, in any spelling", async () => {
    const raw = ["Accept", "x", "IMPERSONATE-User", "jane", "impersonate-Group", "a", "Impersonate-Group", "b, c"];
    const headers = { accept: "x", "impersonate-user": "jane", "impersonate-group": "a, b, c" };
    const request = await passed({}, { headers, raw: [...raw, "Impersonate-Extra-K", "v", "Impersonate-Else", "y"] });
    expect(request.headers).toEqual({ accept: "x" });
    expect(request.rawHeaders).toEqual(["Accept", "x"]);
    expect(request.user.groups).toEqual(["a", "b, c", AUTHENTICATED]);
  });

  test("name the user of the first line if Impersonate-User is repeated", async () => {
    const raw = ["Impersonate-User", "jane", "Impersonate-User", "root"];
    expect((await passed({}, { headers: { "impersonate-user": "jane, root" }, raw })).user.name).toBe("jane");
  });

  test("take effect even if only the parsed or only the raw headers contain them", async () => {
    const raw = ["Impersonate-User", "jane"];
    expect((await passed({}, { raw })).user.name).toBe("jane");
    expect((await passed({}, { headers: { "impersonate-user": "jane" }, raw: [] })).user.name).toBe("jane");
  });

  test("are rejected if they are not UTF-8", async () => {
    await expect(passed({}, { headers: { "impersonate-user": "jan\xe9" } })).rejects.toMatchObject({ code: 400 });
  });
});

describe("a request with Impersonate headers but without a user name is rejected:", () => {
  const said: readonly (readonly [headers: RequestHeaders, now: string, before: string])[] = [
    [
      { "impersonate-group": "g" },
      'Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)',
      "[{Group  g    }]",
    ],
    [
      { "impersonate-uid": 'a"b' },
      String.raw`Name:"", UID:"a\"b", Groups:[]string(nil), Extra:map[string][]string(nil)`,
      '[{UID  a"b  authentication.k8s.io/v1  }]',
    ],
    [
      { "impersonate-extra-foo%2fbar": "g", "impersonate-extra-aaa": ["h", "i"] },
      'Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"aaa":[]string{"h", "i"}, "foo/bar":[]string{"g"}}',
      "[{UserExtra  g  authentication.k8s.io/v1  foo/bar} {UserExtra  h  authentication.k8s.io/v1  aaa} {UserExtra  i  authentication.k8s.io/v1  aaa}]",
    ],
  ];
  test.each(said)("%j", async (headers, now, before) => {
    await expect(passed({}, { headers })).rejects.toMatchObject({
      code: 400,
      message: `requested &user.DefaultInfo{${now}} without impersonating a user name`,
    });
    await expect(passed({ isConstrained: false }, { headers })).rejects.toThrow(
      `requested ${before} without impersonating a user`,
    );
  });
});

describe("impersonation", () => {
  const headers = { "impersonate-user": "jane" };

  test("that all modes deny returns the error of the first mode", async () => {
    await expect(passed({ authorizer: nothing }, { headers })).rejects.toThrow(
      'pods is forbidden: User "root" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "a"',
    );
  });

  test("that all modes deny returns the error of the mode that has succeeded before for the requester", async () => {
    const { authorizer } = recorded((line) => line === "impersonate /users/ /jane");
    const filter = impersonate({ authorizer, isConstrained: true })(() => Promise.resolve(OK));
    const ask = (user: string): Promise<ApiResponse> => {
      const info = infoRequest({ url: "/api/v1/pods", headers: { "impersonate-user": user } });
      return filter({ ...info, user: ROOT, isVerifiedPeer: false, isProxied: false });
    };
    await expect(ask("other")).rejects.toThrow("impersonate-on:user-info:list");
    expect(await ask("jane")).toBe(OK);
    await expect(ask("other")).rejects.toThrow(
      'users "other" is forbidden: User "root" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
  });

  test("that is denied is decided again after catching up once, but only for authenticated requesters", async () => {
    let isGranted = false;
    let waits = 0;
    const options = {
      authorizer: () => ({ allowed: isGranted, reason: "" }),
      catchUp: () => {
        waits++;
        isGranted = true;
        return Promise.resolve();
      },
    };
    const other = { ...ROOT, groups: ["system:unauthenticated"] };
    await expect(passed(options, { headers, user: other })).rejects.toMatchObject({ code: 403 });
    expect(waits).toBe(0);
    expect((await passed(options, { headers })).user.name).toBe("jane");
    expect(waits).toBe(1);
  });

  test("calls onImpersonated with the requester, the impersonated user and the constraint", async () => {
    const reported: string[] = [];
    const onImpersonated: ImpersonateOptions["onImpersonated"] = ({ user }, as) =>
      void reported.push(`${user.name} ${as.user.name} ${as.constraint}`);
    await passed({ onImpersonated }, { headers });
    await passed({ onImpersonated, isConstrained: false }, { headers });
    expect(reported).toEqual(["root jane impersonate:user-info", "root jane "]);
  });
});
