/** Validation of the sources of a projected volume. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { signerNameErrors } from "../../access/signer-name.ts";
import { labelSelectorErrors } from "../../checks.ts";
import { nonReservedPathErrors } from "./formats.ts";
import { downwardFileErrors, keyToPathErrors } from "./volume-file-rules.ts";

const TOKEN_SECONDS_MIN = 600;
const TOKEN_SECONDS_MAX = 2 ** 32;
const KEY_TYPES: readonly string[] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
const CERTIFICATE_SECONDS_MIN = 3600;
const CERTIFICATE_SECONDS_MAX = 91 * 86_400;
const KUBERNETES_CERTIFICATE_SECONDS_MAX = 86_400;
const CERTIFICATE_PATHS = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const;
const DUPLICATE = "conflicting duplicate paths";

export function* projectionErrors(projected: JsonObject, field: string): Generator<FieldError> {
  const paths = new Set<string>();
  for (const [index, source] of objectsAt(projected, "sources").entries()) {
    const at = `${field}.sources[${index}]`;
    for (const member of ["secret", "configMap"] as const)
      if (isJsonObject(source[member])) yield* keysErrors(source[member], { field, at: `${at}.${member}`, paths });
    const { downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
    if (isJsonObject(downwardAPI))
      for (const file of objectsAt(downwardAPI, "items")) {
        yield* downwardFileErrors(file, `${at}.downwardAPI`);
        yield* takenErrors(stringAt(file, "path"), { field, paths });
      }
    if (isJsonObject(serviceAccountToken)) yield* tokenErrors(serviceAccountToken, field, `${at}.serviceAccountToken`);
    if (isJsonObject(clusterTrustBundle)) {
      yield* trustBundleErrors(clusterTrustBundle, `${at}.clusterTrustBundle`);
      yield* takenErrors(stringAt(clusterTrustBundle, "path"), { field, paths });
    }
    if (isJsonObject(podCertificate))
      yield* certificateErrors(podCertificate, { field, at: `${at}.podCertificate`, paths });
    if (Object.values(source).filter(isJsonObject).length > 1)
      yield forbiddenField(at, "may not specify more than 1 volume type per source");
  }
}

interface Projection {
  /** The path of the whole volume, which errors about conflicting paths name. */
  readonly field: string;
  readonly at: string;
  readonly paths: Set<string>;
}

function* takenErrors(
  path: string,
  { field, paths, shown }: Omit<Projection, "at"> & { readonly shown?: string },
): Generator<FieldError> {
  if (path === "") return;
  if (paths.has(path)) yield invalidValue(field, shown ?? path, DUPLICATE);
  paths.add(path);
}

function* keysErrors(source: JsonObject, { field, at, paths }: Projection): Generator<FieldError> {
  const name = stringAt(source, "name");
  if (name === "") yield required(`${at}.name`);
  for (const [index, item] of objectsAt(source, "items").entries()) {
    yield* keyToPathErrors(item, `${at}.items[${index}]`);
    yield* takenErrors(stringAt(item, "path"), { field, paths, shown: name });
  }
}

function* tokenErrors(token: JsonObject, field: string, at: string): Generator<FieldError> {
  const seconds = numberAt(token, "expirationSeconds") ?? 0;
  if (seconds < TOKEN_SECONDS_MIN)
    yield invalidValue(`${at}.expirationSeconds`, seconds, "may not specify a duration less than 10 minutes");
  if (seconds > TOKEN_SECONDS_MAX)
    yield invalidValue(`${at}.expirationSeconds`, seconds, "may not specify a duration larger than 2^32 seconds");
  const path = stringAt(token, "path");
  if (path === "") yield required(`${field}.path`);
  else yield* nonReservedPathErrors(path, `${field}.path`);
}

function* trustBundleErrors(bundle: JsonObject, field: string): Generator<FieldError> {
  const { name, signerName, labelSelector } = bundle;
  if (name !== undefined && signerName !== undefined)
    yield invalidValue(field, bundle, "only one of name and signerName may be used");
  else if (typeof name === "string") {
    if (name === "") yield required(`${field}.name`, "must be a valid object name");
    for (const sentence of trustBundleNameErrors(name))
      yield invalidValue(`${field}.name`, name, `not a valid clustertrustbundlename: ${sentence}`);
    if (labelSelector !== undefined)
      yield invalidValue(`${field}.labelSelector`, labelSelector, "labelSelector must be unset if name is specified");
  } else if (typeof signerName === "string") {
    if (signerName === "") yield required(`${field}.signerName`, "must be a valid signer name");
    yield* signerNameErrors(signerName, `${field}.signerName`);
    if (isJsonObject(labelSelector)) yield* labelSelectorErrors(labelSelector, `${field}.labelSelector`);
  } else yield required(field, "either name or signerName must be specified");
  if (stringAt(bundle, "path") === "") yield required(`${field}.path`);
  yield* nonReservedPathErrors(stringAt(bundle, "path"), `${field}.path`);
}

/** The name of a bundle with a signer begins with the signer's name and a colon. */
function trustBundleNameErrors(name: string): string[] {
  return dnsSubdomainErrors(name.slice(name.lastIndexOf(":") + 1));
}

function* certificateErrors(certificate: JsonObject, { field, at, paths }: Projection): Generator<FieldError> {
  const signer = stringAt(certificate, "signerName");
  yield* signerNameErrors(signer, `${at}.signerName`);
  const keyType = stringAt(certificate, "keyType");
  if (!KEY_TYPES.includes(keyType)) yield unsupportedValue(`${at}.keyType`, keyType, KEY_TYPES);
  yield* lifetimeErrors(numberAt(certificate, "maxExpirationSeconds"), `${at}.maxExpirationSeconds`, signer);
  let count = 0;
  for (const member of CERTIFICATE_PATHS) {
    const path = stringAt(certificate, member);
    if (path === "") continue;
    count++;
    yield* nonReservedPathErrors(path, `${at}.${member}`);
    yield* takenErrors(path, { field, paths });
  }
  if (count === 0)
    yield required(at, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
}

function* lifetimeErrors(seconds: number | undefined, field: string, signer: string): Generator<FieldError> {
  if (seconds === undefined) return;
  if (seconds < CERTIFICATE_SECONDS_MIN)
    yield invalidValue(field, seconds, `if provided, maxExpirationSeconds must be >= ${CERTIFICATE_SECONDS_MIN}`);
  const [domain = ""] = signer.split("/", 1);
  const isKubernetes = domain === "kubernetes.io" || domain.endsWith(".kubernetes.io");
  const max = isKubernetes ? KUBERNETES_CERTIFICATE_SECONDS_MAX : CERTIFICATE_SECONDS_MAX;
  if (seconds > max) yield invalidValue(field, seconds, `if provided, maxExpirationSeconds must be <= ${max}`);
}

/** Rejects a projected token of a pod without a service account. `field`: the path of the spec. */
export function* tokenWithoutAccountErrors(spec: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(spec, "serviceAccountName") !== "") return;
  for (const [index, volume] of objectsAt(spec, "volumes").entries())
    for (const [at, source] of objectsAt(objectAt(volume, "projected"), "sources").entries())
      if (isJsonObject(source["serviceAccountToken"]))
        yield forbiddenField(
          `${field}.volumes[${index}].projected.sources[${at}].serviceAccountToken`,
          "must not be specified when serviceAccountName is not set",
        );
}
