/**
 * Encodes endpoint records and masterleases as kube-apiserver writes them: v1 Endpoints objects in protobuf, without
 * Evenkeel's annotations.
 */

/** Protobuf field numbers of runtime.Unknown, of k8s.io/api/core/v1 and of ObjectMeta. */
const FIELD = {
  typeMeta: 1,
  raw: 2,
  apiVersion: 1,
  kind: 2,
  metadata: 1,
  subsets: 2,
  generation: 7,
  labels: 11,
} as const;
const SUBSET = { addresses: 1, ports: 3 } as const;

export function protobufEndpoints(id: string, port: number): Buffer {
  const label = Buffer.concat([text(1, "apiserverIdentity"), text(2, id)]);
  const metadata = Buffer.concat([number(FIELD.generation, 3), message(FIELD.labels, label)]);
  const subset = Buffer.concat([
    message(SUBSET.addresses, text(1, "127.0.0.1")),
    message(SUBSET.ports, Buffer.concat([text(1, "https"), number(2, port), text(3, "TCP")])),
  ]);
  return encoded(metadata, subset);
}

export function protobufMasterLease(ip: string): Buffer {
  return encoded(number(FIELD.generation, 3), message(SUBSET.addresses, text(1, ip)));
}

function encoded(metadata: Buffer, subset: Buffer): Buffer {
  const endpoints = Buffer.concat([message(FIELD.metadata, metadata), message(FIELD.subsets, subset)]);
  const typeMeta = Buffer.concat([text(FIELD.apiVersion, "v1"), text(FIELD.kind, "Endpoints")]);
  return Buffer.concat([
    Buffer.from("k8s\0", "latin1"),
    message(FIELD.typeMeta, typeMeta),
    message(FIELD.raw, endpoints),
    text(3, ""),
    text(4, ""),
  ]);
}

function message(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of((field << 3) | 2), varint(bytes.length), bytes]);
}

function text(field: number, value: string): Buffer {
  return message(field, Buffer.from(value, "utf8"));
}

function number(field: number, value: number): Buffer {
  return Buffer.concat([Buffer.of(field << 3), varint(value)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
