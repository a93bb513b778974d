/**
 * Restricts the token requests of a kubelet to service account tokens that are bound to a pod on its node, and to
 * audiences that the pod uses.
 */
import { aggregateText } from "../../../../meta/aggregate-text.ts";
import type { Authorizer } from "../../../auth/authorize.ts";
import { goQuote } from "../../../../meta/go-quote.ts";
import type { GroupResource } from "../../../../meta/group-version.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { ObjectReader } from "../../../../meta/object-table.ts";
import type { Attributes } from "../../admission.ts";
import { nodeNameOf, podOf, uidOf } from "./pod-rules.ts";

export interface TokenPorts {
  readonly reader: ObjectReader;
  readonly authorizer: Authorizer;
}

const CLAIMS: GroupResource = { group: "", resource: "persistentvolumeclaims" };
const VOLUMES: GroupResource = { group: "", resource: "persistentvolumes" };
const DRIVERS: GroupResource = { group: "storage.k8s.io", resource: "csidrivers" };

/** The reason for rejecting the request; undefined if it is allowed. */
export async function tokenDenial(
  ports: TokenPorts,
  nodeName: string,
  attributes: Attributes,
): Promise<string | undefined> {
  const spec = objectAt(attributes.object ?? {}, "spec");
  const reference = objectAt(spec, "boundObjectRef");
  const name = stringAt(reference, "name");
  if (reference["apiVersion"] !== "v1" || reference["kind"] !== "Pod" || name === "")
    return "node requested token not bound to a pod";
  const uid = stringAt(reference, "uid");
  if (uid === "") return "node requested token with a pod binding without a uid";
  const pod = await podOf(ports.reader, attributes.namespace, name);
  if (uid !== uidOf(pod))
    return `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  if (nodeNameOf(pod) !== nodeName) return "node requested token bound to a pod scheduled on a different node";
  const audiences = stringsAt(spec, "audiences");
  if (audiences.length > 1) return "node may only request 0 or 1 audiences";
  return audienceDenial(ports, attributes, pod, audiences[0] ?? "");
}

function audienceDenial(
  { reader, authorizer }: TokenPorts,
  { user, namespace, name }: Attributes,
  pod: JsonObject,
  audience: string,
): string | undefined {
  const found = namesAudience(reader, pod, audience);
  if (found === true) return undefined;
  if (found !== false) return `error validating audience ${goQuote(audience)}: ${found}`;
  const asked = { verb: "request-serviceaccounts-token-audience", group: "", version: "v1", namespace, name };
  const access = { ...asked, isResourceRequest: true, resource: audience, subresource: "", path: "" };
  if (authorizer(user, access).allowed) return undefined;
  return `audience ${goQuote(audience)} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`;
}

/**
 * Whether a volume of the pod requests tokens for the audience. Returns an error text if a volume cannot be resolved
 * and no other volume requests such tokens.
 */
function namesAudience(reader: ObjectReader, pod: JsonObject, audience: string): boolean | string {
  const errors: string[] = [];
  for (const volume of objectsAt(objectAt(pod, "spec"), "volumes")) {
    const isProjected = objectsAt(objectAt(volume, "projected"), "sources").some(
      ({ serviceAccountToken }) =>
        isJsonObject(serviceAccountToken) && stringAt(serviceAccountToken, "audience") === audience,
    );
    if (isProjected) return true;
    const driver = driverOf(reader, pod, volume);
    if (driver.error !== undefined) errors.push(driver.error);
    if (driver.name === "") continue;
    const known = reader.get(DRIVERS, "", driver.name);
    if (known === undefined) errors.push(`csidriver.storage.k8s.io ${goQuote(driver.name)} not found`);
    else if (objectsAt(objectAt(known, "spec"), "tokenRequests").some((one) => stringAt(one, "audience") === audience))
      return true;
  }
  return errors.length === 0 ? false : aggregateText(errors);
}

interface Driver {
  readonly name: string;
  readonly error?: string;
}

/**
 * Returns the CSI driver of a volume; its name is "" if there is none. DIFFERS: in-tree volumes that were migrated to
 * CSI drivers are not considered.
 */
function driverOf(reader: ObjectReader, pod: JsonObject, volume: JsonObject): Driver {
  const metadata = objectAt(pod, "metadata");
  const namespace = stringAt(metadata, "namespace");
  if (isJsonObject(objectAt(volume, "ephemeral")["volumeClaimTemplate"]))
    return driverOfClaim(reader, namespace, `${stringAt(metadata, "name")}-${stringAt(volume, "name")}`);
  const { persistentVolumeClaim } = volume;
  if (isJsonObject(persistentVolumeClaim))
    return driverOfClaim(reader, namespace, stringAt(persistentVolumeClaim, "claimName"));
  return { name: stringAt(objectAt(volume, "csi"), "driver") };
}

function driverOfClaim(reader: ObjectReader, namespace: string, claimName: string): Driver {
  const claim = reader.get(CLAIMS, namespace, claimName);
  if (claim === undefined) return { name: "", error: `persistentvolumeclaim ${goQuote(claimName)} not found` };
  const volumeName = stringAt(objectAt(claim, "spec"), "volumeName");
  const volume = reader.get(VOLUMES, "", volumeName);
  if (volume === undefined) return { name: "", error: `persistentvolume ${goQuote(volumeName)} not found` };
  return { name: stringAt(objectAt(objectAt(volume, "spec"), "csi"), "driver") };
}
