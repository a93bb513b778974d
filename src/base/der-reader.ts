/**
 * Reads ASN.1 DER that clients send. Returns undefined for anything that is not exactly well formed, and never throws.
 */

export interface DerElement {
  /** The whole identifier byte: class, constructed bit and tag number. */
  readonly tag: number;
  readonly content: Buffer;
  /** The element including its tag and length. */
  readonly whole: Buffer;
}

export const DER_TAG = {
  integer: 0x02,
  octetString: 0x04,
  objectIdentifier: 0x06,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Limit of elements. No structure of a certificate has more. */
const ELEMENTS_MAX = 1_000;
const LENGTH_BYTES_MAX = 3;

/** The consecutive elements of the bytes; undefined unless they fill the bytes completely. */
export function readElements(bytes: Buffer): DerElement[] | undefined {
  const elements = firstElements(bytes, ELEMENTS_MAX + 1);
  return elements === undefined || elements.length > ELEMENTS_MAX ? undefined : elements;
}

/** Reads up to `countMax` elements, and ignores the bytes after them. */
export function firstElements(bytes: Buffer, countMax: number): DerElement[] | undefined {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length && elements.length < countMax;) {
    const element = readElement(bytes, at);
    if (element === undefined) return undefined;
    elements.push(element);
    at += element.whole.length;
  }
  return elements;
}

/** The elements inside an element; undefined if it does not have this tag or is malformed. */
export function partsOf(element: DerElement | undefined, tag: number): DerElement[] | undefined {
  return element?.tag === tag ? readElements(element.content) : undefined;
}

export function readElement(bytes: Buffer, start = 0): DerElement | undefined {
  const tag = bytes[start];
  // Reject tags of several bytes, which do not occur in certificates.
  if (tag === undefined || (tag & 0x1f) === 0x1f) return undefined;
  const length = readLength(bytes, start + 1);
  if (length === undefined) return undefined;
  const end = length.end + length.value;
  if (end > bytes.length) return undefined;
  return { tag, content: bytes.subarray(length.end, end), whole: bytes.subarray(start, end) };
}

/** Reads a length. Rejects every form but the shortest, and the indefinite form (0x80), because they are not DER. */
function readLength(bytes: Buffer, start: number): { value: number; end: number } | undefined {
  const first = bytes[start];
  if (first === undefined) return undefined;
  if (first < 0x80) return { value: first, end: start + 1 };
  const count = first & 0x7f;
  const end = start + 1 + count;
  if (count === 0 || count > LENGTH_BYTES_MAX || end > bytes.length) return undefined;
  const value = bytes.readUIntBE(start + 1, count);
  const isShortest = value >= 0x80 && bytes[start + 1] !== 0;
  return isShortest ? { value, end } : undefined;
}
