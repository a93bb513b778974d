/**
 * The record of a server that is starting: it shows the other servers that this server exists before it is ready and
 * has an endpoint record. Only servers can write it, and it expires with its store lease. The key contains the run of
 * the server, because the endpoint record of its previous run may still exist.
 */
import { isJsonObject, stringAt, type JsonObject } from "../../meta/json.ts";
import type { RecordKind, RecordTable } from "./record-table.ts";

export interface StartingRecord {
  readonly id: string;
  /** The ID of the run. */
  readonly incarnation: string;
  readonly release: string;
}

/** Starting records by `startingId`. */
export type StartingTable = RecordTable<StartingRecord>;

const PREFIX = "evenkeel/starting/";
/** More than any cluster has servers. */
const RECORDS_MAX = 1_000;
const TEXT_LENGTH_MAX = 253;

export function startingPrefix(storageRoot: string): string {
  return storageRoot + PREFIX;
}

export function startingRecordKind(storageRoot: string): RecordKind<StartingRecord> {
  const prefix = startingPrefix(storageRoot);
  return {
    name: "starting record",
    prefix,
    recordsMax: RECORDS_MAX,
    idOf(key) {
      const id = key.startsWith(prefix) ? key.slice(prefix.length) : "";
      return id.split("/").length === 2 && id.length <= 2 * TEXT_LENGTH_MAX ? id : undefined;
    },
    decode: decodeStartingRecord,
    isSame: (left, right) => left.release === right.release,
  };
}

/** The part of the key that identifies the run. */
export function startingId({ id, incarnation }: Pick<StartingRecord, "id" | "incarnation">): string {
  return `${id}/${incarnation}`;
}

export function startingKey(storageRoot: string, run: Pick<StartingRecord, "id" | "incarnation">): string {
  return startingPrefix(storageRoot) + startingId(run);
}

export function encodeStartingRecord({ id, incarnation, release }: StartingRecord): JsonObject {
  return { kind: "StartingServer", apiVersion: "evenkeel.io/v1", metadata: { name: id }, incarnation, release };
}

function decodeStartingRecord(key: string, stored: unknown): StartingRecord | undefined {
  if (!isJsonObject(stored) || stored["kind"] !== "StartingServer") return undefined;
  const [id = "", incarnation = ""] = key.split("/");
  const release = stringAt(stored, "release");
  const isValid = id !== "" && incarnation !== "" && stringAt(stored, "incarnation") === incarnation;
  return isValid && /^\d+\.\d+$/.test(release) ? { id, incarnation, release } : undefined;
}
