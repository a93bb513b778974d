import { describe, expect, test } from "vitest";
import { NO_BODY, type ApiResponse } from "../../serving/http/message.ts";
import { infoRequest, type RequestOptions } from "../../../test/testing/serving/http/requests.ts";
import { parseTokenFile } from "./authenticators/token-file.ts";
import { tokenFileAuthenticator } from "../../../test/testing/access/auth/token-file.ts";
import { allowAuthenticated, authorize, type Authorizer } from "./authorize.ts";
import { ANONYMOUS, AUTHENTICATED, type User, type WithUser } from "./user.ts";

const OK: ApiResponse = { status: 200, headers: {}, body: NO_BODY };
const JANE: User = { name: "jane", uid: "1", groups: [AUTHENTICATED], extra: {} };

function withUser(user: User, options: RequestOptions): WithUser {
  return { ...infoRequest(options), user, isVerifiedPeer: false, isProxied: false };
}

describe("parseTokenFile", () => {
  const only = (text: string): User | undefined => [...parseTokenFile(text).values()][0];

  test.each([
    ["t,jane,1", { name: "jane", uid: "1", groups: [AUTHENTICATED] }],
    ["t,jane,1,admins", { name: "jane", uid: "1", groups: ["admins", AUTHENTICATED] }],
    [
      't,jane,1,"admins,system:masters"',
      { name: "jane", uid: "1", groups: ["admins", "system:masters", AUTHENTICATED] },
    ],
    ['"t","ja""ne","1",""', { name: 'ja"ne', uid: "1", groups: [AUTHENTICATED] }],
    [' t , jane , 1 , "a,b" ', { name: "jane", uid: "1", groups: ["a", "b", AUTHENTICATED] }],
    ["t,jane,", { name: "jane", uid: "", groups: [AUTHENTICATED] }],
    ["# comment\r\n\r\nt,jane,1\r\n", { name: "jane", uid: "1", groups: [AUTHENTICATED] }],
    ['t,"jane, the admin",1', { name: "jane, the admin", uid: "1", groups: [AUTHENTICATED] }],
    ["t,jane,1,a,ignored", { name: "jane", uid: "1", groups: ["a", AUTHENTICATED] }],
  ])("parses %j", (text, user) => {
    expect(only(text)).toEqual({ ...user, extra: {} });
  });

  test.each([
    ["t,jane", "line 1 of the token file must have at least 3 columns (token, user name, user uid), found 2"],
    ["a,b,c\nt", "line 2 of the token file must have at least 3 columns (token, user name, user uid), found 1"],
    [",jane,1", "line 1 of the token file has an empty token"],
    ['t,"jane,1', "line 1 of the token file is not valid CSV"],
    ['t,ja"ne,1', "line 1 of the token file is not valid CSV"],
    ['t,"jane"x,1', "line 1 of the token file is not valid CSV"],
  ])("rejects %j", (text, sentence) => {
    expect(() => parseTokenFile(text)).toThrow(sentence);
  });

  test("does not put tokens into error messages", () => {
    for (const text of ["hunter2,jane", 'hunter2,"jane,1', "hunter2"])
      expect(() => parseTokenFile(text)).toThrow(/^(?!.*hunter2)/);
  });

  test("does not keep tokens in plain text", () => {
    expect([...parseTokenFile("hunter2,jane,1").keys()].join()).not.toContain("hunter2");
  });

  test("uses the last of several lines with the same token", () => {
    expect([...parseTokenFile("t,jane,1\nt,john,2").values()].map((user) => user.name)).toEqual(["john"]);
  });
});

describe("the token file authenticator", () => {
  const authenticator = tokenFileAuthenticator("secret,jane,1\n__proto__,john,2");
  const answerTo = (authorization?: string | string[]): unknown =>
    authenticator(infoRequest({ headers: authorization === undefined ? {} : { authorization } }));

  test.each(["Bearer secret", "bearer secret", "BEARER secret ", "Bearer secret\t"])(
    "authenticates the header %j as jane",
    (authorization) => {
      expect(answerTo(authorization)).toMatchObject({ user: { name: "jane" }, isVerifiedPeer: false });
    },
  );

  test.each(["Bearer wrong", "Bearer secre", "Bearer secrets", "Bearer Secret", "Bearer constructor"])(
    "rejects the header %j",
    (authorization) => {
      expect(answerTo(authorization)).toBe("rejected");
    },
  );

  test.each([
    undefined,
    "",
    "Basic c2VjcmV0",
    "Bearer",
    "Bearer ",
    "Bearersecret",
    "Bearer  secret",
    "Bearer secret more",
  ])("finds no token in %j", (authorization) => {
    expect(answerTo(authorization)).toBe("none");
  });

  test("authenticates each request of a connection by its own header", () => {
    const { connection } = infoRequest({});
    const users = ["Bearer secret", "Bearer secret", "Bearer __proto__", "Bearer wrong", "", "Bearer secret"].map(
      (authorization) => {
        const response = authenticator({ ...infoRequest({ headers: { authorization } }), connection });
        return typeof response === "string" || response instanceof Promise ? response : response.user.name;
      },
    );
    expect(users).toEqual(["jane", "jane", "john", "rejected", "none", "jane"]);
  });

  test("accepts tokens that are property names and ignores malformed headers", () => {
    expect(answerTo("Bearer __proto__")).toMatchObject({ user: { name: "john" } });
    expect(answerTo(["Bearer secret", "Bearer wrong"])).toBe("none");
    expect(answerTo(`Bearer ${"x".repeat(100_000)}${" ".repeat(100_000)}y`)).toBe("none");
  });
});

describe("authorize", () => {
  const refuse =
    (reason: string): Authorizer =>
    () => ({ allowed: false, reason });

  test("passes allowed requests to the next handler", async () => {
    expect(await authorize(() => ({ allowed: true, reason: "" }))(() => Promise.resolve(OK))(withUser(JANE, {}))).toBe(
      OK,
    );
  });

  const rows: readonly (readonly [line: string, message: string, details: object])[] = [
    [
      "GET /api/v1/pods",
      'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope',
      { kind: "pods" },
    ],
    [
      "GET /api/v1/namespaces/a/pods",
      'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "a"',
      { kind: "pods" },
    ],
    [
      "GET /api/v1/namespaces/a/pods/x",
      'pods "x" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "a"',
      { name: "x", kind: "pods" },
    ],
    [
      "GET /api/v1/namespaces/a",
      'namespaces "a" is forbidden: User "jane" cannot get resource "namespaces" in API group "" in the namespace "a"',
      { name: "a", kind: "namespaces" },
    ],
    [
      "GET /api/v1/namespaces",
      'namespaces is forbidden: User "jane" cannot list resource "namespaces" in API group "" at the cluster scope',
      { kind: "namespaces" },
    ],
    [
      "PUT /apis/apps/v1/namespaces/a/deployments/x/scale",
      'deployments.apps "x" is forbidden: User "jane" cannot update resource "deployments/scale" in API group "apps" in the namespace "a"',
      { name: "x", group: "apps", kind: "deployments" },
    ],
    [
      "GET /apis/apps/v1//x",
      'forbidden: User "jane" cannot get resource "" in API group "apps" at the cluster scope',
      { name: "x", group: "apps" },
    ],
    ["GET /metrics", 'forbidden: User "jane" cannot get path "/metrics"', {}],
    ["GET /<script>", 'forbidden: User "jane" cannot get path "/&lt;script&gt;"', {}],
    [
      "GET /api/v1/%3Cb%3E",
      '<b> is forbidden: User "jane" cannot list resource "&lt;b&gt;" in API group "" at the cluster scope',
      { kind: "<b>" },
    ],
  ];
  test.each(rows)("rejects %s with the message of kube-apiserver", async (line, message, details) => {
    const [method = "", url = ""] = line.split(" ");
    const asked = authorize(refuse(""))(() => expect.unreachable())(withUser(JANE, { method, url }));
    await expect(asked).rejects.toMatchObject({ reason: "Forbidden", code: 403, message, details });
  });

  test("appends the reason of the authorizer to the message", async () => {
    const asked = authorize(refuse("because"))(() => expect.unreachable())(withUser(JANE, { url: "/metrics" }));
    await expect(asked).rejects.toThrow('forbidden: User "jane" cannot get path "/metrics": because');
  });
});

describe("allowAuthenticated", () => {
  test.each([
    ["GET /healthz", true],
    ["GET /livez/ping", true],
    ["GET /readyz", true],
    ["GET /version", true],
    ["POST /version", false],
    ["GET /metrics", false],
    ["GET /api", false],
    ["GET /api/v1/pods", false],
    ["GET /", false],
    ["GET /HEALTHZ", false],
    ["GET /constructor", false],
  ])("allows every authenticated request, and an anonymous %s: %s", (line, allowed) => {
    const [method = "", url = ""] = line.split(" ");
    expect(allowAuthenticated(ANONYMOUS, infoRequest({ method, url }).info).allowed).toBe(allowed);
    expect(allowAuthenticated(JANE, infoRequest({ method, url }).info).allowed).toBe(true);
  });
});
