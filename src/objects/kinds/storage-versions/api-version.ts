/** Validation of fields that hold an API version: "v1" or "group/v1". */
import { dns1035LabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";

const OTHERWISE =
  "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')";

/** The messages of the violated rules; empty if the version is valid. */
export function apiVersionErrors(apiVersion: string): string[] {
  const slash = apiVersion.indexOf("/");
  if (slash < 0) return partErrors("version", apiVersion, dns1035LabelErrors);
  const version = apiVersion.slice(slash + 1);
  if (version.includes("/")) return [OTHERWISE];
  return [
    ...partErrors("group", apiVersion.slice(0, slash), dnsSubdomainErrors),
    ...partErrors("version", version, dns1035LabelErrors),
  ];
}

function partErrors(part: "group" | "version", text: string, rule: (text: string) => string[]): string[] {
  const sentences = text === "" ? ["must be non-empty"] : rule(text);
  return sentences.map((sentence) => `${part} part: ${sentence}`);
}
