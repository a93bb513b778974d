/** Service accounts: identities of programs. */
import { annotationsOf, stringAt, type JsonObject } from "../../../meta/json.ts";
import { objectsAt } from "../checks.ts";
import type { Kind } from "../kind.ts";

const ENFORCE_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets";
/** The first release that advises against it. */
const DEPRECATED_SINCE_MINOR = 32;

export const SERVICE_ACCOUNT: Kind = {
  prepareCreate: keepNamesOfSecrets,
  prepareUpdate: keepNamesOfSecrets,
  *warnings(account, existing, { minor }) {
    const isOld = existing !== undefined && annotationsOf(existing)[ENFORCE_MOUNTABLE] !== undefined;
    if (minor < DEPRECATED_SINCE_MINOR || isOld || annotationsOf(account)[ENFORCE_MOUNTABLE] === undefined) return;
    yield `metadata.annotations[${ENFORCE_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`;
  },
};

/** Secrets of an account are in its namespace: a reference is a name and nothing else. */
function keepNamesOfSecrets(account: JsonObject): void {
  if (!Array.isArray(account["secrets"])) return;
  account["secrets"] = objectsAt(account, "secrets").map((secret) =>
    stringAt(secret, "name") === "" ? {} : { name: stringAt(secret, "name") },
  );
}
