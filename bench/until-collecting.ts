/**
 * Waits until the garbage collector (the controller) deletes objects. All other work of the leader has started by then.
 */
import { openHttp1 } from "./client/http1.ts";
import { TOKEN, type RunningServer } from "./servers.ts";
import { waitUntil } from "./wait-until.ts";

const NOT_FOUND = 404;

/**
 * Creates an object whose owner does not exist, and waits until it is deleted: the garbage collector deletes it once it
 * has listed all objects.
 */
export async function untilCollecting({ port }: RunningServer, namespace: string): Promise<void> {
  const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
  const requester = await openHttp1({ port }, TOKEN);
  try {
    const owner = {
      apiVersion: "v1",
      kind: "ConfigMap",
      name: "never-was",
      uid: "00000000-0000-4000-8000-000000000000",
    };
    const metadata = { name: "collected", ownerReferences: [owner] };
    const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata });
    await requester.fetch({ method: "POST", path: configMaps, body, expectStatus: 201 }, 0);
    await waitUntil("the garbage collector has deleted an object whose owner does not exist", async () => {
      const request = { method: "GET", path: `${configMaps}/collected`, expectStatus: NOT_FOUND };
      return (await requester.send(request, 0)).status === NOT_FOUND;
    });
  } finally {
    requester.close();
  }
}
