/**
 * Parses the file of `--encryption-provider-config`. Problems name fields and never contain a secret.
 */
import { createHash } from "node:crypto";
import type { Random } from "../../base/random.ts";
import { parseGoNanos } from "../../meta/go-duration.ts";
import { aesCbc, aesGcm, secretbox, type Cipher } from "./ciphers.ts";
import { KMS_TIMEOUT_MS } from "./kms/kms-limits.ts";
import type { KmsPluginAddress } from "./kms/plugin-client.ts";

export type Provider =
  /** Stores values in clear. */
  | { readonly kind: "identity" }
  | { readonly kind: LocalKind; readonly keys: readonly ConfiguredKey[] }
  | ({ readonly kind: "kms"; readonly name: string } & KmsPluginAddress);

type LocalKind = "aesgcm" | "aescbc" | "secretbox";

interface ConfiguredKey {
  readonly name: string;
  /** Differs from that of other keys with the same name. */
  readonly fingerprint: string;
  readonly createCipher: (random: Random) => Cipher;
}

/** The providers of a resource such as "secrets", "widgets.example.com", "*.apps", "*." (the core group) or "*.*". */
export type EncryptionConfig = ReadonlyMap<string, readonly Provider[]>;

type ParsedConfig =
  | { readonly isValid: true; readonly config: EncryptionConfig }
  /** The problems of an invalid file, as messages for the operator. */
  | { readonly isValid: false; readonly problems: readonly string[] };

const API_VERSION = "apiserver.config.k8s.io/v1";
const KIND = "EncryptionConfiguration";
interface Algorithm {
  readonly sizes: readonly number[];
  readonly create: (key: Buffer, random: Random) => Cipher;
}

const PROVIDERS: Readonly<Record<LocalKind, Algorithm>> = {
  aesgcm: { sizes: [16, 24, 32], create: aesGcm },
  aescbc: { sizes: [16, 24, 32], create: aesCbc },
  secretbox: { sizes: [32], create: secretbox },
};
const PROVIDER_NAMES: readonly string[] = [...Object.keys(PROVIDERS), "identity", "kms"];
/** These are stored without a REST API, and always in clear. */
const NOT_ENCRYPTED: readonly string[] = ["apiserveripinfo", "serviceipallocations", "servicenodeportallocations"];
/** Far more than anyone needs; every read may try all of them. */
const ENTRIES_MAX = 1_000;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

type Fields = Readonly<Record<string, unknown>>;

export function parseEncryptionConfig(value: unknown): ParsedConfig {
  const problems = new Problems();
  const config = new Map<string, Provider[]>();
  if (!isFields(value)) return { isValid: false, problems: [`The file must contain one ${KIND}.`] };
  if (value.apiVersion !== API_VERSION) problems.add(`apiVersion must be ${API_VERSION}.`);
  if (value.kind !== KIND) problems.add(`kind must be ${KIND}.`);
  problems.addUnknown(value, ["apiVersion", "kind", "metadata", "resources"], "");
  const entries = listAt(value, "resources", "resources", problems);
  for (const [index, entry] of entries.entries()) readEntry(entry, `resources[${index}]`, config, problems);
  const repeated = repeatedPlugin(config);
  if (repeated !== undefined) problems.add(`The name ${JSON.stringify(repeated)} of a KMS plugin is not unique.`);
  return problems.list.length > 0 ? { isValid: false, problems: problems.list } : { isValid: true, config };
}

function readEntry(entry: unknown, at: string, config: Map<string, Provider[]>, problems: Problems): void {
  if (!isFields(entry)) return problems.add(`${at} must be an object.`);
  problems.addUnknown(entry, ["resources", "providers"], at);
  const names = listAt(entry, "resources", `${at}.resources`, problems);
  const resources = names.filter((name) => typeof name === "string");
  if (resources.length < names.length) problems.add(`${at}.resources must contain strings.`);
  for (const [index, name] of resources.entries()) checkName(name, `${at}.resources[${index}]`, problems);
  if (new Set(resources).size < resources.length) problems.add(`${at}.resources names a resource twice.`);
  if (hasOverlap(resources))
    problems.add(`${at}.resources must not name a resource together with a wildcard that includes it.`);
  const providers = listAt(entry, "providers", `${at}.providers`, problems).flatMap((provider, index) => {
    const read = readProvider(provider, `${at}.providers[${index}]`);
    if (typeof read !== "string") return [read];
    problems.add(read);
    return [];
  });
  for (const name of resources) {
    const mask = [`*.${groupOf(name)}`, "*.*"].find((wildcard) => wildcard !== name && config.has(wildcard));
    if (mask === undefined) config.set(name, [...(config.get(name) ?? []), ...providers]);
    else problems.add(`${at}.resources: ${name} is included in ${mask} of an earlier entry.`);
  }
}

/** All resources of an entry share its plugins. */
function repeatedPlugin(config: EncryptionConfig): string | undefined {
  const plugins = new Set([...config.values()].flat().filter((provider) => provider.kind === "kms"));
  const names = [...plugins].map(({ name }) => name);
  return names.find((name, index) => names.indexOf(name) < index);
}

function checkName(name: string, at: string, problems: Problems): void {
  const [resource, group] = splitName(name);
  if (name !== name.toLowerCase()) problems.add(`${at} must not contain capital letters.`);
  else if (name === "*" || name === "")
    problems.add(`${at}: use "*." for all resources of the core group, or "*.*" for all resources.`);
  else if (NOT_ENCRYPTED.includes(name)) problems.add(`${at}: ${name} has no REST API and cannot be encrypted.`);
  else if (group === "events.k8s.io")
    problems.add(`${at}: events are stored in the core group; use "events" instead of "${name}".`);
  else if (group === "extensions") problems.add(`${at}: the group extensions does not exist any more.`);
  else if (group === "*" && resource !== "*")
    problems.add(`${at}: a resource cannot be encrypted across groups; name its group.`);
}

function hasOverlap(names: readonly string[]): boolean {
  return names.some((name) => {
    const others = names.filter((other) => other !== name);
    return name === "*.*" ? others.length > 0 : others.includes(`*.${groupOf(name)}`);
  });
}

/** The name before and after the first dot. */
function splitName(name: string): readonly [string, string] {
  const dot = name.indexOf(".");
  return dot < 0 ? [name, ""] : [name.slice(0, dot), name.slice(dot + 1)];
}

function groupOf(name: string): string {
  return splitName(name)[1];
}

/** Returns the provider, or a message about its problem. */
function readProvider(value: unknown, at: string): Provider | string {
  const names = isFields(value) ? Object.keys(value).filter((name) => value[name] !== undefined) : [];
  const [name = "", ...others] = names;
  if (!isFields(value) || others.length > 0 || !PROVIDER_NAMES.includes(name))
    return `${at} must have exactly one of ${PROVIDER_NAMES.join(", ")}.`;
  if (name === "identity") return { kind: "identity" };
  if (name === "kms") return readPlugin(value["kms"], `${at}.kms`);
  const kind = name as LocalKind;
  const keys = isFields(value[kind]) ? value[kind]["keys"] : undefined;
  if (!Array.isArray(keys) || keys.length === 0) return `${at}.${kind}.keys must have at least one key.`;
  if (keys.length > ENTRIES_MAX) return `${at}.${kind}.keys has more than ${ENTRIES_MAX} keys.`;
  const read = keys.map((key: unknown, index) => readKey(key, `${at}.${kind}.keys[${index}]`, kind));
  const problem = read.find((key) => typeof key === "string");
  return problem ?? { kind, keys: read as ConfiguredKey[] };
}

function readPlugin(value: unknown, at: string): Provider | string {
  if (!isFields(value)) return `${at} must be an object.`;
  const { apiVersion = "v1", name, endpoint, timeout, cachesize } = value;
  if (apiVersion === "v1")
    return `${at}: Evenkeel does not support version 1 of the KMS API, which Kubernetes has deprecated: set apiVersion to v2, with a plugin that implements it.`;
  if (apiVersion !== "v2") return `${at}.apiVersion must be v2.`;
  if (typeof name !== "string" || name === "") return `${at}.name is required.`;
  if (name.includes(":")) return `${at}.name must not contain a colon.`;
  if (cachesize !== undefined) return `${at}.cachesize is a field of version 1 of the KMS API.`;
  const socket = typeof endpoint === "string" ? socketOf(endpoint) : undefined;
  if (socket === undefined) return `${at}.endpoint must be the path of a Unix socket, such as unix:///run/kms.sock.`;
  const timeoutMs = timeout === undefined ? KMS_TIMEOUT_MS : durationMs(timeout);
  if (timeoutMs === undefined) return `${at}.timeout must be a positive duration such as 3s.`;
  return { kind: "kms", name, socket, timeoutMs };
}

/** A path that begins with "@" is a name in Linux' abstract namespace. */
function socketOf(endpoint: string): string | undefined {
  const [, path = ""] = /^unix:\/\/(\/.+)$/.exec(endpoint) ?? [];
  if (path === "") return undefined;
  return path.startsWith("/@") ? path.slice(1) : path;
}

/** Timers of Node.js cannot be longer. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

function durationMs(value: unknown): number | undefined {
  const nanos = typeof value === "string" ? parseGoNanos(value) : undefined;
  if (typeof nanos !== "bigint" || nanos <= 0n) return undefined;
  return Math.min(Number(nanos) / 1e6, TIMEOUT_MS_MAX);
}

function readKey(value: unknown, at: string, kind: LocalKind): ConfiguredKey | string {
  const { name, secret } = isFields(value) ? value : {};
  if (typeof name !== "string" || name === "") return `${at}.name is required.`;
  if (typeof secret !== "string" || secret === "") return `${at}.secret is required.`;
  if (!BASE64.test(secret)) return `${at}.secret must be base64.`;
  const key = Buffer.from(secret, "base64");
  const { sizes, create } = PROVIDERS[kind];
  if (!sizes.includes(key.length)) return `${at}.secret must have ${sizes.join(", ")} bytes, not ${key.length}.`;
  const fingerprint = createHash("sha256").update(key).digest("base64url");
  return { name, fingerprint, createCipher: (random) => create(key, random) };
}

function listAt(fields: Fields, name: string, at: string, problems: Problems): readonly unknown[] {
  const list = fields[name];
  if (!Array.isArray(list) || list.length === 0) problems.add(`${at} must have at least one element.`);
  else if (list.length > ENTRIES_MAX) problems.add(`${at} has more than ${ENTRIES_MAX} elements.`);
  else return list as unknown[];
  return [];
}

class Problems {
  readonly list: string[] = [];

  add(problem: string): void {
    this.list.push(problem);
  }

  addUnknown(fields: Fields, known: readonly string[], at: string): void {
    for (const name of Object.keys(fields))
      if (!known.includes(name)) this.add(`${at === "" ? "" : `${at}.`}${name} is not a field of ${KIND}.`);
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
