/** Asks a server, over its own address, whether it is ready. */
import { Agent, request } from "node:https";
import type { Backend } from "./load-balancer.ts";

const ANSWER_MS = 1_000;

export interface ReadinessOptions {
  readonly ca: string;
  readonly token: string;
}

export interface Readiness {
  ask(backend: Backend): Promise<boolean>;
  close(): void;
}

export function createReadiness({ ca, token }: ReadinessOptions): Readiness {
  const agent = new Agent({ keepAlive: true, ca });
  return {
    ask: ({ host, port }) =>
      new Promise((resolve) => {
        const asking = request(
          { host, port, path: "/readyz", agent, headers: { authorization: `Bearer ${token}` } },
          (response) => {
            response.resume();
            response.once("close", () => {
              clearTimeout(timer);
              resolve(response.statusCode === 200);
            });
          },
        );
        const timer = setTimeout(() => asking.destroy(new Error("no answer in time")), ANSWER_MS);
        asking.on("error", () => {
          clearTimeout(timer);
          resolve(false);
        });
        asking.end();
      }),
    close: () => agent.destroy(),
  };
}
