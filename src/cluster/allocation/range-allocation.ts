/**
 * The object in which kube-apiserver records the allocated numbers of a range: a v1 RangeAllocation in protobuf. No API
 * serves it. The watch cache decodes it to JSON, with the bitmap in base64.
 */
import { stringAt } from "../../meta/json.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { Bitmap } from "./bitmap.ts";

interface RangeAllocation {
  /** The range that the bitmap covers, such as "30000-32767" or "10.0.0.0/24". */
  readonly range: string;
  readonly allocated: Bitmap;
}

/** More bytes than the largest range of kube-apiserver needs: 2^20 IPv4 addresses. */
const DATA_BYTES_MAX = 2 ** 18;

/** Returns undefined if the value cannot be decoded. */
export function decodeRangeAllocation(entry: Entry): RangeAllocation | undefined {
  const known = entry.memo.get("range") as RangeAllocation | undefined;
  if (known !== undefined) return known;
  if (entry.corrupt !== undefined || entry.kind !== "RangeAllocation") return undefined;
  const object = parseEntry(entry);
  const data = Buffer.from(stringAt(object, "data"), "base64");
  if (data.length > DATA_BYTES_MAX) return undefined;
  const decoded = { range: stringAt(object, "range"), allocated: Bitmap.decode(data) };
  entry.memo.set("range", decoded);
  return decoded;
}

export function encodeRangeAllocation({ range, allocated }: RangeAllocation): Buffer {
  const typeMeta = Buffer.concat([field(1, Buffer.from("v1")), field(2, Buffer.from("RangeAllocation"))]);
  const raw = Buffer.concat([field(1, Buffer.alloc(0)), field(2, Buffer.from(range)), field(3, allocated.encode())]);
  const empty = Buffer.alloc(0);
  return Buffer.concat([Buffer.from("k8s\0"), field(1, typeMeta), field(2, raw), field(3, empty), field(4, empty)]);
}

/** A length-delimited protobuf field. */
function field(number: number, bytes: Buffer): Buffer {
  const head = [number * 8 + 2];
  let { length } = bytes;
  for (; length > 0x7f; length >>= 7) head.push((length & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...head, length]), bytes]);
}
