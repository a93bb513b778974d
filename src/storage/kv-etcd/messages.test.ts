import { describe, expect, test } from "vitest";
import { FRAME_HEADER_BYTES } from "../grpc/frames.ts";
import {
  decodeLease,
  decodeRange,
  decodeTxn,
  encodeCommit,
  encodeLeaseReference,
  encodeRange,
  ownBytes,
} from "./messages.ts";
import { decodeWatchResponse, encodeWatchCreate } from "./watch-messages.ts";
import { DecodeError, GrpcWriter } from "../grpc/wire.ts";

function message(write: (writer: GrpcWriter) => void): Buffer {
  const writer = new GrpcWriter(0);
  write(writer);
  return writer.finish();
}

function writeHeader(writer: GrpcWriter, revision: number): void {
  writer.message(1, (header) => {
    header.bigInt64(1, 2n ** 63n - 1n);
    header.int64(3, revision);
  });
}

function writeKeyValue(writer: GrpcWriter, { key, modRevision }: { key: string; modRevision: number }): void {
  writer.string(1, key);
  writer.int64(2, 5);
  writer.int64(3, modRevision);
  writer.int64(4, 3);
  writer.bytes(5, Buffer.from("value"));
}

describe("messages to etcd", () => {
  test("encode a range as etcd's own client does", () => {
    const frame = encodeRange({ key: "a", rangeEnd: "b", limit: 2, revision: 300, countOnly: true });
    expect(frame.toString("hex")).toBe("000000000d" + "0a0161" + "120162" + "1802" + "20ac02" + "4801");
  });

  test("encode a put with a lease ID beyond 2^53 as etcd's own client does", () => {
    const lease = "9223372036854775807";
    const frame = encodeCommit({ kind: "put", key: "k", value: Buffer.from("v"), expectedRevision: 7, lease });
    const compare = "0a07" + "1002" + "1a016b" + "3007";
    const put = "0a016b" + "120176" + "18ffffffffffffffff7f";
    const failure = "1a05" + "0a03" + "0a016b";
    expect(frame.subarray(FRAME_HEADER_BYTES).toString("hex")).toBe(`${compare}12121210${put}${failure}`);
  });

  test("contain a compare for each guard, and a keys-only range for each guard in the failure branch", () => {
    const guards = [
      { key: "g", revision: 300 },
      { key: "h", revision: 0 },
    ];
    const frame = encodeCommit({ kind: "put", key: "k", value: Buffer.from("v"), expectedRevision: 7, guards });
    const guardCompares = "0a08" + "1002" + "1a0167" + "30ac02" + "0a05" + "1002" + "1a0168";
    const compares = "0a07" + "1002" + "1a016b" + "3007" + guardCompares;
    const put = "1208" + "1206" + "0a016b" + "120176";
    const looks = "1a07" + "0a05" + "0a0167" + "4001" + "1a07" + "0a05" + "0a0168" + "4001";
    const failure = "1a05" + "0a03" + "0a016b" + looks;
    expect(frame.subarray(FRAME_HEADER_BYTES).toString("hex")).toBe(`${compares}${put}${failure}`);
  });

  test("compare the mod revision with 0 if the key must not exist; protobuf omits the 0", () => {
    const frame = encodeCommit({ kind: "delete", key: "k", expectedRevision: 0 });
    expect(frame.subarray(FRAME_HEADER_BYTES).toString("hex")).toBe(
      "0a0510021a016b" + "12051a030a016b" + "1a050a030a016b",
    );
  });

  test("keep all digits of a lease ID", () => {
    const frame = encodeLeaseReference("7587848390923456789");
    const response = message((writer) => writer.bigInt64(2, 7587848390923456789n));
    expect(frame.length).toBe(FRAME_HEADER_BYTES + 10);
    expect(decodeLease(response)).toEqual({ lease: "7587848390923456789", ttlSeconds: 0 });
  });

  test("request progress notifications and fragments for a watch", () => {
    const frame = encodeWatchCreate({ watchId: 4, key: "a", rangeEnd: "b", startRevision: 9 });
    expect(frame.subarray(FRAME_HEADER_BYTES).toString("hex")).toBe(
      "0a0e" + "0a0161" + "120162" + "1809" + "2001" + "3804" + "4001",
    );
  });
});

describe("responses from etcd", () => {
  test("are decoded for a range", () => {
    const response = decodeRange(
      message((writer) => {
        writeHeader(writer, 12);
        writer.message(2, (item) => writeKeyValue(item, { key: "/a", modRevision: 6 }));
        writer.bool(3, true);
        writer.int64(4, 77);
      }),
    );
    const header = { clusterId: 2n ** 63n - 1n, revision: 12, raftTerm: 0n };
    const item = { key: "/a", value: Buffer.from("value"), createRevision: 5, modRevision: 6 };
    expect(response).toEqual({ header, items: [item], hasMore: true, count: 77 });
  });

  test("contain the current value of the key if the commit lost a race", () => {
    const response = decodeTxn(
      message((writer) => {
        writeHeader(writer, 12);
        writer.message(3, (operation) =>
          operation.message(1, (range) =>
            range.message(2, (item) => writeKeyValue(item, { key: "/a", modRevision: 6 })),
          ),
        );
      }),
    );
    expect(response).toMatchObject({
      header: { revision: 12 },
      succeeded: false,
      current: { key: "/a", modRevision: 6 },
    });
  });

  test("report the written key and each guard separately if a guarded put failed", () => {
    const answerOf = (...found: (number | undefined)[]): Buffer =>
      message((writer) => {
        writeHeader(writer, 12);
        for (const modRevision of found)
          writer.message(3, (operation) =>
            operation.message(1, (range) => {
              if (modRevision === undefined) return;
              range.message(2, (item) => writeKeyValue(item, { key: "/a", modRevision }));
            }),
          );
      });
    const current = { modRevision: 6 };
    expect(decodeTxn(answerOf(6))).toMatchObject({ current, guardRevisions: [] });
    expect(decodeTxn(answerOf(6, 9))).toMatchObject({ current, guardRevisions: [9] });
    expect(decodeTxn(answerOf(undefined, 9))).toMatchObject({ current: undefined, guardRevisions: [9] });
    expect(decodeTxn(answerOf(6, undefined, 9))).toMatchObject({ current, guardRevisions: [0, 9] });
  });

  test("are rejected if they contain no revision", () => {
    expect(() => decodeRange(Buffer.alloc(0))).toThrow(DecodeError);
    expect(() => decodeTxn(Buffer.alloc(0))).toThrow(DecodeError);
  });

  test("are rejected if a watch event has an unknown type or no revision", () => {
    const unknownType = message((writer) =>
      writer.message(11, (event) => {
        event.int64(1, 2);
        event.message(2, (item) => writeKeyValue(item, { key: "/a", modRevision: 6 }));
      }),
    );
    const withoutRevision = message((writer) => writer.message(11, (event) => event.int64(1, 1)));
    expect(() => decodeWatchResponse(unknownType)).toThrow(DecodeError);
    expect(() => decodeWatchResponse(withoutRevision)).toThrow(DecodeError);
  });

  test("may contain a negative watch ID", () => {
    expect(decodeWatchResponse(message((writer) => writer.bigInt64(2, -1n)))).toMatchObject({
      watchId: -1,
      events: [],
    });
  });
});

describe("the memory of a decoded value", () => {
  test("is not shared with the message if the value is a small part of it", () => {
    const big = Buffer.alloc(100_000, 1);
    const own = ownBytes(big.subarray(10, 20));
    expect(own).toEqual(big.subarray(10, 20));
    expect(own.buffer).not.toBe(big.buffer);
  });

  test("is shared with the message if the value is most of it", () => {
    const big = Buffer.alloc(100_000, 1);
    expect(ownBytes(big.subarray(100)).buffer).toBe(big.buffer);
  });
});
