/** Reads ASN.1 DER that others wrote: anything that is not exactly well formed is undefined, never an error. */

export interface DerElement {
  readonly tag: number;
  readonly content: Buffer;
}

export const DER_TAG = {
  integer: 0x02,
  octetString: 0x04,
  objectIdentifier: 0x06,
  sequence: 0x30,
  set: 0x31,
} as const;

/** No structure of a certificate has more parts; a longer one is refused. */
const ELEMENTS_MAX = 1_000;
const LENGTH_BYTES_MAX = 3;

/** The elements that stand one after another in the bytes and fill them to the last. */
export function readElements(bytes: Buffer): DerElement[] | undefined {
  const elements: DerElement[] = [];
  let at = 0;
  while (at < bytes.length) {
    const next = readElement(bytes, at);
    if (next === undefined || elements.length === ELEMENTS_MAX) return undefined;
    elements.push(next.element);
    at = next.end;
  }
  return elements;
}

/** The parts of an element, if it is of that kind. */
export function partsOf(element: DerElement | undefined, tag: number): DerElement[] | undefined {
  return element?.tag === tag ? readElements(element.content) : undefined;
}

function readElement(bytes: Buffer, start: number): { element: DerElement; end: number } | undefined {
  const tag = bytes[start]!;
  // Tags of several bytes do not occur in certificates.
  if ((tag & 0x1f) === 0x1f) return undefined;
  const length = readLength(bytes, start + 1);
  if (length === undefined) return undefined;
  const end = length.end + length.value;
  if (end > bytes.length) return undefined;
  return { element: { tag, content: bytes.subarray(length.end, end) }, end };
}

/** Only the shortest form is DER; the indefinite form (0x80) is not. */
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
