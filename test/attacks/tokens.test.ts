/** Tests of service account tokens that are forged, modified or no longer valid. The server rejects each of them. */
import { createHmac, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { PeerResponse, Json } from "../peers/client.ts";
import {
  AUDIENCE,
  createAsAdmin,
  OWN,
  REVIEW,
  REVIEW_PATH,
  startSite,
  UNAUTHORIZED,
  userIn,
  type Site,
} from "./start.ts";

const ACCOUNTS = `/api/v1/namespaces/${OWN}/serviceaccounts`;
const SECRETS = `/api/v1/namespaces/${OWN}/secrets`;
const PODS = `/api/v1/namespaces/${OWN}/pods`;

let site: Site;
let honest: string;
beforeAll(async () => {
  site = await startSite();
  await createAsAdmin(site.first, ACCOUNTS, { metadata: { name: "robot" } });
  honest = await tokenOf("robot");
});
afterAll(() => site[Symbol.asyncDispose]());

async function tokenOf(account: string, spec: Json = {}): Promise<string> {
  const { status } = await createAsAdmin(site.first, `${ACCOUNTS}/${account}/token`, { spec });
  return status.token;
}

/** Sends the token to both servers, because each server verifies and caches tokens separately. */
async function reviewToken(token: string): Promise<readonly [PeerResponse, PeerResponse]> {
  const call = { method: "POST", body: REVIEW, headers: { "content-type": "application/json" }, token };
  return [await site.first.call(REVIEW_PATH, call), await site.second.call(REVIEW_PATH, call)];
}

async function expectRejected(token: string): Promise<void> {
  for (const response of await reviewToken(token))
    expect([response.status, response.body]).toEqual([401, UNAUTHORIZED]);
}

async function expectRobot(token: string, name = "robot"): Promise<void> {
  const username = `system:serviceaccount:${OWN}:${name}`;
  for (const response of await reviewToken(token)) expect(userIn(response)).toMatchObject({ username });
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const decoded = (part: string): Json => JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
const partsOf = (token: string): readonly [header: Json, claims: Json, signature: string] => {
  const [header, claims, signature] = token.split(".") as [string, string, string];
  return [decoded(header), decoded(claims), signature];
};

function signed(header: Json, claims: Json, key: KeyObject = site.authorities.tokens.privateKey): string {
  const input = `${encoded(header)}.${encoded(claims)}`;
  const signature = sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });
  return `${input}.${signature.toString("base64url")}`;
}

function withHmac(header: Json, claims: Json, secret: string | Buffer): string {
  const input = `${encoded(header)}.${encoded(claims)}`;
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
}

interface Given {
  readonly header: Json;
  readonly claims: Json;
  readonly signature: string;
  readonly publicKey: KeyObject;
}

const HOUR_SECONDS = 3600;
const now = (): number => Math.floor(Date.now() / 1000);
const strange = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pemOf = (key: KeyObject): string => key.export({ type: "spki", format: "pem" }).toString();
const asAdmin = (claims: Json): Json => ({ ...claims, sub: "system:serviceaccount:kube-system:admin" });

const FORGED: readonly (readonly [attack: string, forge: (given: Given) => string])[] = [
  ["alg=none", ({ header, claims }) => `${encoded({ ...header, alg: "none" })}.${encoded(claims)}.`],
  [
    "alg=nOnE with a signature",
    ({ header, claims, signature }) => `${encoded({ ...header, alg: "nOnE" })}.${encoded(claims)}.${signature}`,
  ],
  ["no alg", ({ header: { kid }, claims, signature }) => `${encoded({ kid })}.${encoded(claims)}.${signature}`],
  ["no signature", ({ header, claims }) => `${encoded(header)}.${encoded(claims)}.`],
  [
    "HS256 with the public key's PEM",
    ({ claims, header, publicKey }) => withHmac({ ...header, alg: "HS256" }, claims, pemOf(publicKey)),
  ],
  [
    "HS256 with the public key's DER",
    ({ claims, header, publicKey }) =>
      withHmac({ ...header, alg: "HS256" }, claims, publicKey.export({ type: "spki", format: "der" })),
  ],
  [
    "ES256 in the header and an HMAC signature",
    ({ claims, header, publicKey }) => withHmac(header, claims, pemOf(publicKey)),
  ],
  ["another key", ({ header, claims }) => signed(header, claims, strange.privateKey)],
  ["another key without kid", ({ header: { alg }, claims }) => signed({ alg }, claims, strange.privateKey)],
  [
    "another key that the token contains",
    ({ header: { alg }, claims }) =>
      signed({ alg, jwk: strange.publicKey.export({ format: "jwk" }) }, claims, strange.privateKey),
  ],
  [
    "another key that a URL names",
    ({ header: { alg }, claims }) =>
      signed({ alg, kid: "k", jku: "https://127.0.0.1/jwks" }, claims, strange.privateKey),
  ],
  [
    "a kid that is a path",
    ({ header, claims }) => signed({ ...header, kid: "../../../dev/null" }, claims, strange.privateKey),
  ],
  ["an unknown kid and a valid signature", ({ header, claims }) => signed({ ...header, kid: "__proto__" }, claims)],
  ["a kid that is a list", ({ header, claims }) => signed({ ...header, kid: [header.kid] }, claims)],
  ["a critical header", ({ header, claims }) => signed({ ...header, crit: ["exp"] }, claims)],
  [
    "other claims under the old signature",
    ({ header, claims, signature }) => `${encoded(header)}.${encoded(asAdmin(claims))}.${signature}`,
  ],
  [
    "an empty signature",
    ({ header, claims }) => `${encoded(header)}.${encoded(claims)}.${Buffer.alloc(64).toString("base64url")}`,
  ],
  ["another encoding of the same bytes", () => `${honest}=`],
  ["one more part", () => `${honest}.${encoded({})}`],
  ["expired", ({ header, claims }) => signed(header, { ...claims, exp: now() - HOUR_SECONDS })],
  ["a start in the future", ({ header, claims }) => signed(header, { ...claims, nbf: now() + HOUR_SECONDS })],
  ["an expiry that is not a number", ({ header, claims }) => signed(header, { ...claims, exp: "never" })],
  ["another audience", ({ header, claims }) => signed(header, { ...claims, aud: ["https://vault.example.com"] })],
  ["another issuer", ({ header, claims }) => signed(header, { ...claims, iss: "https://mallory.example.com" })],
  ["an issuer that differs by a slash", ({ header, claims }) => signed(header, { ...claims, iss: `${AUDIENCE}/` })],
  [
    "another account's uid",
    ({ header, claims }) => signed(header, withAccount(claims, { uid: "11111111-1111-1111-1111-111111111111" })),
  ],
  ["no account uid", ({ header, claims }) => signed(header, withAccount(claims, { uid: "" }))],
  [
    "an account that never existed",
    ({ header, claims }) =>
      signed(header, { ...withAccount(claims, { name: "ghost" }), sub: `system:serviceaccount:${OWN}:ghost` }),
  ],
];

function withAccount(claims: Json, more: Json): Json {
  const about = claims["kubernetes.io"];
  return { ...claims, "kubernetes.io": { ...about, serviceaccount: { ...about.serviceaccount, ...more } } };
}

describe("a forged token", () => {
  test("with the right key and the right claims is accepted, so the tokens of the other tests are rejected only because of their defect", async () => {
    const [header, claims] = partsOf(honest);
    expect(header).toMatchObject({ alg: "ES256" });
    await expectRobot(signed(header, claims));
  });

  test("with the right key identifies the account in its private claims, whatever its subject claim is", async () => {
    const [header, claims] = partsOf(honest);
    await expectRobot(signed(header, asAdmin(claims)));
  });

  test.each(FORGED)("with %s is rejected", async (_attack, forge) => {
    const [header, claims, signature] = partsOf(honest);
    await expectRejected(forge({ header, claims, signature, publicKey: site.authorities.tokens.publicKey }));
    await expectRobot(honest);
  });
});

describe("a token from a service account token Secret", () => {
  test("is accepted until the Secret is deleted, and the Secret records its last use", async () => {
    const { uid } = (await createAsAdmin(site.first, ACCOUNTS, { metadata: { name: "old" } })).metadata;
    const claims = {
      iss: "kubernetes/serviceaccount",
      sub: `system:serviceaccount:${OWN}:old`,
      "kubernetes.io/serviceaccount/namespace": OWN,
      "kubernetes.io/serviceaccount/secret.name": "old-token",
      "kubernetes.io/serviceaccount/service-account.name": "old",
      "kubernetes.io/serviceaccount/service-account.uid": uid,
    };
    const [header] = partsOf(honest);
    const token = signed(header, claims);
    const data = { token: Buffer.from(token).toString("base64") };
    const annotations = { "kubernetes.io/service-account.name": "old" };
    const metadata = { name: "old-token", annotations };
    await createAsAdmin(site.first, SECRETS, { metadata, type: "kubernetes.io/service-account-token", data });
    await expectRobot(token, "old");
    const tracking = "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking";
    const today = new Date().toISOString().slice(0, 10);
    const labels = async (): Promise<Json> =>
      (await site.first.call(`${SECRETS}/old-token`)).body.metadata.labels ?? {};
    await vi.waitFor(async () => expect((await labels())["kubernetes.io/legacy-token-last-used"] >= today).toBe(true));
    expect((await site.first.call(tracking)).body.data).toEqual({ since: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) });
    await expectRobot(token, "old");
    await site.first.call(`${SECRETS}/old-token`, { method: "DELETE" });
    await expectRejected(token);
  });
});

describe("a token that was valid", () => {
  test("is rejected after its service account was deleted, even if the account is created again", async () => {
    await createAsAdmin(site.first, ACCOUNTS, { metadata: { name: "fired" } });
    const token = await tokenOf("fired");
    await expectRobot(token, "fired");
    expect((await site.first.delete(`${ACCOUNTS}/fired`)).status).toBe(200);
    await expectRejected(token);
    await createAsAdmin(site.first, ACCOUNTS, { metadata: { name: "fired" } });
    await expectRejected(token);
    await expectRobot(await tokenOf("fired"), "fired");
  });

  test.each([
    ["Pod", PODS, { spec: { containers: [{ name: "c", image: "i" }] } }],
    ["Secret", SECRETS, {}],
  ])(
    "is rejected after the %s that it is bound to was deleted, even if an object of the same name is created again",
    async (kind, path, more) => {
      const name = `bound-${kind.toLowerCase()}`;
      const object = { metadata: { name }, ...more };
      if (kind === "Pod") Object.assign(object, { spec: { ...(object as Json).spec, serviceAccountName: "robot" } });
      await createAsAdmin(site.first, path, object);
      const token = await tokenOf("robot", { boundObjectRef: { apiVersion: "v1", kind, name } });
      await expectRobot(token);
      expect((await site.first.call(`${path}/${name}?gracePeriodSeconds=0`, { method: "DELETE" })).status).toBe(200);
      await expectRejected(token);
      await createAsAdmin(site.first, path, object);
      await expectRejected(token);
      await expectRobot(honest);
    },
  );

  test("is rejected after its service account was deleted and created again in the same namespace", async () => {
    const accounts = "/api/v1/namespaces/passing/serviceaccounts";
    await createAsAdmin(site.first, "/api/v1/namespaces", { metadata: { name: "passing" } });
    await createAsAdmin(site.first, accounts, { metadata: { name: "robot" } });
    const { status } = await createAsAdmin(site.first, `${accounts}/robot/token`, { spec: {} });
    expect((await site.first.delete(`${accounts}/robot`)).status).toBe(200);
    await createAsAdmin(site.first, accounts, { metadata: { name: "robot" } });
    await expectRejected(status.token);
  });

  test("is not revealed when it is rejected, neither in the response nor in the log", async () => {
    const [header, claims] = partsOf(honest);
    const token = signed(header, { ...claims, exp: now() - HOUR_SECONDS });
    for (const { text } of await reviewToken(token)) expect(text).not.toContain(token.split(".")[2]);
    expect(site.cluster.log.join("\n")).not.toContain(token.split(".")[2]);
  });
});
