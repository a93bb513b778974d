/** Tests of requests with a forged identity. The servers reject each of them or attribute it to the real user. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueClient, type Issued } from "../testing/access/auth/certificates.ts";
import { PROXY_NAME } from "../peers/credentials.ts";
import { eventually } from "../peers/wait.ts";
import {
  openTls,
  presented,
  REVIEW,
  REVIEW_PATH,
  SECRET,
  sendHttp2,
  sendLines,
  startSite,
  ANONYMOUS_FORBIDDEN,
  TENANT,
  TENANT_TOKEN,
  tenantCertificate,
  SECRET_FORBIDDEN,
  UNAUTHORIZED,
  userIn,
  VALID_NOW,
  type Authorities,
  type Presented,
  type RawResponse,
  type Site,
} from "./start.ts";

let site: Site;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site[Symbol.asyncDispose]());

const asReview = (lines: readonly string[], certificate?: Presented): Promise<RawResponse> =>
  sendLines(site.first, [`POST ${REVIEW_PATH} HTTP/1.1`, ...lines], {
    body: REVIEW,
    ...(certificate === undefined ? {} : { certificate }),
  });
const BEARER = `Authorization: Bearer ${TENANT_TOKEN}`;

const MASTERS = ["X-Remote-User: admin", "X-Remote-Group: system:masters"];
const SPOOFED: readonly (readonly [attack: string, lines: readonly string[]])[] = [
  ["X-Remote-User and related headers", [...MASTERS, "X-Remote-Uid: admin-uid", "X-Remote-Extra-Scopes: all"]],
  ["in lower case", MASTERS.map((line) => line.toLowerCase())],
  [
    "in upper case",
    ["X-REMOTE-USER: admin", "X-REMOTE-GROUP: system:masters", "X-REMOTE-UID: 1", "X-REMOTE-EXTRA-A: b"],
  ],
  ["in any casing", ["x-ReMoTe-uSeR: admin", "X-rEMOTE-gROUP: system:masters", "x-remote-EXTRA-a: b"]],
  ["twice", [...MASTERS, ...MASTERS]],
  ["twice, in two casings", [...MASTERS, "x-remote-user: root", "X-REMOTE-GROUP: system:masters"]],
  ["as a list", ["X-Remote-User: tenant, admin", "X-Remote-Group: tenants, system:masters"]],
  ["empty, then filled", ["X-Remote-User:", ...MASTERS]],
  ["with blanks around", ["X-Remote-User: \t admin \t"]],
  ["named in Connection", [...MASTERS, "Connection: close, X-Remote-User, X-Remote-Group"]],
  [
    "named in Connection, in other casings",
    [...MASTERS, "Connection: close, x-remote-USER", "connection: X-REMOTE-GROUP"],
  ],
  ["headers of the servers named in Connection", ["Connection: close, X-Kubernetes-Peer-Proxied, Authorization"]],
  ["with underscores", ["X_Remote_User: admin", "X_Remote_Group: system:masters"]],
  [
    "with the guards of peers",
    [...MASTERS, "X-Kubernetes-Peer-Proxied: true", "X-Kubernetes-APIServer-Rerouted: true"],
  ],
  [
    "with our own headers",
    [...MASTERS, "X-Evenkeel-Proxied-By: b", "X-Evenkeel-Served-By: b", "x-evenkeel-USER: admin"],
  ],
  [
    "with the headers of other proxies",
    ["X-Forwarded-User: admin", "Remote-User: admin", "X-Authenticated-User: admin"],
  ],
];

describe("spoofed identity headers", () => {
  test.each(SPOOFED)("(%s) leave an anonymous client anonymous", async (_attack, lines) => {
    const { status, body } = await asReview(lines);
    expect([status, body.message]).toEqual([403, ANONYMOUS_FORBIDDEN]);
  });

  test.each(SPOOFED)("(%s) leave a tenant with its own identity", async (_attack, lines) => {
    expect(userIn(await asReview([...lines, BEARER]))).toEqual(TENANT);
    const { status, body } = await sendLines(site.first, [`GET ${SECRET} HTTP/1.1`, ...lines, BEARER]);
    expect([status, body.message]).toEqual([403, SECRET_FORBIDDEN]);
  });

  test.each([
    ["once", { "x-remote-user": "admin", "x-remote-group": "system:masters", "x-remote-extra-a": "b" }],
    ["twice", { "x-remote-user": ["admin", "admin"], "x-remote-group": ["tenants", "system:masters"] }],
    ["with guards", { "x-remote-user": "admin", "x-kubernetes-peer-proxied": "true", "x-evenkeel-proxied-by": "b" }],
  ])("over HTTP/2 (%s) leave clients with their own identity", async (_attack, headers) => {
    const asked = { ":method": "POST", ":path": REVIEW_PATH, ...headers };
    const other = await sendHttp2(site.first, asked, { body: REVIEW });
    expect([other.status, other.body.message]).toEqual([403, ANONYMOUS_FORBIDDEN]);
    const tenant = { ...asked, authorization: `Bearer ${TENANT_TOKEN}` };
    expect(userIn(await sendHttp2(site.first, tenant, { body: REVIEW }))).toEqual(TENANT);
  });
});

test("each request on a connection is authenticated by its own credentials", async () => {
  const socket = await openTls(site.first);
  let received = "";
  socket.on("data", (chunk: Buffer) => (received += chunk.toString("utf8")));
  const statuses = (): number[] => [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  const tokens = ["admin-token", undefined, TENANT_TOKEN, "wrong", undefined, "admin-token", TENANT_TOKEN];
  for (const [at, token] of tokens.entries()) {
    const who = token === undefined ? [] : [`Authorization: Bearer ${token}`];
    socket.write([`GET ${SECRET} HTTP/1.1`, "Host: x", ...who, "", ""].join("\r\n"));
    await eventually(statuses, ({ length }) => length > at);
  }
  socket.destroy();
  expect(statuses()).toEqual([200, 403, 403, 401, 403, 200, 403]);
});

const DAY_MS = 86_400_000;
const [PAST, FUTURE] = [Date.now() - 2 * DAY_MS, Date.now() + 2 * DAY_MS];
const AS_ADMIN = [["CN", "admin"] as const, ["O", "system:masters"] as const];
type Forge = (authorities: Authorities) => Issued;

describe("certificates:", () => {
  test("valid certificates identify a user and a front proxy, so the certificates of the other tests are rejected only because of their defect", async () => {
    const user = await asReview([], tenantCertificate(site.authorities));
    expect(userIn(user)).toMatchObject({ username: "tenant", groups: ["tenants", "system:authenticated"] });
    const proxy = issueClient(site.authorities.frontProxies, { subject: [["CN", PROXY_NAME]], ...VALID_NOW });
    expect(userIn(await asReview(["X-Remote-User: jane"], presented(proxy)))).toEqual({
      username: "jane",
      groups: ["system:authenticated"],
    });
  });

  const WRONG: readonly (readonly [attack: string, forge: Forge])[] = [
    ["expired", ({ users }) => issueClient(users, { subject: AS_ADMIN, notBefore: PAST - DAY_MS, notAfter: PAST })],
    [
      "not yet valid",
      ({ users }) => issueClient(users, { subject: AS_ADMIN, notBefore: FUTURE, notAfter: FUTURE + DAY_MS }),
    ],
    ["of another CA of the same name", ({ strangers }) => issueClient(strangers, { subject: AS_ADMIN, ...VALID_NOW })],
    [
      "that is self-signed",
      ({ users }) => issueClient({ ...users, ...issueClient(users) }, { subject: AS_ADMIN, ...VALID_NOW }),
    ],
    [
      "for servers only",
      ({ users }) => issueClient(users, { subject: AS_ADMIN, usages: ["serverAuth"], ...VALID_NOW }),
    ],
    [
      "signed by a user",
      ({ users }) => issueClient(issueClient(users, VALID_NOW), { subject: AS_ADMIN, ...VALID_NOW }),
    ],
    ["without a name", ({ users }) => issueClient(users, { subject: [["O", "system:masters"]], ...VALID_NOW })],
    ["of the front proxy CA", ({ frontProxies }) => issueClient(frontProxies, { subject: AS_ADMIN, ...VALID_NOW })],
  ];
  test.each(WRONG)("an administrator's certificate (%s) returns 401", async (_attack, forge) => {
    const certificate = presented(forge(site.authorities));
    const { status, body } = await asReview([], certificate);
    expect([status, body]).toEqual([401, UNAUTHORIZED]);
    const read = await sendLines(site.first, [`GET ${SECRET} HTTP/1.1`], { certificate });
    expect([read.status, read.body]).toEqual([401, UNAUTHORIZED]);
  });

  test.each(WRONG)(
    "an administrator's certificate (%s) gives no permissions to a request with a tenant's token",
    async (_attack, forge) => {
      const response = await asReview([...MASTERS, BEARER], presented(forge(site.authorities)));
      expect(userIn(response)).toEqual(TENANT);
    },
  );

  const NO_PROXIES: readonly (readonly [attack: string, forge: Forge])[] = [
    [
      "whose name is not allowed",
      ({ frontProxies }) => issueClient(frontProxies, { subject: [["CN", "mallory"]], ...VALID_NOW }),
    ],
    [
      "whose second name is allowed",
      ({ frontProxies }) =>
        issueClient(frontProxies, {
          subject: [
            ["CN", PROXY_NAME],
            ["CN", "mallory"],
          ],
          ...VALID_NOW,
        }),
    ],
    [
      "with the name as organization",
      ({ frontProxies }) => issueClient(frontProxies, { subject: [["O", PROXY_NAME]], ...VALID_NOW }),
    ],
    [
      "expired",
      ({ frontProxies }) =>
        issueClient(frontProxies, { subject: [["CN", PROXY_NAME]], notBefore: PAST - DAY_MS, notAfter: PAST }),
    ],
    [
      "for servers only",
      ({ frontProxies }) =>
        issueClient(frontProxies, { subject: [["CN", PROXY_NAME]], usages: ["serverAuth"], ...VALID_NOW }),
    ],
    ["of an untrusted CA", ({ strangers }) => issueClient(strangers, { subject: [["CN", PROXY_NAME]], ...VALID_NOW })],
  ];
  test.each(NO_PROXIES)("a front proxy certificate (%s) returns 401", async (_attack, forge) => {
    const { status, body } = await asReview(MASTERS, presented(forge(site.authorities)));
    expect([status, body]).toEqual([401, UNAUTHORIZED]);
  });

  test("a user certificate with the common name of a front proxy identifies the user of that name only", async () => {
    const user = issueClient(site.authorities.users, { subject: [["CN", PROXY_NAME]], ...VALID_NOW });
    const response = await asReview([...MASTERS, "X-Kubernetes-Peer-Proxied: true"], presented(user));
    expect(userIn(response)).toMatchObject({ username: PROXY_NAME, groups: ["system:authenticated"] });
  });

  test("a request of a front proxy that names no user returns 401", async () => {
    const proxy = presented(
      issueClient(site.authorities.frontProxies, { subject: [["CN", PROXY_NAME]], ...VALID_NOW }),
    );
    const { status, body } = await asReview(["X-Remote-Group: system:masters"], proxy);
    expect([status, body]).toEqual([401, UNAUTHORIZED]);
  });
});
