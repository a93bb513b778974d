/**
 * What is told about a certificate and a key that can hardly belong together, in the words of Go's tls.X509KeyPair.
 * DIFFERS: only texts are looked at; whether a key fits its certificate is not.
 */
const BEGIN = "-----BEGIN ";
const END = "-----END ";
const DASHES = "-----";

export function keyPairWarning(certificate: Buffer, key: Buffer): string | undefined {
  return certificateWarning(pemTypes(certificate)) ?? keyWarning(pemTypes(key));
}

function certificateWarning(types: readonly string[]): string | undefined {
  if (types.includes("CERTIFICATE")) return undefined;
  if (types.length === 0) return "tls: failed to find any PEM data in certificate input";
  if (types.length === 1 && types[0]!.endsWith("PRIVATE KEY"))
    return "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched";
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: ${goList(types)}`;
}

function keyWarning(types: readonly string[]): string | undefined {
  if (types.some((type) => type === "PRIVATE KEY" || type.endsWith(" PRIVATE KEY"))) return undefined;
  if (types.length === 0) return "tls: failed to find any PEM data in key input";
  if (types.length === 1 && types[0] === "CERTIFICATE")
    return "tls: found a certificate rather than a key in the PEM for the private key";
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: ${goList(types)}`;
}

function goList(types: readonly string[]): string {
  return `[${types.join(" ")}]`;
}

/** The types of the blocks in a text, in one pass over it. */
function pemTypes(bytes: Buffer): string[] {
  const text = bytes.toString("latin1");
  const types: string[] = [];
  for (let at = text.indexOf(BEGIN); at >= 0; at = text.indexOf(BEGIN, at)) {
    const type = headerType(text, at + BEGIN.length);
    const end = text.indexOf(END, at);
    if (end < 0) break;
    if (type !== undefined && type === headerType(text, end + END.length)) types.push(type);
    at = end + END.length;
  }
  return types;
}

/** No type of block is longer; lines may be. */
const HEADER_LENGTH_MAX = 128;

/** What stands between a line's dashes. */
function headerType(text: string, from: number): string | undefined {
  const line = text
    .slice(from, from + HEADER_LENGTH_MAX)
    .split("\n", 1)[0]!
    .trimEnd();
  return line.endsWith(DASHES) ? line.slice(0, -DASHES.length) : undefined;
}
