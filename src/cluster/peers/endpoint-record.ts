/**
 * The record in the store that holds the address of a server. Only servers can write it, because no API request reaches
 * its key. Its format is the v1 Endpoints that kube-apiserver writes. Other properties that peers need are in
 * annotations, which a kube-apiserver neither writes nor reads.
 */
import { isIP } from "node:net";
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { isJsonObject, jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { RecordKind, RecordTable } from "./record-table.ts";

type EndpointState = "serving" | "draining";

export interface EndpointRecord {
  readonly id: string;
  /** Undefined if peers cannot call the server. */
  readonly address: UpstreamAddress | undefined;
  /** The IP address that the server publishes in its masterlease; undefined if it publishes none, or is a kube-apiserver. */
  readonly publishedAddress: string | undefined;
  /** Number of times that the record was written. */
  readonly generation: number;
  readonly state: EndpointState;
  /**
   * The release that the server publishes. This and the following fields are undefined for a kube-apiserver, which does
   * not publish them.
   */
  readonly release: string | undefined;
  readonly compatibilityVersion: string | undefined;
  readonly binaryVersion: string | undefined;
  readonly incarnation: string | undefined;
  /** The ETag of the server's own discovery document. Peers fetch the document again when it changes. */
  readonly document: string | undefined;
  /** Whether the server has published the storage versions of all resources that it stores. */
  readonly hasPublishedStorageVersions: boolean;
}

const PREFIX = "peerserverleases/";
const IDENTITY_LABEL = "apiserverIdentity";
const ANNOTATION = "evenkeel.io/";
const PUBLISHED = "published";
/** Longer than any valid version, UUID or ETag. */
const TEXT_LENGTH_MAX = 256;
const ID_LENGTH_MAX = 253;
const UNSPECIFIED: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** More than any cluster has servers. */
const RECORDS_MAX = 1_000;

/** The endpoint records of all servers, by server ID. */
export type EndpointTable = RecordTable<EndpointRecord>;

export function endpointRecordKind(storageRoot: string): RecordKind<EndpointRecord> {
  const prefix = storageRoot + PREFIX;
  return {
    name: "endpoint record",
    prefix,
    recordsMax: RECORDS_MAX,
    idOf(key) {
      const id = key.startsWith(prefix) ? key.slice(prefix.length) : "";
      return id === "" || id.length > ID_LENGTH_MAX || id.includes("/") ? undefined : id;
    },
    decode: decodeEndpointRecord,
    isSame: isSameContent,
  };
}

/** Compares two records without their generations, which only count writes. */
export function isSameContent(left: EndpointRecord, right: EndpointRecord): boolean {
  return jsonEquals({ ...left, generation: 0 }, { ...right, generation: 0 });
}

export function endpointKey(storageRoot: string, id: string): string {
  return storageRoot + PREFIX + id;
}

export function encodeEndpointRecord(record: EndpointRecord): JsonObject {
  const { id, address, generation, state, release, compatibilityVersion, binaryVersion, incarnation, document } =
    record;
  const storageVersions = record.hasPublishedStorageVersions ? PUBLISHED : undefined;
  const texts = {
    state,
    release,
    "compatibility-version": compatibilityVersion,
    "binary-version": binaryVersion,
    incarnation,
    document,
    "published-address": record.publishedAddress,
    "storage-versions": storageVersions,
  };
  const annotations = Object.entries(texts).filter(([, text]) => text !== undefined);
  return {
    kind: "Endpoints",
    apiVersion: "v1",
    metadata: {
      generation,
      labels: { [IDENTITY_LABEL]: id },
      annotations: Object.fromEntries(annotations.map(([name, text]) => [ANNOTATION + name, text])),
    },
    subsets:
      address === undefined
        ? []
        : [{ addresses: [{ ip: address.host }], ports: [{ name: "https", port: address.port, protocol: "TCP" }] }],
  };
}

/**
 * Undefined if the value is not a record of the server with this ID, or has an address to which no peer could connect.
 * Only a server that publishes its release may have no address.
 */
export function decodeEndpointRecord(id: string, stored: unknown): EndpointRecord | undefined {
  if (!isJsonObject(stored) || stored["kind"] !== "Endpoints") return undefined;
  const metadata = objectAt(stored, "metadata");
  if (stringAt(objectAt(metadata, "labels"), IDENTITY_LABEL) !== id) return undefined;
  const address = addressIn(stored["subsets"]);
  const annotations = objectAt(metadata, "annotations");
  const text = (name: string): string | undefined => plainText(annotations[ANNOTATION + name]);
  const hasNone = objectsAt(stored, "subsets").length === 0 && text("release") !== undefined;
  if (address === undefined && !hasNone) return undefined;
  return {
    id,
    address,
    generation: generationOf(metadata),
    state: text("state") === "draining" ? "draining" : "serving",
    release: text("release"),
    compatibilityVersion: text("compatibility-version"),
    binaryVersion: text("binary-version"),
    incarnation: text("incarnation"),
    document: text("document"),
    publishedAddress: text("published-address"),
    hasPublishedStorageVersions: text("storage-versions") === PUBLISHED,
  };
}

/** The number of times that a record was written; 0 if the metadata does not show it. */
export function generationOf({ generation }: JsonObject): number {
  return Number.isSafeInteger(generation) && Number(generation) > 0 ? Number(generation) : 0;
}

/** Whether the text is an IP address to which another host can connect. An IPv6 zone has no meaning on another host. */
export function isReachableIp(text: string): boolean {
  return isIP(text) !== 0 && !text.includes("%") && !UNSPECIFIED.has(text);
}

export function isPort(port: unknown): port is number {
  return Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536;
}

function addressIn(subsets: unknown): UpstreamAddress | undefined {
  const subset = firstObject(subsets);
  const host = stringAt(firstObject(subset["addresses"]), "ip");
  const { port } = firstObject(subset["ports"]);
  return isReachableIp(host) && isPort(port) ? { host, port } : undefined;
}

function firstObject(list: unknown): JsonObject {
  const [first] = Array.isArray(list) ? (list as unknown[]) : [];
  return isJsonObject(first) ? first : {};
}

/** Printable ASCII only, because the text is written to logs, headers and responses. */
function plainText(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > TEXT_LENGTH_MAX) return undefined;
  return /^[\x20-\x7e]+$/.test(value) ? value : undefined;
}
