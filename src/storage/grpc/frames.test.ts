import { describe, expect, test } from "vitest";
import { encodeFrame, FRAME_HEADER_BYTES, FrameReader } from "./frames.ts";
import { MESSAGE_RECEIVE_BYTES_MAX } from "./grpc-limits.ts";
import { DecodeError } from "./wire.ts";

function frameOf(text: string): Buffer {
  return encodeFrame(0, (writer) => writer.string(1, text));
}

describe("gRPC frames", () => {
  test("are read whole, however the bytes are split", () => {
    const frames = [frameOf("a"), encodeFrame(0, () => {}), frameOf("b".repeat(300))];
    const bytes = Buffer.concat(frames);
    for (let size = 1; size <= bytes.length; size++) {
      const reader = new FrameReader();
      const messages: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        reader.push(bytes.subarray(at, at + size));
        for (let message = reader.next(); message !== undefined; message = reader.next()) messages.push(message);
      }
      expect(messages).toEqual(frames.map((frame) => frame.subarray(FRAME_HEADER_BYTES)));
      expect(reader.isEmpty()).toBe(true);
    }
  });

  test("longer than the limit are rejected before their content arrives", () => {
    const reader = new FrameReader();
    const header = Buffer.alloc(FRAME_HEADER_BYTES);
    header.writeUInt32BE(MESSAGE_RECEIVE_BYTES_MAX + 1, 1);
    reader.push(header);
    expect(() => reader.next()).toThrow(DecodeError);
    expect(reader.isOversize).toBe(true);
  });

  test("that are compressed are rejected", () => {
    const reader = new FrameReader();
    reader.push(Buffer.from([1, 0, 0, 0, 0]));
    expect(() => reader.next()).toThrow(DecodeError);
    expect(reader.isOversize).toBe(false);
  });
});
