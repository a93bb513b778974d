/** Finds blocks in PEM text as Go's encoding/pem does. */

interface PemBlock {
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
  /** The block without the text around it. */
  readonly text: string;
}

const BEGIN = "-----BEGIN ";
const END = "-----END ";
const DASHES = "-----";
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The blocks of the text in order; malformed blocks are skipped. */
export function* pemBlocks(text: string): Generator<PemBlock> {
  const lines = text.split("\n").map((line) => line.replace(/[ \t\r]{1,80}$/, ""));
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (!line.startsWith(BEGIN) || !line.endsWith(DASHES) || line.length < BEGIN.length + DASHES.length) continue;
    let body = at + 1;
    while (lines[body]?.includes(":") === true) body++;
    let end = body;
    while (lines[end]?.startsWith(END) === false) end++;
    if (end >= lines.length) return;
    const type = line.slice(BEGIN.length, -DASHES.length);
    const base64 = lines
      .slice(body, end)
      .join("")
      .replaceAll(/[ \t\r]/g, "");
    const isBlock = lines[end] === `${END}${type}${DASHES}` && base64.length % 4 === 0 && BASE64.test(base64);
    if (isBlock)
      yield {
        type,
        hasHeaders: body > at + 1,
        bytes: Buffer.from(base64, "base64"),
        text: lines.slice(at, end + 1).join("\n"),
      };
    at = end;
  }
}
