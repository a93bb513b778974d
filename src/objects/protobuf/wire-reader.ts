/** Reads protobuf messages that clients send. The error about a malformed message contains the name of the message. */
import { WireReader } from "../../base/wire-reader.ts";

export class ProtobufDecodeError extends Error {
  override readonly name = "ProtobufDecodeError";
}

/** Throws a `ProtobufDecodeError` for malformed bytes. */
export class MessageReader extends WireReader {
  readonly #message: string;

  /** `message`: the name of the message in errors. */
  constructor(bytes: Buffer, start: number, end: number, message: string) {
    super(bytes, start, end);
    this.#message = message;
  }

  override double(): number {
    const value = super.double();
    if (!Number.isFinite(value)) throw this.error(`has a number in field ${this.field} that JSON cannot represent`);
    return value;
  }

  protected override error(problem: string): ProtobufDecodeError {
    return new ProtobufDecodeError(`the protobuf message ${this.#message} ${problem}`);
  }
}
