/** Bearer tokens of a token file, for tests in which there are no others. */
import type { Authenticator } from "../../../../src/access/auth/authenticate.ts";
import { parseTokenFile, staticTokens } from "../../../../src/access/auth/authenticators/token-file.ts";
import { bearerAuthenticator } from "../../../../src/access/auth/bearer.ts";

export function tokenFileAuthenticator(file: string): Authenticator {
  return bearerAuthenticator({ lasting: [staticTokens(parseTokenFile(file), [])], passing: [], apiAudiences: [] });
}
