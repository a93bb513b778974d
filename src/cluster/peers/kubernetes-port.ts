/**
 * The port of the Endpoints default/kubernetes. All servers that publish a masterlease listen on it, because a
 * masterlease holds no port.
 */
import { isJsonObject, objectsAt } from "../../meta/json.ts";
import { isPort } from "./endpoint-record.ts";
import type { RecordKind, RecordTable } from "./record-table.ts";

interface KubernetesPort {
  /** Undefined while the Endpoints have no address. */
  readonly port: number | undefined;
}

export type KubernetesPortTable = RecordTable<KubernetesPort>;

const KEY = "services/endpoints/default/kubernetes";
const PORT_NAME = "https";
/** The ID of the only record. */
export const KUBERNETES_PORT = "kubernetes";

export function kubernetesPortKind(storageRoot: string): RecordKind<KubernetesPort> {
  const key = storageRoot + KEY;
  return {
    name: "kubernetes port",
    prefix: key,
    recordsMax: 1,
    idOf: (stored) => (stored === key ? KUBERNETES_PORT : undefined),
    decode(_id, stored) {
      if (!isJsonObject(stored)) return undefined;
      const ports = objectsAt(stored, "subsets").flatMap((subset) => objectsAt(subset, "ports"));
      const port = ports.find(({ name }) => name === PORT_NAME)?.["port"];
      return { port: isPort(port) ? port : undefined };
    },
    isSame: (left, right) => left.port === right.port,
  };
}
