/**
 * The messages of version 2 of the KMS plugin API, and of the values that kube-apiserver encrypts with it. Encoders of
 * calls return a whole gRPC frame; decoders throw a `DecodeError` for malformed messages.
 */
import { encodeFrame } from "../../grpc/frames.ts";
import { GrpcReader, GrpcWriter } from "../../grpc/wire.ts";

export const KMS_METHOD = {
  status: "/v2.KeyManagementService/Status",
  encrypt: "/v2.KeyManagementService/Encrypt",
  decrypt: "/v2.KeyManagementService/Decrypt",
} as const;

export interface KmsStatus {
  readonly version: string;
  /** "ok", or the reason why the plugin is unhealthy. */
  readonly healthz: string;
  /** The key with which the plugin encrypts now. */
  readonly keyId: string;
}

/** A data key as the plugin has encrypted it. */
export interface EncryptedDataKey {
  readonly ciphertext: Buffer;
  readonly keyId: string;
  readonly annotations: ReadonlyMap<string, Buffer>;
}

/** How the data key of a value encrypts it: AES-GCM with this key, or with a key that is derived from it. */
export const DATA_KEY_TYPE = { aesGcmKey: 0, derivedKeySeed: 1 } as const;

/** A value in the store, without the header. */
export interface EncryptedValue {
  readonly data: Buffer;
  readonly dataKey: EncryptedDataKey;
  /** One of `DATA_KEY_TYPE`. */
  readonly type: number;
}

const OVERHEAD_BYTES = 64;
const UID_BYTES = 36;

export function encodeStatusCall(): Buffer {
  return encodeFrame(0, () => {});
}

export function decodeKmsStatus(message: Buffer): KmsStatus {
  const reader = new GrpcReader(message);
  const status = { version: "", healthz: "", keyId: "" };
  while (reader.next()) {
    if (reader.field === 1) status.version = reader.string();
    else if (reader.field === 2) status.healthz = reader.string();
    else if (reader.field === 3) status.keyId = reader.string();
    else reader.skip();
  }
  return status;
}

export function encodeEncryptCall(plaintext: Buffer, uid: string): Buffer {
  return encodeFrame(OVERHEAD_BYTES + plaintext.length + UID_BYTES, (writer) => {
    writer.bytes(1, plaintext);
    writer.string(2, uid);
  });
}

export function decodeEncrypted(message: Buffer): EncryptedDataKey {
  const reader = new GrpcReader(message);
  let [ciphertext, keyId] = [Buffer.alloc(0), ""];
  const annotations = new Map<string, Buffer>();
  while (reader.next()) {
    if (reader.field === 1) ciphertext = Buffer.from(reader.bytes());
    else if (reader.field === 2) keyId = reader.string();
    else if (reader.field === 3) readAnnotation(reader.message(), annotations);
    else reader.skip();
  }
  return { ciphertext, keyId, annotations };
}

export function encodeDecryptCall({ ciphertext, keyId, annotations }: EncryptedDataKey, uid: string): Buffer {
  return encodeFrame(OVERHEAD_BYTES + ciphertext.length + keyId.length + UID_BYTES, (writer) => {
    writer.bytes(1, ciphertext);
    writer.string(2, uid);
    writer.string(3, keyId);
    writeAnnotations(writer, annotations);
  });
}

export function decodeDecrypted(message: Buffer): Buffer {
  const reader = new GrpcReader(message);
  let plaintext = Buffer.alloc(0);
  while (reader.next()) {
    if (reader.field === 1) plaintext = Buffer.from(reader.bytes());
    else reader.skip();
  }
  return plaintext;
}

export function encodeValue({ data, dataKey, type }: EncryptedValue): Buffer {
  const { ciphertext, keyId, annotations } = dataKey;
  const writer = new GrpcWriter(OVERHEAD_BYTES + data.length + ciphertext.length + keyId.length);
  writer.bytes(1, data);
  writer.string(2, keyId);
  writer.bytes(3, ciphertext);
  writeAnnotations(writer, annotations);
  writer.int64(5, type);
  return writer.finish();
}

/** The data key is a copy, because it is kept longer than the value. */
export function decodeValue(message: Buffer): EncryptedValue {
  const reader = new GrpcReader(message);
  let [data, ciphertext, keyId, type] = [Buffer.alloc(0), Buffer.alloc(0), "", 0];
  const annotations = new Map<string, Buffer>();
  while (reader.next()) {
    if (reader.field === 1) data = reader.bytes() as Buffer<ArrayBuffer>;
    else if (reader.field === 2) keyId = reader.string();
    else if (reader.field === 3) ciphertext = Buffer.from(reader.bytes());
    else if (reader.field === 4) readAnnotation(reader.message(), annotations);
    else if (reader.field === 5) type = reader.int32();
    else reader.skip();
  }
  return { data, dataKey: { ciphertext, keyId, annotations }, type };
}

function writeAnnotations(writer: GrpcWriter, annotations: ReadonlyMap<string, Buffer>): void {
  for (const [name, value] of annotations) {
    writer.message(4, (entry) => {
      entry.string(1, name);
      entry.bytes(2, value);
    });
  }
}

function readAnnotation(entry: GrpcReader, annotations: Map<string, Buffer>): void {
  let [name, value] = ["", Buffer.alloc(0)];
  while (entry.next()) {
    if (entry.field === 1) name = entry.string();
    else if (entry.field === 2) value = Buffer.from(entry.bytes());
    else entry.skip();
  }
  annotations.set(name, value);
}
