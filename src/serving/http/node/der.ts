/** Encodes the ASN.1 DER elements of which certificates consist. */

export function sequence(...parts: readonly Buffer[]): Buffer {
  return element(0x30, Buffer.concat(parts));
}

export function set(...parts: readonly Buffer[]): Buffer {
  return element(0x31, Buffer.concat(parts));
}

/** A context-specific, constructed element, such as the `[0] EXPLICIT` version. */
export function explicit(tag: number, content: Buffer): Buffer {
  return element(0xa0 | tag, content);
}

/** A context-specific, primitive element, such as a name in a subjectAltName. */
export function implicit(tag: number, content: Buffer): Buffer {
  return element(0x80 | tag, content);
}

/** A non-negative integer. `bytes` has the most significant byte first. */
export function derInteger(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const magnitude = Buffer.from(bytes.subarray(start));
  return element(0x02, (magnitude[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), magnitude]) : magnitude);
}

export function boolean(value: boolean): Buffer {
  return element(0x01, Buffer.of(value ? 0xff : 0));
}

export function octetString(content: Buffer): Buffer {
  return element(0x04, content);
}

export function bitString(content: Buffer, unusedBits = 0): Buffer {
  return element(0x03, Buffer.concat([Buffer.of(unusedBits), content]));
}

export function utf8String(text: string): Buffer {
  return element(0x0c, Buffer.from(text));
}

/** An object identifier from its dotted form, such as "2.5.29.17". */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** A time, as RFC 5280 requires it: with a two-digit year up to 2049, and with four digits after that. */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  return digits < "2050" ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits));
}

function element(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.of(tag), length(content.length), content]);
}

function length(count: number): Buffer {
  if (count < 0x80) return Buffer.of(count);
  const bytes: number[] = [];
  for (let rest = count; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return Buffer.of(0x80 | bytes.length, ...bytes);
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}
