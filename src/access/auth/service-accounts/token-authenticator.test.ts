import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { signCompactJws } from "./jws.ts";
import { parseSigningKey } from "./keys.ts";
import type { TokenRequestSpec } from "../../../serving/endpoints/subresources/token-request/token-request-spec.ts";
import {
  ACCOUNT,
  authenticator,
  ecPem,
  ISSUER,
  issued,
  KEY,
  NOW,
  object,
  put,
  world,
} from "../../../../test/testing/access/auth/service-accounts/token-world.ts";

const HOUR_MS = 3_600_000;
const POD = { name: "web", uid: "pod-uid" };
const NODE = { name: "node", uid: "node-uid" };
const SECRET = { name: "key", uid: "secret-uid" };
const INVALIDATED = { error: "service account token has been invalidated" };

describe("a valid token", () => {
  test("authenticates its service account without waiting for the store", () => {
    expect(authenticator(world())(issued(), ["api", "other"])).toEqual({
      user: {
        name: "system:serviceaccount:ns:robot",
        uid: "account-uid",
        groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
        extra: { "authentication.kubernetes.io/credential-id": ["JTI=00000000-0000-4000-8000-000000000000"] },
      },
      audiences: ["api"],
      annotations: {},
      warnings: [],
    });
  });

  test.each<readonly [spec: Partial<TokenRequestSpec>, extra: JsonObject]>([
    [{ pod: POD }, { "pod-name": ["web"], "pod-uid": ["pod-uid"] }],
    [
      { pod: POD, node: { name: "gone", uid: "" } },
      { "pod-name": ["web"], "pod-uid": ["pod-uid"], "node-name": ["gone"] },
    ],
    [{ node: NODE }, { "node-name": ["node"], "node-uid": ["node-uid"] }],
    [{ secret: SECRET }, {}],
  ])("that is bound to %j sets the extra %j", (spec, extra) => {
    const here = world();
    put(here, "pods/ns/web", object("web", "pod-uid"));
    put(here, "nodes//node", object("node", "node-uid"));
    put(here, "secrets/ns/key", object("key", "secret-uid"));
    const reported = Object.entries(extra).map(([key, value]) => [`authentication.kubernetes.io/${key}`, value]);
    expect(authenticator(here)(issued({ ...spec, hasId: false }), ["api"])).toMatchObject({
      user: { extra: Object.fromEntries(reported) },
    });
  });

  test("that is used after its warning threshold adds an audit annotation", () => {
    const here = world();
    const token = issued({ expirationSeconds: 365 * 86_400, warnAfterSeconds: 3607 });
    here.nowMs = NOW + 2 * HOUR_MS;
    expect(authenticator(here)(token, [])).toMatchObject({
      annotations: {
        "authentication.k8s.io/stale-token":
          "subject: system:serviceaccount:ns:robot, seconds after warning threshold: 3593",
      },
    });
  });
});

describe("a token", () => {
  test.each<readonly [why: string, token: string]>([
    ["another issuer", issued({}, "https://other.example")],
    ["no issuer", signCompactJws({ sub: "x" }, KEY)],
    ["an issuer that is not a string", signCompactJws({ iss: [ISSUER] }, KEY)],
    ["a format other than JWT", "secret"],
  ])("with %s is left to other authenticators", (_, token) => {
    expect(authenticator(world())(token, ["api"])).toBe("unknown");
  });

  test.each<readonly [why: string, token: string, error: string]>([
    ["an unknown key", signCompactJws({ iss: ISSUER }, parseSigningKey(ecPem())), "invalid signature, no keys found"],
    ["a wrong signature", `${issued().slice(0, -4)}AAAA`, "go-jose/go-jose: error in cryptographic primitive"],
    [
      "audiences of another type",
      signCompactJws({ iss: ISSUER, aud: 7 }, KEY),
      "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience",
    ],
    [
      "a time of another type",
      signCompactJws({ iss: ISSUER, exp: "7" }, KEY),
      "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate",
    ],
    [
      "other audiences",
      issued({ audiences: ['vault "a"', "b", "b"] }),
      String.raw`token audiences ["vault \"a\"" "b" "b"] is invalid for the target audiences ["api"]`,
    ],
    ["no account", signCompactJws({ iss: ISSUER, aud: "api" }, KEY), "resource name may not be empty"],
  ])("with %s is rejected", (_, token, error) => {
    expect(authenticator(world())(token, [])).toEqual({ error });
  });

  test("of any configured issuer is accepted, and one without audiences is valid for all API audiences", () => {
    const here = world();
    const options = { issuers: ["https://new.example", ISSUER], apiAudiences: ["api", "other"] };
    expect(authenticator(here, options)(issued({ audiences: [] }), [])).toMatchObject({ audiences: ["api", "other"] });
    expect(authenticator(here, options)(issued({ audiences: ["b", "a"] }), ["a", "c"])).toMatchObject({
      audiences: ["a"],
    });
  });
});

describe("the validity period", () => {
  test.each<readonly [minutes: number, error: string | undefined]>([
    [-1.1, "service account token is not valid yet"],
    [-0.9, undefined],
    [60.9, undefined],
    [61.1, "service account token has expired"],
  ])(
    "has a leeway of one minute: %d minutes after a token for an hour was issued, the error is %s",
    async (minutes, error) => {
      const here = world();
      const ask = authenticator(here);
      const token = issued();
      await ask(token, []);
      here.nowMs = NOW + minutes * 60_000;
      const response = ask(token, []);
      if (error === undefined) expect(response).toHaveProperty("user");
      else expect(response).toEqual({ error });
    },
  );

  test("does not include times before the token was issued", () => {
    const token = signCompactJws({ iss: ISSUER, aud: "api", iat: NOW / 1000 + 61 }, KEY);
    expect(authenticator(world())(token, [])).toEqual({ error: "service account token is issued in the future" });
  });
});

describe("a bound token", () => {
  test.each<readonly [what: string, place: string, spec: Partial<TokenRequestSpec>, replaced: string]>([
    ["account", "serviceaccounts/ns/robot", {}, "service account UID (new) does not match claim (account-uid)"],
    ["pod", "pods/ns/web", { pod: POD }, "pod UID (new) does not match service account pod ref claim (pod-uid)"],
    [
      "secret",
      "secrets/ns/key",
      { secret: SECRET },
      "secret UID (new) does not match service account secret ref claim (secret-uid)",
    ],
    ["node", "nodes//node", { node: NODE }, "node UID (new) does not match service account node ref claim (node-uid)"],
  ])("requires its %s to exist with the same UID", async (what, place, spec, replaced) => {
    const here = world();
    const { name, uid } = { account: ACCOUNT, pod: POD, secret: SECRET, node: NODE }[what]!;
    const ask = authenticator(here);
    const token = issued(spec);
    const gone = what === "account" ? { error: 'serviceaccounts "robot" not found' } : INVALIDATED;
    here.known.delete(place);
    here.stored.delete(place);
    expect(await ask(token, [])).toEqual(gone);
    put(here, place, object(name, uid));
    expect(ask(token, [])).toHaveProperty("user");
    put(here, place, object(name, "new"));
    expect(await ask(token, [])).toEqual({ error: replaced });
    put(here, place, object(name, uid, { deletionTimestamp: new Date(NOW - 59_000).toISOString() }));
    expect(ask(token, [])).toHaveProperty("user");
    put(here, place, object(name, uid, { deletionTimestamp: new Date(NOW - 61_000).toISOString() }));
    const deleted = what === "account" ? { error: "service account ns/robot has been deleted" } : INVALIDATED;
    expect(await ask(token, [])).toEqual(deleted);
  });

  test("reads the newest objects from the store only if the cached objects make it invalid", async () => {
    const here = world();
    here.stored.set("pods/ns/web", object("web", "pod-uid"));
    here.known.set("pods/ns/web", object("web", "older"));
    const ask = authenticator(here);
    expect(await ask(issued({ pod: POD }), [])).toHaveProperty("user");
    expect(here.requests).toEqual(["serviceaccounts/ns/robot", "pods/ns/web"]);
    here.requests.length = 0;
    expect(ask(issued(), [])).toHaveProperty("user");
    expect(here.requests).toEqual([]);
  });

  test("returns an error instead of 401 if the store is unavailable", async () => {
    const objects = { get: () => undefined, newest: () => Promise.reject(new Error("the store is unavailable")) };
    await expect(authenticator(world(), { objects })(issued(), [])).rejects.toThrow("the store is unavailable");
  });
});

describe("the signature", () => {
  const many = Array.from({ length: 17 }, (_, index) => `audience-${index}`);

  test.each<readonly [what: string, spec: Partial<TokenRequestSpec>, verifications: number]>([
    ["is verified once", {}, 1],
    ["is verified for each use if the token has many audiences", { audiences: ["api", ...many] }, 2],
    ["is verified for each use if the token is long", { audiences: ["api", "x".repeat(4096)] }, 2],
  ])("%s", (_, spec, verifications) => {
    let found = 0;
    const { publicKey, algorithm } = KEY;
    const key = {
      ...{ publicKey, algorithm },
      get keyId() {
        found++;
        return KEY.keyId;
      },
    };
    const asked = authenticator(world(), { keys: [key] });
    const token = issued(spec);
    for (let use = 0; use < 2; use++) expect(asked(token, ["api"])).toHaveProperty("user");
    expect(found).toBe(verifications);
  });
});
