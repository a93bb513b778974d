import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { infoRequest } from "../../../../test/testing/serving/http/requests.ts";
import type { WithInfo } from "../../../serving/http/filters/request-info.ts";
import { authenticate } from "../authenticate.ts";
import { createCertificateVerifier } from "../client-certificates.ts";
import { requestHeaderOptions, spoofableHeaders, type RequestHeaderFlags } from "../request-header-options.ts";
import { issue, issueCa, issueClient, NOW, type Issued } from "../../../../test/testing/access/auth/certificates.ts";
import type { User, WithUser } from "../user.ts";
import { requestHeaderAuthenticator } from "./request-header.ts";
import { tokenFileAuthenticator } from "../../../../test/testing/access/auth/token-file.ts";
import { x509Authenticator } from "./x509.ts";

const HOUR_MS = 3_600_000;
const clock = { now: (): number => NOW };
const userCa = issueCa("user ca");
const proxyCa = issueCa("proxy ca");
const proxy = issueClient(proxyCa, { subject: [["CN", "front-proxy-client"]] });
const jane = issueClient(userCa, {
  subject: [
    ["O", "admins"],
    ["CN", "jane"],
    ["O", "a,b"],
  ],
});

type Claims = Readonly<Record<string, readonly string[]>>;

function asked(presented: readonly Issued[], claims: Claims = {}, authorization?: string): WithInfo {
  return {
    ...infoRequest({ headers: authorization === undefined ? {} : { authorization } }),
    claims: new Map(Object.entries(claims)),
    connection: {
      protocol: "http/1.1",
      remoteAddress: "127.0.0.1",
      clientChain: presented.map(({ certificate }) => certificate),
    },
  };
}

const x509 = x509Authenticator(createCertificateVerifier(userCa.pem), clock);

function requestHeader(flags: Partial<RequestHeaderFlags> = {}): ReturnType<typeof requestHeaderAuthenticator> {
  return requestHeaderAuthenticator(requestHeaderOptions({ clientCa: proxyCa.pem, ...flags })!, clock);
}

describe("x509Authenticator", () => {
  test("takes the user name from the common name and the groups from the organizations", () => {
    const fingerprint = hash("sha256", jane.certificate.raw, "hex");
    expect(x509(asked([jane]))).toEqual({
      user: {
        name: "jane",
        uid: "",
        groups: ["admins", "a,b"],
        extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${fingerprint}`] },
      },
      isVerifiedPeer: false,
    });
  });

  test("accepts a certificate of a root of X.509 v1", () => {
    const root = issue({ subject: [["CN", "old root"]], version: 1 });
    const authenticator = x509Authenticator(createCertificateVerifier(root.pem), clock);
    expect(authenticator(asked([issueClient(root)]))).toMatchObject({ user: { name: "jane" } });
    expect(authenticator(asked([jane]))).toBe("rejected");
  });

  test("returns none if the client presents no certificate", () => {
    expect(x509(asked([]))).toBe("none");
  });

  test.each<readonly [what: string, presented: Issued]>([
    ["of another CA", proxy],
    ["that has expired", issueClient(userCa, { notAfter: NOW - HOUR_MS })],
    ["without a name", issueClient(userCa, { subject: [["O", "admins"]] })],
    ["with an empty name", issueClient(userCa, { subject: [["CN", ""]] })],
    ["with a name in another attribute", issueClient(userCa, { subject: [["OU", "x\nCN=admin"]] })],
  ])("rejects a certificate %s", (_, presented) => {
    expect(x509(asked([presented]))).toBe("rejected");
  });
});

describe("requestHeaderAuthenticator", () => {
  const userOf = (claims: Claims, flags: Partial<RequestHeaderFlags> = {}): unknown => {
    const response = requestHeader(flags)(asked([proxy], claims));
    return typeof response === "string" || response instanceof Promise ? response : response.user;
  };
  const who = (user: Partial<User>): User => ({ name: "jane", uid: "", groups: [], extra: {}, ...user });
  const wire = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

  test.each<readonly [claims: Claims, user: Partial<User>]>([
    [{}, {}],
    [{ "x-remote-uid": ["7"] }, { uid: "7" }],
    [{ "x-remote-group": ["a", "", "b, c"] }, { groups: ["a", "b, c"] }],
    [{ "x-remote-group": [wire("größe,🚀")] }, { groups: ["größe,🚀"] }],
    [{ "x-remote-group": ["größe 🚀"] }, { groups: ["größe 🚀"] }],
    [{ "x-remote-extra-scopes": ["a", ""] }, { extra: { scopes: ["a", ""] } }],
    [
      { "x-remote-extra-authentication.kubernetes.io%2fcredential-id": ["X509SHA256=00"] },
      { extra: { "authentication.kubernetes.io/credential-id": ["X509SHA256=00"] } },
    ],
    [{ "x-remote-extra-100%": ["a"] }, { extra: { "100%": ["a"] } }],
    [{ "x-remote-extra-%zz%2f": ["a"] }, { extra: { "%zz%2f": ["a"] } }],
    [{ "x-remote-extra-a+b": [wire("é")] }, { extra: { "a+b": ["é"] } }],
    [{ "x-remote-extra-": ["a"] }, { extra: { "": ["a"] } }],
    [{ "x-kubernetes-peer-proxied": ["true"], "x-evenkeel-source": ["b"] }, {}],
  ])("the claims %j yield a user with %j", (claims, user) => {
    expect(userOf({ "x-remote-user": ["jane"], ...claims })).toEqual(who(user));
  });

  test("an extra key may be __proto__", () => {
    const user = userOf({ "x-remote-user": ["jane"], "x-remote-extra-__proto__": ["a"] }) as User;
    expect(Object.entries(user.extra)).toEqual([["__proto__", ["a"]]]);
  });

  test("the first username header that is not empty names the user", () => {
    const flags = { usernameHeaders: ["X-Other-User", "X-Remote-User"] };
    expect(userOf({ "x-remote-user": ["jane"], "x-other-user": ["john"] }, flags)).toEqual(who({ name: "john" }));
    expect(userOf({ "x-remote-user": ["jane"], "x-other-user": [""] }, flags)).toEqual(who({}));
    expect(userOf({ "x-remote-user": ["jane", "root"] })).toEqual(who({}));
  });

  test("reads the group headers and extra prefixes of all flags, in the order of the flags", () => {
    const flags = { groupHeaders: ["X-G", "X-Remote-Group"], extraHeadersPrefix: ["X-E-", "X-Remote-Extra-"] };
    const claims = { "x-remote-group": ["b"], "x-g": ["a"], "x-remote-extra-k": ["2"], "x-e-k": ["1"] };
    expect(userOf({ "x-remote-user": ["jane"], ...claims }, flags)).toEqual(
      who({ groups: ["a", "b"], extra: { k: ["1", "2"] } }),
    );
  });

  test.each<Claims>([{}, { "x-remote-user": [""] }, { "x-remote-group": ["system:masters"] }])(
    "the claims %j are ignored, because they have no user name",
    (claims) => {
      expect(userOf(claims)).toBe("none");
    },
  );

  test.each<Claims>([
    { "x-remote-user": ["jan\xe9"] },
    { "x-remote-user": ["jane"], "x-remote-uid": ["\xff"] },
    { "x-remote-user": ["jane"], "x-remote-group": ["a", "\xc3"] },
    { "x-remote-user": ["jane"], "x-remote-extra-a": ["\xc0\x80"] },
  ])("the claims %j are rejected, because they are not UTF-8", (claims) => {
    expect(userOf(claims)).toBe("rejected");
  });

  const claims = { "x-remote-user": ["root"] };
  test.each<readonly [what: string, presented: readonly Issued[], answer: unknown]>([
    ["no", [], "none"],
    ["a user's", [jane], "rejected"],
    ["another CA's", [issueClient(issueCa("proxy ca"), { subject: [["CN", "front-proxy-client"]] })], "rejected"],
    ["an expired", [issueClient(proxyCa, { notAfter: NOW - HOUR_MS })], "rejected"],
    ["a server's", [issueClient(proxyCa, { usages: ["serverAuth"] })], "rejected"],
    ["the front proxy's", [proxy], { user: who({ name: "root" }), isVerifiedPeer: true }],
  ])("accepts the headers only with a certificate of the front proxy: %s certificate", (_, presented, answer) => {
    expect(requestHeader()(asked(presented, claims))).toEqual(answer);
  });

  test("accepts a front proxy whose root is of X.509 v1", () => {
    const root = issue({ subject: [["CN", "old root"]], version: 1 });
    const answer = requestHeader({ clientCa: root.pem })(asked([issueClient(root)], claims));
    expect(answer).toEqual({ user: who({ name: "root" }), isVerifiedPeer: true });
  });

  test("accepts only the allowed common names, or all names if none are configured", () => {
    const other = issueClient(proxyCa, {
      subject: [
        ["O", "front-proxy-client"],
        ["CN", "other"],
      ],
    });
    const nameless = issueClient(proxyCa, { subject: [["O", "front-proxy-client"]] });
    const allowedNames = ["x", "front-proxy-client"];
    const responses = [proxy, other, nameless].map((one) => requestHeader({ allowedNames })(asked([one], claims)));
    expect(responses).toEqual([{ user: who({ name: "root" }), isVerifiedPeer: true }, "rejected", "rejected"]);
    expect(requestHeader()(asked([nameless], claims))).toMatchObject({ isVerifiedPeer: true });
  });
});

describe("with all authenticators, a request with", () => {
  const tokens = tokenFileAuthenticator("secret,tom,1");
  async function outcome(request: WithInfo): Promise<string> {
    const seen: WithUser[] = [];
    const handler = authenticate([requestHeader(), x509, tokens])((one) => {
      seen.push(one);
      return Promise.resolve({ status: 200, headers: {}, body: { kind: "none" } });
    });
    try {
      await handler(request);
    } catch {
      return "401";
    }
    const { user, isVerifiedPeer, isProxied } = seen[0]!;
    return [user.name, ...(isVerifiedPeer ? ["peer"] : []), ...(isProxied ? ["proxied"] : [])].join(" ");
  }
  const claims = { "x-remote-user": ["root"], "x-kubernetes-peer-proxied": ["true"] };
  const guard = { "x-kubernetes-peer-proxied": ["true"] };

  test.each<readonly [what: string, request: WithInfo, result: string]>([
    ["no credentials is anonymous", asked([]), "system:anonymous"],
    ["only claims is anonymous", asked([], claims), "system:anonymous"],
    ["claims and a token has the user of the token", asked([], claims, "Bearer secret"), "tom"],
    ["claims and a user's certificate has the user of the certificate", asked([jane], claims), "jane"],
    ["claims of a front proxy has the claimed user", asked([proxy], claims), "root peer proxied"],
    [
      "claims of a front proxy and a bad token has the claimed user",
      asked([proxy], claims, "Bearer wrong"),
      "root peer proxied",
    ],
    ["a front proxy's certificate but no user name is rejected", asked([proxy], guard), "401"],
    [
      "a front proxy's certificate, no user name and a token has the user of the token",
      asked([proxy], guard, "Bearer secret"),
      "tom",
    ],
    ["a user's certificate and a bad token has the user of the certificate", asked([jane], {}, "Bearer wrong"), "jane"],
    [
      "a certificate of an unknown CA and a token has the user of the token",
      asked([issueClient(issueCa("x"))], claims, "Bearer secret"),
      "tom",
    ],
    ["a certificate of an unknown CA is rejected", asked([issueClient(issueCa("x"))], claims), "401"],
    ["a bad token is rejected", asked([], {}, "Bearer wrong"), "401"],
  ])("%s", async (_, request, result) => {
    expect(await outcome(request)).toBe(result);
  });
});

describe("requestHeaderOptions", () => {
  const clientCa = proxyCa.pem;

  test("returns undefined without a CA", () => {
    expect(requestHeaderOptions({ clientCa: undefined })).toBeUndefined();
    expect(spoofableHeaders(undefined)).toEqual({ headerNames: new Set(), headerPrefixes: [] });
  });

  test("uses the conventional headers by default", () => {
    expect(requestHeaderOptions({ clientCa })).toEqual({
      clientCa,
      allowedNames: [],
      usernameHeaders: ["x-remote-user"],
      uidHeaders: ["x-remote-uid"],
      groupHeaders: ["x-remote-group"],
      extraHeadersPrefixes: ["x-remote-extra-"],
    });
  });

  test("treats all configured headers as spoofable", () => {
    const options = requestHeaderOptions({
      clientCa,
      usernameHeaders: [" X-A "],
      uidHeaders: [],
      groupHeaders: ["X-B"],
      extraHeadersPrefix: ["X-C-"],
    });
    expect(spoofableHeaders(options)).toEqual({ headerNames: new Set(["x-a", "x-b"]), headerPrefixes: ["x-c-"] });
  });

  test.each<readonly [flags: Partial<RequestHeaderFlags>, sentence: string]>([
    [{ usernameHeaders: [] }, "--requestheader-username-headers must name a header when --requestheader-client-ca"],
    [{ usernameHeaders: [" "] }, 'empty value in "requestheader-username-headers"'],
    [{ groupHeaders: [""] }, 'empty value in "requestheader-group-headers"'],
    [{ extraHeadersPrefix: [""] }, 'empty value in "requestheader-extra-headers-prefix"'],
    [{ allowedNames: [""] }, 'empty value in "requestheader-allowed-names"'],
    [
      { uidHeaders: ["X-Uid"] },
      "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header",
    ],
    [
      { groupHeaders: ["X Group"] },
      '--requestheader-group-headers contains "X Group", which is not a valid header name',
    ],
    [{ usernameHeaders: ["Authorization"] }, "--requestheader-username-headers must not contain authorization"],
    [{ extraHeadersPrefix: ["A"] }, "--requestheader-extra-headers-prefix must not be a prefix of accept"],
    [{ userCa: clientCa }, "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates"],
  ])("rejects %j", (flags, sentence) => {
    expect(() => requestHeaderOptions({ clientCa, ...flags })).toThrow(sentence);
  });

  test("one CA may sign certificates of users and front proxies if allowed names are set", () => {
    const allowedNames = ["front-proxy-client"];
    expect(requestHeaderOptions({ clientCa, userCa: clientCa, allowedNames })).toMatchObject({ allowedNames });
    expect(requestHeaderOptions({ clientCa, userCa: userCa.pem })).toBeDefined();
  });
});
