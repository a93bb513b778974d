/** Reads the user that a request wants to impersonate from its Impersonate-* headers. */
import type { ApiRequest } from "../../../serving/http/message.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import { badRequest, type StatusError } from "../../../meta/status-error.ts";
import type { User } from "../user.ts";

const PREFIX = "impersonate-";
const USER = "impersonate-user";
const UID = "impersonate-uid";
const GROUP = "impersonate-group";
const EXTRA_PREFIX = "impersonate-extra-";

/** Creates the error message for headers without a user name, which differs between releases. */
type NamelessMessage = (wanted: User) => string;

/** Searches the parsed and the raw headers, because later code may read either of them. */
export function hasImpersonationHeaders({ headers, rawHeaders }: ApiRequest): boolean {
  for (const name in headers) if (isImpersonationHeader(name)) return true;
  if (rawHeaders === undefined) return false;
  for (let index = 0; index < rawHeaders.length; index += 2) if (isImpersonationHeader(rawHeaders[index]!)) return true;
  return false;
}

function isImpersonationHeader(name: string): boolean {
  const initial = name.charCodeAt(0) | 0x20;
  return initial === 0x69 && name.length > PREFIX.length && name.slice(0, PREFIX.length).toLowerCase() === PREFIX;
}

/**
 * Returns the request headers without any header that begins with Impersonate-. DIFFERS: kubernetes removes only those
 * that it knows.
 */
export function withoutImpersonationHeaders({ headers, rawHeaders }: ApiRequest): Partial<ApiRequest> {
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !isImpersonationHeader(name)));
  if (rawHeaders === undefined) return { headers: kept };
  const raw: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    if (!isImpersonationHeader(rawHeaders[index]!)) raw.push(rawHeaders[index]!, rawHeaders[index + 1]!);
  return { headers: kept, rawHeaders: raw };
}

/** Undefined if no user is named. Throws if groups, a uid or extras are given without a user name. */
export function wantedUser(request: ApiRequest, nameless: NamelessMessage): User | undefined {
  const lines = headerLines(request);
  const extra = new Map<string, readonly string[]>();
  for (const [name, values] of lines) {
    if (!name.startsWith(EXTRA_PREFIX)) continue;
    const key = unescapedKey(name.slice(EXTRA_PREFIX.length));
    extra.set(key, [...(extra.get(key) ?? []), ...values]);
  }
  const wanted: User = {
    name: lines.get(USER)?.[0] ?? "",
    uid: lines.get(UID)?.[0] ?? "",
    groups: lines.get(GROUP) ?? [],
    extra: Object.fromEntries(extra),
  };
  if (wanted.name !== "") return wanted;
  if (wanted.uid !== "" || wanted.groups.length > 0 || extra.size > 0) throw badRequest(nameless(wanted));
  return undefined;
}

/** Maps each lower-case header name to its values, one for each header line. */
function headerLines({ headers, rawHeaders }: ApiRequest): Map<string, string[]> {
  const lines = new Map<string, string[]>();
  const add = (name: string, value: string): void => {
    const values = lines.get(name);
    if (values === undefined) lines.set(name, [headerText(value)]);
    else values.push(headerText(value));
  };
  for (let index = 0; rawHeaders !== undefined && index + 1 < rawHeaders.length; index += 2)
    if (isImpersonationHeader(rawHeaders[index]!)) add(rawHeaders[index]!.toLowerCase(), rawHeaders[index + 1]!);
  const isSaid = new Set(lines.keys());
  for (const [name, value] of Object.entries(headers)) {
    const lowerCase = name.toLowerCase();
    if (value === undefined || isSaid.has(lowerCase) || !isImpersonationHeader(name)) continue;
    for (const line of [value].flat()) add(lowerCase, line);
  }
  return lines;
}

/** As kubernetes: a key with invalid percent-encoding is used unchanged. */
function unescapedKey(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}

/**
 * DIFFERS: rejects a header that is not UTF-8, because replacing the invalid bytes could turn a name into the name of
 * another user.
 */
function headerText(value: string): string {
  // Characters beyond ISO 8859-1 cannot come from a socket, so the value is text from the in-process client.
  if (/^[\0-\x7f]*$/.test(value) || /[^\0-\xff]/.test(value)) return value;
  const bytes = Buffer.from(value, "latin1");
  const text = bytes.toString("utf8");
  if (!Buffer.from(text, "utf8").equals(bytes)) throw notText();
  return text;
}

function notText(): StatusError {
  return badRequest("the Impersonate headers must be UTF-8");
}

/** The error message since 1.36. */
export function namelessUser({ name, uid, groups, extra }: User): string {
  const entries = Object.entries(extra).sort(([left], [right]) =>
    Buffer.compare(Buffer.from(left), Buffer.from(right)),
  );
  const extras = entries.map(([key, values]) => `${goQuote(key)}:${goStrings(values)}`).join(", ");
  const groupsText = groups.length === 0 ? "[]string(nil)" : goStrings(groups);
  const extraText = entries.length === 0 ? "map[string][]string(nil)" : `map[string][]string{${extras}}`;
  const text = `Name:${goQuote(name)}, UID:${goQuote(uid)}, Groups:${groupsText}, Extra:${extraText}`;
  return `requested &user.DefaultInfo{${text}} without impersonating a user name`;
}

function goStrings(values: readonly string[]): string {
  return `[]string{${values.map(goQuote).join(", ")}}`;
}

/**
 * The error message before 1.36. It lists object references with kind, namespace, name, uid, version, resource version
 * and path.
 */
export function namelessReferences({ uid, groups, extra }: User): string {
  const references = [
    ...groups.map((group) => `{Group  ${group}    }`),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => `{UserExtra  ${value}  authentication.k8s.io/v1  ${key}}`),
    ),
    ...(uid === "" ? [] : [`{UID  ${uid}  authentication.k8s.io/v1  }`]),
  ];
  return `requested [${references.join(" ")}] without impersonating a user`;
}
