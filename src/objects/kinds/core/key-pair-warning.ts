/**
 * Warnings about a certificate and a key that cannot be a pair, in the words of Go's tls.X509KeyPair. DIFFERS: checks
 * only the PEM blocks, not whether the key fits the certificate.
 */
import { pemBlocks } from "../../../base/pem.ts";

export function keyPairWarning(certificate: Buffer, key: Buffer): string | undefined {
  return certificateWarning(pemTypes(certificate)) ?? keyWarning(pemTypes(key));
}

function certificateWarning(types: readonly string[]): string | undefined {
  if (types.includes("CERTIFICATE")) return undefined;
  if (types.length === 0) return "tls: failed to find any PEM data in certificate input";
  if (types.length === 1 && types.every((type) => type.endsWith("PRIVATE KEY")))
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

function pemTypes(bytes: Buffer): string[] {
  return Array.from(pemBlocks(bytes.toString("latin1")), ({ type }) => type);
}
