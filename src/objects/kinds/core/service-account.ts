/** Prepares ServiceAccounts for storage and returns their warnings. */
import { annotationsOf, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { Kind } from "../kind.ts";

const ENFORCE_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets";

export const SERVICE_ACCOUNT: Kind = {
  prepareCreate: keepNamesOfSecrets,
  prepareUpdate: keepNamesOfSecrets,
  *warnings(account, existing, { gates }) {
    const isOld = existing !== undefined && annotationsOf(existing)[ENFORCE_MOUNTABLE] !== undefined;
    if (
      !gates.isOn("ServiceAccountEnforceMountableSecretsDeprecated") ||
      isOld ||
      annotationsOf(account)[ENFORCE_MOUNTABLE] === undefined
    )
      return;
    yield `metadata.annotations[${ENFORCE_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`;
  },
};

/** Keeps only the name of each secret reference, because the secrets of a ServiceAccount are in its own namespace. */
function keepNamesOfSecrets(account: JsonObject): void {
  if (!Array.isArray(account["secrets"])) return;
  account["secrets"] = objectsAt(account, "secrets").map((secret) =>
    stringAt(secret, "name") === "" ? {} : { name: stringAt(secret, "name") },
  );
}
