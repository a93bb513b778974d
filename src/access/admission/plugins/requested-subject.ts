/** The name that a PKCS#10 request asks for: a client certificate's user, and the groups the user is in. */
import { derElement, derElements, type DerElement } from "../../../objects/kinds/access/der.ts";
import { pemBlocks } from "../../../objects/kinds/access/pem.ts";

/** 2.5.4.3 and 2.5.4.10, by their hexadecimal content. */
const COMMON_NAME = "550403";
const ORGANIZATION = "55040a";
const BMP_STRING = 30;
const PARTS_MAX = 1000;
const SUBJECT_INDEX = 1;

export interface RequestedSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** Undefined for what cannot be read. */
export function requestedSubject(base64: string): RequestedSubject | undefined {
  const [block] = pemBlocks(Buffer.from(base64, "base64").toString("latin1"));
  const outer = block === undefined ? undefined : derElement(block.bytes);
  const info = outer === undefined ? undefined : derElement(outer.content);
  const subject = info === undefined ? undefined : partsOf(info)?.[SUBJECT_INDEX];
  const sets = subject === undefined ? undefined : partsOf(subject);
  if (sets === undefined) return undefined;
  let commonName = "";
  const organizations: string[] = [];
  for (const set of sets) {
    const attributes = partsOf(set);
    if (attributes === undefined) return undefined;
    for (const attribute of attributes) {
      const [type, value] = partsOf(attribute) ?? [];
      if (type === undefined || value === undefined) return undefined;
      const id = type.content.toString("hex");
      if (id === ORGANIZATION) organizations.push(textOf(value));
      // As Go: of several the last counts.
      if (id === COMMON_NAME) commonName = textOf(value);
    }
  }
  return { commonName, organizations };
}

/** Undefined also for more parts than anybody needs. */
function partsOf(element: DerElement): readonly DerElement[] | undefined {
  const parts = derElements(element.content, PARTS_MAX + 1);
  return parts === undefined || parts.length > PARTS_MAX ? undefined : parts;
}

function textOf({ tag, content }: DerElement): string {
  if (tag !== BMP_STRING) return content.toString("utf8");
  const even = content.subarray(0, content.length - (content.length % 2));
  return Buffer.from(even).swap16().toString("utf16le");
}
