/**
 * gRPC's framing: each message is preceded by one byte that marks compression and four bytes with the message's length.
 */
import { MESSAGE_RECEIVE_BYTES_MAX } from "./grpc-limits.ts";
import { DecodeError, GrpcWriter } from "./wire.ts";

export const FRAME_HEADER_BYTES = 5;

/** Encodes a message directly into its frame. */
export function encodeFrame(sizeHint: number, write: (writer: GrpcWriter) => void): Buffer {
  const writer = new GrpcWriter(sizeHint, FRAME_HEADER_BYTES);
  write(writer);
  const frame = writer.finish();
  frame[0] = 0;
  frame.writeUInt32BE(frame.length - FRAME_HEADER_BYTES, 1);
  return frame;
}

/** Splits a byte stream into messages. It allocates no memory for a message before its bytes have arrived. */
export class FrameReader {
  /** True if the rejected frame was well-formed but too long. */
  isOversize = false;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #needed = FRAME_HEADER_BYTES;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /**
   * Returns the next message, or undefined if it has not arrived completely. Throws a `DecodeError` if the frame is
   * compressed or too long.
   */
  next(): Buffer | undefined {
    if (this.#bytes < this.#needed) return undefined;
    const all = this.#joined();
    if (all[0] !== 0) throw new DecodeError("a message is compressed, which this client does not accept");
    const length = all.readUInt32BE(1);
    if (length > MESSAGE_RECEIVE_BYTES_MAX) {
      this.isOversize = true;
      throw new DecodeError(`a message of ${length} bytes exceeds the limit of ${MESSAGE_RECEIVE_BYTES_MAX}`);
    }
    const end = FRAME_HEADER_BYTES + length;
    this.#needed = end;
    if (all.length < end) return undefined;
    const rest = all.subarray(end);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    this.#needed = FRAME_HEADER_BYTES;
    return all.subarray(FRAME_HEADER_BYTES, end);
  }

  isEmpty(): boolean {
    return this.#bytes === 0;
  }

  #joined(): Buffer {
    const [first] = this.#chunks;
    const all = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks, this.#bytes);
    this.#chunks = [all];
    return all;
  }
}
