/** Bearer token authentication with a token file only, for tests. */
import type { Authenticator } from "../../../../src/access/auth/authenticate.ts";
import { parseTokenFile, staticTokens } from "../../../../src/access/auth/authenticators/token-file.ts";
import { bearerAuthenticator } from "../../../../src/access/auth/bearer.ts";

export function tokenFileAuthenticator(file: string): Authenticator {
  return bearerAuthenticator({
    staticAuthenticators: [staticTokens(parseTokenFile(file), [])],
    dynamicAuthenticators: [],
    apiAudiences: [],
  });
}
