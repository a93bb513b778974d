/** Authenticates requests by the bearer token in the `Authorization` header, with several token authenticators. */
import { headerValue, type ApiRequest, type ConnectionInfo } from "../../serving/http/message.ts";
import type { Authenticated, Authenticator, AuthenticatorResult } from "./authenticate.ts";
import type { TokenResult, TokenAuthenticator, TokenOwner } from "./tokens.ts";
import { withAuthenticatedGroup } from "./user.ts";

export interface BearerOptions {
  /** Authenticators whose result for a token never changes while the server runs. They are tried first. */
  readonly staticAuthenticators: readonly TokenAuthenticator[];
  /** Authenticators whose tokens can expire or be revoked. They are called for each request. */
  readonly dynamicAuthenticators: readonly TokenAuthenticator[];
  /** A token must be valid for one of these audiences. */
  readonly apiAudiences: readonly string[];
}

/**
 * Caches the last accepted static token of each connection, because most connections send the same header with every
 * request. Comparing the header in plain text is safe, because only a client that has sent the token can match it.
 */
export function bearerAuthenticator({
  staticAuthenticators,
  dynamicAuthenticators,
  apiAudiences,
}: BearerOptions): Authenticator {
  const accepted = new WeakMap<ConnectionInfo, { readonly header: string; readonly answer: Authenticated }>();
  const askLasting = tokenUnion(staticAuthenticators);
  const askPassing = tokenUnion(dynamicAuthenticators);
  const askedBoth = async (token: string, first: Promise<TokenResult>): Promise<TokenResult> => {
    const response = await first;
    return isOwner(response) ? response : askPassing(token, apiAudiences);
  };
  return (request) => {
    const { headers, connection } = request;
    const header = headerValue(headers, "authorization");
    const before = accepted.get(connection);
    if (header !== undefined && before?.header === header) return before.answer;
    const token = bearerToken(header);
    if (token === undefined || header === undefined) return "none";
    const known = askLasting(token, apiAudiences);
    if (known instanceof Promise) return askedBoth(token, known).then((response) => authenticated(response, request));
    if (isOwner(known)) {
      const response: Authenticated = { user: known.user, isVerifiedPeer: false };
      accepted.set(connection, { header, answer: response });
      return response;
    }
    const answer = askPassing(token, apiAudiences);
    if (!(answer instanceof Promise)) return authenticated(answer, request);
    return answer.then((given) => authenticated(given, request));
  };
}

/**
 * As kubernetes: exactly one space precedes the token. DIFFERS: a header with more text after the token carries no
 * token; kubernetes ignores that text.
 */
function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^bearer (\S+)\s*$/i.exec(header)?.[1];
}

export function authenticated(answer: TokenResult, { audit }: Pick<ApiRequest, "audit">): AuthenticatorResult {
  if (!isOwner(answer)) return "rejected";
  for (const [key, value] of Object.entries(answer.annotations ?? {})) audit?.annotate(key, value);
  return { user: answer.user, isVerifiedPeer: false };
}

function isOwner(answer: TokenResult): answer is TokenOwner {
  return typeof answer === "object" && "user" in answer;
}

/**
 * Returns the user of the first authenticator that accepts the token. If none accepts it, the result joins their
 * errors.
 */
export function tokenUnion(authenticators: readonly TokenAuthenticator[]): TokenAuthenticator {
  return (token, audiences) => tryFrom({ authenticators, token, audiences, errors: [] }, 0);
}

interface UnionAttempt {
  readonly authenticators: readonly TokenAuthenticator[];
  readonly token: string;
  readonly audiences: readonly string[];
  readonly errors: string[];
}

function tryFrom(question: UnionAttempt, start: number): TokenResult | Promise<TokenResult> {
  const { authenticators, token, audiences } = question;
  for (let index = start; index < authenticators.length; index++) {
    const given = authenticators[index]!(token, audiences);
    if (given instanceof Promise)
      return given.then((response) => decided(question, response) ?? tryFrom(question, index + 1));
    const answer = decided(question, given);
    if (answer !== undefined) return answer;
  }
  const { errors } = question;
  return errors.length === 0 ? "unknown" : { error: [...new Set(errors)].join(", ") };
}

function decided({ errors }: UnionAttempt, answer: TokenResult): TokenOwner | undefined {
  if (isOwner(answer)) return { ...answer, user: withAuthenticatedGroup(answer.user) };
  if (answer !== "unknown") errors.push(answer.error);
  return undefined;
}
