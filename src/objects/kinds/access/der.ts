/** Just enough DER to see what a certificate signing request is made of. */

export interface DerElement {
  /** 0 for universal, 1 application, 2 of the context, 3 private. */
  readonly tagClass: number;
  readonly tag: number;
  readonly isCompound: boolean;
  readonly content: Buffer;
  /** With tag and length. */
  readonly whole: Buffer;
  readonly headerBytes: number;
}

/** Undefined for what is truncated, or longer than anything here. */
export function derElement(bytes: Buffer): DerElement | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined || (first & 0x1f) === 0x1f) return undefined;
  const lengthBytes = second < 0x80 ? 0 : second & 0x7f;
  if (second === 0x80 || lengthBytes > 4 || bytes.length < 2 + lengthBytes) return undefined;
  const length = lengthBytes === 0 ? second : bytes.readUIntBE(2, lengthBytes);
  const headerBytes = 2 + lengthBytes;
  if (bytes.length < headerBytes + length) return undefined;
  return {
    tagClass: first >> 6,
    tag: first & 0x1f,
    isCompound: (first & 0x20) !== 0,
    content: bytes.subarray(headerBytes, headerBytes + length),
    whole: bytes.subarray(0, headerBytes + length),
    headerBytes,
  };
}

/** The elements one after another; undefined when the bytes do not end with the last. */
export function derElements(bytes: Buffer, countMax: number): DerElement[] | undefined {
  const elements: DerElement[] = [];
  for (let rest = bytes; rest.length > 0 && elements.length < countMax;) {
    const element = derElement(rest);
    if (element === undefined) return undefined;
    elements.push(element);
    rest = rest.subarray(element.whole.length);
  }
  return elements;
}
