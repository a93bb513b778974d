/** Services of tests, and what kube-apiserver's records contain. */
import { Bitmap } from "../../src/cluster/allocation/bitmap.ts";
import { encodeRangeAllocation } from "../../src/cluster/allocation/range-allocation.ts";
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { decodeProtobufObject } from "../../src/objects/protobuf/decode.ts";
import type { Kv } from "../../src/storage/kv.ts";
import type { ApiTestResponse, Json } from "./start.ts";

export const SERVICES = "/api/v1/namespaces/default/services";

export function service(name: string, spec: Json = {}): Json {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } };
}

/** The numbers that kube-apiserver's records contain: bitmaps and IPAddress objects. */
export async function allocated(kv: Kv): Promise<string[]> {
  const addresses = await kv.range({ start: "/registry/ipaddresses/", end: "/registry/ipaddresses0" });
  const ips = new Set([
    ...addresses.items.map(({ key }) => key.slice("/registry/ipaddresses/".length)),
    ...(await bitsOf(kv, "serviceips")).map((index) => `10.0.0.${index + 1}`),
  ]);
  const ports = await bitsOf(kv, "servicenodeports");
  return [...[...ips].map((ip) => `clusterips/${ip}`), ...ports.map((index) => `nodeports/${30_000 + index}`)];
}

export async function bitsOf(kv: Kv, range: string): Promise<number[]> {
  const { items } = await kv.range({ start: `/registry/ranges/${range}` });
  if (items[0] === undefined) return [];
  const { data } = decodeProtobufObject(items[0].value, protobufTables()) as { data?: string };
  return [...Bitmap.decode(Buffer.from(data ?? "", "base64")).indexes()];
}

export async function setBits(kv: Kv, range: string, text: string, indexes: readonly number[]): Promise<void> {
  const { items } = await kv.range({ start: `/registry/ranges/${range}` });
  await kv.commit({
    kind: "put",
    key: `/registry/ranges/${range}`,
    value: encodeRangeAllocation({ range: text, allocated: Bitmap.of(indexes) }),
    expectedRevision: items[0]?.modRevision ?? 0,
  });
}

export function sentence(response: ApiTestResponse): string {
  return `${response.status} ${response.body.message}`;
}
