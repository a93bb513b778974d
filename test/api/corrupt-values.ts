/** Stored values that no server can read, and a function that writes them as another program would. */
import { CONFIG_MAPS, type TestServer } from "./start.ts";

export const KEY = "/registry/configmaps/default/bad";
export const BAD = `${CONFIG_MAPS}/bad`;

/** Writes the value past the server. */
export async function store(api: TestServer, value: string | Buffer, key = KEY): Promise<void> {
  const { items } = await api.kv.range({ start: key });
  await api.kv.commit({
    kind: "put",
    key,
    value: Buffer.from(value as string),
    expectedRevision: items[0]?.modRevision ?? 0,
  });
  await api.world.advance(0);
}

/** Each value with the name of its defect. */
export const VALUES: readonly [string, string][] = [
  ["bytes that are not JSON", "\u0000\u0001\u0002"],
  ["a truncated object", '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"na'],
  ["an empty value", ""],
  ["JSON that is not an object", "[1,2,3]"],
  ["an object without kind", '{"metadata":{"name":"bad"}}'],
  ["an object without metadata", '{"kind":"ConfigMap","apiVersion":"v1"}'],
  ["metadata that is not an object", '{"kind":"ConfigMap","apiVersion":"v1","metadata":"none"}'],
  ["malformed protobuf", "k8s\u0000\u0001\u0002"],
  [
    "an object of an unknown version",
    '{"kind":"ConfigMap","apiVersion":"v99","metadata":{"name":"bad","namespace":"default"}}',
  ],
  ["an object of another kind", '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"bad","namespace":"default"}}'],
];
