/** Probes a server over its own address: whether it is ready, and which peers it can proxy to. */
import { Agent, request } from "node:https";
import { printable } from "../../../base/printable.ts";
import { isJsonObject, objectsAt, stringAt } from "../../../meta/json.ts";
import type { Backend } from "./load-balancer.ts";

const RESPONSE_MS_MAX = 1_000;
const RESPONSE_BYTES_MAX = 1024 * 1024;

interface ReadinessProbe {
  isReady(backend: Backend): Promise<boolean>;
  /** The servers of the cluster as this server sees them; empty if it does not respond. */
  peersOf(backend: Backend): Promise<readonly SeenServer[]>;
  close(): void;
}

/** One server of the cluster, as another one sees it. */
export interface SeenServer {
  readonly id: string;
  /** Whether requests can be proxied to it. */
  readonly isUsable: boolean;
  /** Undefined if it is reachable or the reason is not known. */
  readonly unreachableBecause: string | undefined;
}

interface ProbeResponse {
  /** Status of the response; 0 if there was none. */
  readonly status: number;
  readonly text: string;
}

export function createReadinessProbe({ ca, token }: { readonly ca: string; readonly token: string }): ReadinessProbe {
  const agent = new Agent({ keepAlive: true, ca });
  const get = ({ host, port }: Backend, path: string): Promise<ProbeResponse> =>
    new Promise((resolve) => {
      const asking = request({ host, port, path, agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
          if (text.length > RESPONSE_BYTES_MAX) response.destroy();
        });
        response.once("close", () => done({ status: response.complete ? (response.statusCode ?? 0) : 0, text }));
      });
      const timer = setTimeout(() => asking.destroy(new Error("no response in time")), RESPONSE_MS_MAX);
      const done = (answer: ProbeResponse): void => {
        clearTimeout(timer);
        resolve(answer);
      };
      asking.on("error", () => done({ status: 0, text: "" }));
      asking.end();
    });
  return {
    isReady: async (backend) => (await get(backend, "/readyz")).status === 200,
    async peersOf(backend) {
      const { status, text } = await get(backend, "/evenkeel/v1/status");
      return status === 200 ? seenIn(text) : [];
    },
    close: () => agent.destroy(),
  };
}

function seenIn(text: string): SeenServer[] {
  const document: unknown = JSON.parse(text);
  if (!isJsonObject(document)) return [];
  return objectsAt(document, "servers").map((server) => {
    const because = printable(stringAt(server, "unreachableBecause"));
    return {
      id: stringAt(server, "id"),
      isUsable: server["isReachable"] === true && server["isDescribed"] === true,
      unreachableBecause: because === "" ? undefined : because,
    };
  });
}
