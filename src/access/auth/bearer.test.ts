import { describe, expect, test } from "vitest";
import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import type { AuthenticatorResult } from "./authenticate.ts";
import { parseTokenFile, staticTokens } from "./authenticators/token-file.ts";
import { bearerAuthenticator, tokenUnion, type BearerOptions } from "./bearer.ts";
import type { TokenResult, TokenAuthenticator } from "./tokens.ts";
import { AUTHENTICATED, type User } from "./user.ts";

const API = ["api"];
const BOT: User = { name: "bot", uid: "", groups: ["bots"], extra: {} };
const file = staticTokens(parseTokenFile("secret,jane,1"), API);
const nobody: TokenAuthenticator = () => "unknown";
const wrong =
  (error: string): TokenAuthenticator =>
  () => ({ error });
const bot: TokenAuthenticator = (token, audiences) => (token === "bot" ? { user: BOT, audiences } : "unknown");
const later =
  (authenticator: TokenAuthenticator): TokenAuthenticator =>
  async (token, audiences) =>
    authenticator(token, audiences);

describe("bearerAuthenticator", () => {
  const request = (token: string): ReturnType<typeof infoRequest> =>
    infoRequest({ headers: { authorization: `Bearer ${token}` } });
  const nameOf = async (given: AuthenticatorResult | Promise<AuthenticatorResult>): Promise<string> => {
    const response = await given;
    return typeof response === "string" ? response : response.user.name;
  };

  test.each<readonly [what: string, options: Partial<BearerOptions>, token: string, name: string]>([
    ["of a static authenticator", { staticAuthenticators: [file] }, "secret", "jane"],
    ["of the second static authenticator", { staticAuthenticators: [later(nobody), file] }, "secret", "jane"],
    ["of a dynamic authenticator", { staticAuthenticators: [file], dynamicAuthenticators: [bot] }, "bot", "bot"],
    [
      "of an asynchronous dynamic authenticator",
      { staticAuthenticators: [file], dynamicAuthenticators: [later(bot)] },
      "bot",
      "bot",
    ],
    [
      "after asynchronous authenticators",
      { staticAuthenticators: [later(file)], dynamicAuthenticators: [later(wrong("no")), bot] },
      "bot",
      "bot",
    ],
    [
      "that no authenticator accepts",
      { staticAuthenticators: [file], dynamicAuthenticators: [wrong("no")] },
      "other",
      "rejected",
    ],
    ["without any authenticator", {}, "secret", "rejected"],
    ["of another audience", { staticAuthenticators: [file], apiAudiences: ["else"] }, "secret", "rejected"],
  ])("authenticates or rejects a token %s", async (_, options, token, name) => {
    const authenticator = bearerAuthenticator({
      staticAuthenticators: [],
      dynamicAuthenticators: [],
      apiAudiences: API,
      ...options,
    });
    expect(await nameOf(authenticator(request(token)))).toBe(name);
  });

  test("does not cache results of dynamic authenticators, whose tokens can be revoked", async () => {
    let response: TokenResult = { user: BOT, audiences: API };
    const authenticator = bearerAuthenticator({
      staticAuthenticators: [file],
      dynamicAuthenticators: [() => response],
      apiAudiences: API,
    });
    const { connection } = infoRequest({});
    const ask = (): Promise<string> => nameOf(authenticator({ ...request("bot"), connection }));
    expect(await ask()).toBe("bot");
    response = { error: "the service account is gone" };
    expect(await ask()).toBe("rejected");
  });

  test("looks up a static token once per connection", () => {
    let asked = 0;
    const counted: TokenAuthenticator = (...question) => {
      asked++;
      return file(...question);
    };
    const authenticator = bearerAuthenticator({
      staticAuthenticators: [counted],
      dynamicAuthenticators: [],
      apiAudiences: API,
    });
    const { connection } = infoRequest({});
    for (let time = 0; time < 3; time++) void authenticator({ ...request("secret"), connection });
    expect(asked).toBe(1);
  });
});

describe("tokenUnion", () => {
  test("adds system:authenticated to the user", async () => {
    expect(await tokenUnion([nobody, bot])("bot", API)).toEqual({
      user: { ...BOT, groups: ["bots", AUTHENTICATED] },
      audiences: API,
    });
  });

  test("joins the distinct errors if no authenticator accepts the token", async () => {
    const union = tokenUnion([wrong("expired"), later(wrong("unsigned")), nobody, wrong("expired")]);
    expect(await union("x", API)).toEqual({ error: "expired, unsigned" });
    expect(await tokenUnion([nobody, later(nobody)])("x", API)).toBe("unknown");
    expect(await tokenUnion([wrong("expired"), bot])("bot", API)).toMatchObject({ user: { name: "bot" } });
  });
});

describe("staticTokens", () => {
  test.each<readonly [audiences: string[], answer: string[] | undefined]>([
    [["api"], ["api"]],
    [["other", "api"], ["api"]],
    [["other"], undefined],
    [[], []],
  ])("a token that is requested for the audiences %j is valid for %j", (audiences, response) => {
    const given = file("secret", audiences);
    if (response === undefined) expect(given).toBe("unknown");
    else expect(given).toMatchObject({ audiences: response });
  });
});
