/** Probes a server over its own address: whether it is ready, and which peers it can proxy to. */
import { Agent, request } from "node:https";
import type { Backend } from "./load-balancer.ts";

const RESPONSE_MS_MAX = 1_000;
const RESPONSE_BYTES_MAX = 1024 * 1024;

interface ReadinessProbe {
  isReady(backend: Backend): Promise<boolean>;
  /** The peers that the server can proxy requests to now. */
  peersOf(backend: Backend): Promise<readonly string[]>;
  close(): void;
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
      return status === 200 ? describedIn(text) : [];
    },
    close: () => agent.destroy(),
  };
}

interface StatusDocument {
  readonly servers?: readonly {
    readonly id?: string;
    readonly isReachable?: boolean;
    readonly isDescribed?: boolean;
  }[];
}

function describedIn(text: string): string[] {
  const { servers = [] } = JSON.parse(text) as StatusDocument;
  return servers.flatMap(({ id, isReachable, isDescribed }) => (id && isReachable && isDescribed ? [id] : []));
}
