/**
 * Masterleases: keys in the store under which every API server publishes the IP address at which clients reach it. The
 * key and the format are those of kube-apiserver, so that servers of both kinds see each other. The endpoints of the
 * kubernetes Service come from these keys.
 *
 * A masterlease holds one IP address and no port. Therefore servers with the same IP address share one masterlease: it
 * exists while at least one of them is live.
 */
import { isIP } from "node:net";
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { generationOf, isReachableIp } from "./endpoint-record.ts";
import type { RecordKind, RecordTable } from "./record-table.ts";

export interface MasterLease {
  readonly ip: string;
  /** Number of times that the masterlease was written. */
  readonly generation: number;
}

export type MasterLeaseTable = RecordTable<MasterLease>;

const PREFIX = "masterleases/";
/** More than any cluster has servers. */
const RECORDS_MAX = 1_000;

export function masterLeaseKind(storageRoot: string): RecordKind<MasterLease> {
  const prefix = storageRoot + PREFIX;
  return {
    name: "masterlease",
    prefix,
    recordsMax: RECORDS_MAX,
    idOf(key) {
      const ip = key.startsWith(prefix) ? key.slice(prefix.length) : "";
      return isIP(ip) === 0 ? undefined : ip;
    },
    decode: decodeMasterLease,
    isSame: (left, right) => left.ip === right.ip,
  };
}

export function masterLeaseKey(storageRoot: string, ip: string): string {
  return storageRoot + PREFIX + ip;
}

export function encodeMasterLease({ ip, generation }: MasterLease): JsonObject {
  return { kind: "Endpoints", apiVersion: "v1", metadata: { generation }, subsets: [{ addresses: [{ ip }] }] };
}

/** Undefined if the value does not hold the IP address of its key, or clients cannot connect to that address. */
function decodeMasterLease(ip: string, stored: unknown): MasterLease | undefined {
  if (!isJsonObject(stored) || stored["kind"] !== "Endpoints") return undefined;
  const [subset = {}] = objectsAt(stored, "subsets");
  const [address = {}] = objectsAt(subset, "addresses");
  if (stringAt(address, "ip") !== ip || !isReachableIp(ip)) return undefined;
  return { ip, generation: generationOf(objectAt(stored, "metadata")) };
}
