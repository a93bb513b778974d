/** Bearer tokens of a token file, for tests in which there are no others. */
import type { Authenticator } from "../authenticate.ts";
import { parseTokenFile, staticTokens } from "../authenticators/token-file.ts";
import { bearerAuthenticator } from "../bearer.ts";

export function tokenFileAuthenticator(file: string): Authenticator {
  return bearerAuthenticator({ lasting: [staticTokens(parseTokenFile(file), [])], passing: [], apiAudiences: [] });
}
