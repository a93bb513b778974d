import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DecodeError, GrpcReader, GrpcWriter } from "./wire.ts";

function written(write: (writer: GrpcWriter) => void): Buffer {
  const writer = new GrpcWriter(0);
  write(writer);
  return writer.finish();
}

function firstField(bytes: Buffer | readonly number[]): GrpcReader {
  const reader = new GrpcReader(Buffer.from(bytes));
  expect(reader.next()).toBe(true);
  return reader;
}

/** Reads all fields as if they were unknown. */
function skipAll(bytes: Buffer): void {
  const reader = new GrpcReader(bytes);
  while (reader.next()) reader.skip();
}

describe("the wire format", () => {
  test("round-trips integers up to 2^53 - 1", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        const bytes = written((writer) => writer.int64(1, value));
        if (value === 0) expect(bytes).toHaveLength(0);
        else expect(firstField(bytes).int64()).toBe(value);
      }),
    );
  });

  test("round-trips 64-bit integers of either sign", () => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), (value) => {
        if (value !== 0n) expect(firstField(written((writer) => writer.bigInt64(1, value))).bigInt64()).toBe(value);
      }),
    );
    expect(firstField(written((writer) => writer.bigInt64(3, -1n))).int64()).toBe(-1);
  });

  test("round-trips nested messages whose length needs one, two, three or four bytes", () => {
    for (const size of [0, 1, 120, 127, 128, 16_383, 16_384, 2_100_000]) {
      const value = Buffer.alloc(size, 7);
      const bytes = written((writer) => {
        writer.message(1, (outer) => outer.message(2, (inner) => inner.bytes(3, value)));
        writer.string(4, "grüße");
        writer.bool(5, true);
      });
      const reader = firstField(bytes);
      const outer = reader.message();
      outer.next();
      const inner = outer.message();
      if (size > 0) {
        expect(inner.next()).toBe(true);
        expect(inner.bytes().equals(value)).toBe(true);
      }
      expect(inner.next()).toBe(false);
      expect(reader.next() && reader.string()).toBe("grüße");
      expect(reader.next() && reader.bool()).toBe(true);
      expect(reader.next()).toBe(false);
    }
  });

  test("skips unknown fields of all supported wire types", () => {
    const known = written((writer) => writer.int64(9, 42));
    const unknown = [0x08, 0xff, 0x01, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1a, 2, 0, 0, 0x25, 1, 2, 3, 4];
    const reader = new GrpcReader(Buffer.concat([Buffer.from(unknown), known]));
    while (reader.next() && reader.field !== 9) reader.skip();
    expect(reader.int64()).toBe(42);
  });
});

describe("malformed bytes are rejected with a DecodeError:", () => {
  test.each([
    ["a number that ends early", [0x08, 0x80]],
    ["a number of more than ten bytes", [0x08, ...Array.from({ length: 11 }, () => 0x80), 0]],
    ["a number of more than 64 bits", [0x08, ...Array.from({ length: 9 }, () => 0xff), 0x02]],
    ["a length beyond the message", [0x0a, 0x05, 1, 2]],
    ["a length beyond 32 bits", [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ["a length of 4 GB", [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]],
    ["field number 0", [0x00, 0x01]],
    ["a group", [0x0b, 0x0c]],
    ["a tag beyond 32 bits", [0x88, 0x80, 0x80, 0x80, 0x80, 0x01, 0x01]],
    ["a fixed field that ends early", [0x0d, 1, 2, 3]],
  ])("%s", (_, bytes) => {
    expect(() => skipAll(Buffer.from(bytes))).toThrow(DecodeError);
  });

  test("an integer beyond 2^53 in a number field", () => {
    const bytes = written((writer) => writer.bigInt64(1, 2n ** 53n));
    expect(() => firstField(bytes).int64()).toThrow(DecodeError);
  });

  test("a field of a wire type other than the expected one", () => {
    expect(() => firstField([0x08, 0x01]).bytes()).toThrow(DecodeError);
    expect(() => firstField([0x0a, 0x00]).int64()).toThrow(DecodeError);
  });

  test("a nested message that reads beyond its own end", () => {
    const nested = firstField([0x0a, 0x02, 0x12, 0x05, 1, 2, 3, 4, 5]).message();
    nested.next();
    expect(() => nested.bytes()).toThrow(DecodeError);
  });

  test("random bytes, unless they happen to decode", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          skipAll(Buffer.from(bytes));
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(DecodeError);
        }
      }),
    );
  });
});
